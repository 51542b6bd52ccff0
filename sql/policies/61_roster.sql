-- The roster: Managers sign members up and off.
--
-- app.assign_sign_up and app.remove_sign_up belong to club_roster, whose policies ask for a Manager and let it write the signup of any
-- member of the club; club_signup keeps to the caller's own. Like app.sign_up they lock the shift first, so that all ways into and
-- out of a shift wait for each other and share its counter, and they read the clock after the lock.
--
-- The detail of their errors is JSON with the caller's member id, for the log of the service.

grant select on app.shifts, app.shift_signups to club_roster;
grant select (tenant_id, id) on app.members to club_roster;
-- FOR NO KEY UPDATE needs this privilege. The policy allows no change.
grant update (signup_count) on app.shifts to club_roster;
grant insert (shift_id, member_id, created_at) on app.shift_signups to club_roster;
grant delete on app.shift_signups to club_roster;

create policy shifts_roster_read on app.shifts for select to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shifts_roster_read on app.shifts is 'Managers and higher roles read the shift of a roster.';

create policy shifts_roster_lock on app.shifts for update to club_roster
  using ((select app.role()) >= 'Manager') with check (false);
comment on policy shifts_roster_lock on app.shifts is 'Managers and higher roles lock the shift of a roster; the trigger on app.shift_signups counts.';

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
language plpgsql volatile security definer set search_path = ''
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
language plpgsql volatile security definer set search_path = ''
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

set local role club_owner;
