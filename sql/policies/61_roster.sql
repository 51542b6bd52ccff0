-- The roster: Managers sign members up and off, and take back the shifts that they created together.
--
-- app.assign_sign_up and app.remove_sign_up belong to club_roster, whose policies ask for a Manager and let it write the signup of any
-- member of the club; club_signup keeps to the caller's own. Like app.sign_up they lock the shift first, so that all ways into and
-- out of a shift wait for each other and share its counter, and they read the clock after the lock.
--
-- The detail of their errors is JSON with the caller's member id, for the log of the service.

grant select, delete on app.shifts to club_roster;
grant select on app.shift_signups to club_roster;
grant select (tenant_id, id) on app.members to club_roster;
-- A lock of a row needs this privilege. The policy allows no change.
grant update (signup_count) on app.shifts to club_roster;
grant insert (shift_id, member_id, created_at) on app.shift_signups to club_roster;
grant delete on app.shift_signups to club_roster;

create policy shifts_roster_read on app.shifts for select to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shifts_roster_read on app.shifts is 'Managers and higher roles read the shift of a roster.';

create policy shifts_roster_lock on app.shifts for update to club_roster
  using ((select app.role()) >= 'Manager') with check (false);
comment on policy shifts_roster_lock on app.shifts is 'Managers and higher roles lock the shift of a roster; the trigger on app.shift_signups counts.';

create policy shifts_roster_delete on app.shifts for delete to club_roster
  using ((select app.role()) >= 'Admin');
comment on policy shifts_roster_delete on app.shifts is 'An Admin deletes the shifts of a batch, with their signups.';

create policy shifts_roster_take_back on app.shifts for delete to club_roster
  using ((select app.role()) >= 'Manager' and created_by_id = (select app.member_id()));
comment on policy shifts_roster_take_back on app.shifts is 'A Manager deletes shifts that they created. app.delete_batch looks whether somebody is signed up.';

create policy members_roster_read on app.members for select to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy members_roster_read on app.members is 'Managers and higher roles find the member whom they sign up.';

create policy shift_signups_roster_read on app.shift_signups for select to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shift_signups_roster_read on app.shift_signups is 'Managers and higher roles read the signups of a roster.';

create policy shift_signups_assign on app.shift_signups for insert to club_roster
  with check ((select app.role()) >= 'Manager');
comment on policy shift_signups_assign on app.shift_signups is 'Managers and higher roles sign any member up.';

create policy shift_signups_remove on app.shift_signups for delete to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shift_signups_remove on app.shift_signups is 'Managers and higher roles cancel the signup of any member.';

grant execute on function app.missing_context(text), app.tenant_id(), app.role(), app.member_id(), app.new_id() to club_roster;

set local role club_roster;

create or replace function app.assign_sign_up(shift_id uuid, member_id uuid, out is_new boolean, out signup app.shift_signups)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  shift app.shifts;
  -- Read once, after the lock: a second reading could be after the start of the shift.
  signed_up_at timestamptz;
begin
  select * into shift from app.shifts as s where s.id = assign_sign_up.shift_id for no key update;
  signed_up_at := clock_timestamp();
  if not found then
    raise exception using errcode = 'SH001', message = 'no such shift in this club', detail = caller;
  end if;
  if not exists (select from app.members as m where m.id = assign_sign_up.member_id) then
    raise exception using errcode = 'ME001', message = 'no such member in this club', detail = caller;
  end if;
  select * into signup from app.shift_signups as s where s.shift_id = shift.id and s.member_id = assign_sign_up.member_id;
  is_new := not found;
  if not is_new then
    return;
  end if;
  if shift.starts_at <= signed_up_at then
    raise exception using errcode = 'SH002', message = 'the shift has started', detail = caller;
  end if;
  if shift.signup_count >= shift.capacity then
    raise exception using errcode = 'SH004', message = 'every place of the shift is taken', detail = caller;
  end if;
  insert into app.shift_signups (shift_id, member_id, created_at)
  values (shift.id, assign_sign_up.member_id, signed_up_at)
  returning * into signup;
end
$$;
comment on function app.assign_sign_up(uuid, uuid) is
  'Signs a member up for a shift, and returns the signup and whether it is new. Raises the first that applies: SH001 no such shift, ME001 no such member; then, unless the member is signed up, SH002 it has started, SH004 full.';
grant execute on function app.assign_sign_up(uuid, uuid) to club_api;

create or replace function app.remove_sign_up(shift_id uuid, member_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  shift app.shifts;
begin
  select * into shift from app.shifts as s where s.id = remove_sign_up.shift_id for no key update;
  if not found then
    raise exception using errcode = 'SH001', message = 'no such shift in this club', detail = caller;
  end if;
  if shift.starts_at <= clock_timestamp() then
    raise exception using errcode = 'SH002', message = 'the shift has started', detail = caller;
  end if;
  delete from app.shift_signups as s where s.shift_id = shift.id and s.member_id = remove_sign_up.member_id;
  if not found then
    raise exception using errcode = 'SH005', message = 'the member did not sign up', detail = caller;
  end if;
end
$$;
comment on function app.remove_sign_up(uuid, uuid) is
  'Cancels the signup of a member. Raises the first that applies: SH001 no such shift, SH002 it has started, SH005 not signed up.';
grant execute on function app.remove_sign_up(uuid, uuid) to club_api;

create or replace function app.delete_batch(batch_id uuid, starts_from timestamptz) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  caller_id constant uuid := app.member_id();
  caller_role constant app.club_role := app.role();
  ids uuid[];
  are_own boolean;
begin
  -- Locked in one order, so that two deletions cannot deadlock. The counters are those after the lock.
  with locked as (
    select s.id, s.created_by_id, s.signup_count from app.shifts as s
    where s.batch_id = delete_batch.batch_id and s.starts_at >= coalesce(delete_batch.starts_from, '-infinity')
    order by s.id
    for update
  )
  select array_agg(id), bool_and(created_by_id is not distinct from caller_id and signup_count = 0) into ids, are_own from locked;
  if caller_role < 'Admin' and not are_own then
    raise exception using errcode = 'RO001', message = 'only an Admin deletes shifts of others, or with signups',
      detail = jsonb_build_object('memberId', caller_id, 'requiredRole', 'Admin', 'yourRole', caller_role);
  end if;
  delete from app.shifts as s where s.id = any (ids);
  return coalesce(cardinality(ids), 0);
end
$$;
comment on function app.delete_batch(uuid, timestamptz) is
  'Deletes the shifts of a batch, or those that start at a time or later, with their signups, and returns their number. RO001: the caller is a Manager who did not create all of them, or somebody is signed up.';
grant execute on function app.delete_batch(uuid, timestamptz) to club_api;

set local role club_owner;
