-- Signups: who takes a place of a shift.
--
-- Members sign up with app.sign_up and cancel with app.cancel_sign_up. Both belong to club_signup, because they
-- lock the shift's row. A row lock applies the UPDATE policies, and shifts_edit lets only Managers pass. club_signup
-- stays under row-level security, and its policies let it write only the caller's own signup.
--
-- The roster: Managers sign members up and off with app.assign_sign_up and app.remove_sign_up. Both belong to club_roster, whose
-- policies ask for a Manager and let it write the signup of any member of the club.
--
-- app.lock_shift, app.require_not_started, app.take_place and app.free_place have the rules of both, app.require_open those of members
-- alone. They run with the rights of the role that calls them. Every change of the signups or records of a shift locks the row of the
-- shift first; another order could deadlock. Who ends a membership or merges members locks their rows before. clock_timestamp() is read after the lock, and once: now() is the start of the transaction,
-- possibly long before it got the lock, and a second reading could be after the start of the shift.
--
-- The detail of their errors is JSON with the caller's member id, for the log of the service.
--
-- Triggers of 63_waits.sql maintain shifts.signup_count, and check (signup_count <= capacity) prevents an
-- overbooked shift for every statement.

comment on table app.shift_signups is 'Which member signed up for which shift, at most once each.';
comment on column app.shift_signups.member_id is 'Who signed up. Stays when the member is erased: the place stays taken.';
comment on column app.shift_signups.created_by_id is 'The member who created the signup, or of a promotion the wait. Null: an operator did, or it is older than this column. Stays when that member is erased, with the signup, and is not in the copy of their data: the signup is that of another one.';

alter table app.shift_signups alter column tenant_id set default app.tenant_id();
alter table app.shift_signups alter column id set default app.new_id();
alter table app.shift_signups alter column created_by_id set default app.member_id();

grant select on app.shift_signups to club_api;
grant delete on app.shift_signups to club_operator;

grant select on app.shifts to club_signup;
-- Locks of rows need these privileges. The policies allow no change.
grant update (signup_count) on app.shifts to club_signup;
grant select, delete on app.shift_signups to club_signup;
grant insert (shift_id, member_id, created_at) on app.shift_signups to club_signup;

grant execute on function app.missing_context(text), app.tenant_id(), app.role(), app.member_id(), app.new_id() to club_roster;
grant select (tenant_id, id, left_at, erased_at) on app.members to club_signup;
grant select (tenant_id, id, display_name, left_at, erased_at) on app.members to club_roster;
grant update (display_name) on app.members to club_roster;
grant select on app.shifts to club_roster;
grant update (signup_count) on app.shifts to club_roster;
grant select, delete on app.shift_signups to club_roster;
grant insert (shift_id, member_id, created_at) on app.shift_signups to club_roster;

alter table app.shift_signups enable row level security, force row level security;

create policy shifts_signup_lock on app.shifts for update to club_signup
  using ((select app.role()) >= 'Member') with check (false);
comment on policy shifts_signup_lock on app.shifts is 'Members lock the shift for which they sign up or wait; a trigger counts.';

create policy shift_signups_floor on app.shift_signups as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy shift_signups_floor on app.shift_signups is 'Only signups of the club of this transaction are visible and writable.';

create policy shift_signups_read on app.shift_signups for select to club_api, club_signup
  using ((select app.role()) >= 'Viewer');
comment on policy shift_signups_read on app.shift_signups is 'Every role in the club reads its signups.';

create policy shift_signups_sign_up on app.shift_signups for insert to club_signup
  with check (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy shift_signups_sign_up on app.shift_signups is 'A Member creates their own signup, and no other.';

create policy shift_signups_cancel on app.shift_signups for delete to club_signup
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy shift_signups_cancel on app.shift_signups is 'A Member cancels their own signup, and no other.';

create policy shift_signups_forget on app.shift_signups for delete to club_operator
  using (tenant_id = (select app.closed_club_id()));
comment on policy shift_signups_forget on app.shift_signups is 'An operator removes the signups of a closed club.';

create policy shifts_roster_read on app.shifts for select to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shifts_roster_read on app.shifts is 'Managers and higher roles read the shift of a roster.';

create policy shifts_roster_lock on app.shifts for update to club_roster
  using ((select app.role()) >= 'Manager') with check (false);
comment on policy shifts_roster_lock on app.shifts is 'Managers and higher roles lock the shift of a roster; a trigger counts.';

create policy members_signup_read on app.members for select to club_signup
  using (id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy members_signup_read on app.members is 'A Member who signs up or waits is still a member.';

create policy members_roster_read on app.members for select to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy members_roster_read on app.members is 'Managers and higher roles find the member whom they sign up.';

create policy members_roster_lock on app.members for update to club_roster
  using ((select app.role()) >= 'Manager') with check (false);
comment on policy members_roster_lock on app.members is 'Managers and higher roles lock the member whom they sign up, so that the end of the membership and an erasure wait.';

create policy shift_signups_roster_read on app.shift_signups for select to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shift_signups_roster_read on app.shift_signups is 'Managers and higher roles read the signups of a roster.';

create policy shift_signups_assign on app.shift_signups for insert to club_roster
  with check ((select app.role()) >= 'Manager');
comment on policy shift_signups_assign on app.shift_signups is 'Managers and higher roles sign any member up.';

create policy shift_signups_remove on app.shift_signups for delete to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shift_signups_remove on app.shift_signups is 'Managers and higher roles cancel the signup of any member.';

create or replace function app.lock_shift(shift_id uuid) returns app.shifts
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  shift app.shifts;
begin
  select * into shift from app.shifts as s where s.id = lock_shift.shift_id for no key update;
  if not found then
    raise exception using errcode = 'SH001', message = 'no such shift in this club', detail = jsonb_build_object('memberId', app.member_id());
  end if;
  return shift;
end
$$;
comment on function app.lock_shift(uuid) is 'Locks a shift until the transaction ends, and returns it as it is after the lock. SH001: no such shift.';
grant execute on function app.lock_shift(uuid) to club_signup, club_roster;

create or replace function app.require_not_started(shift app.shifts, at timestamptz) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  if shift.starts_at <= at then
    raise exception using errcode = 'SH002', message = 'the shift has started', detail = jsonb_build_object('memberId', app.member_id());
  end if;
end
$$;
comment on function app.require_not_started(app.shifts, timestamptz) is 'Raises SH002 if the shift has started at the given time.';
grant execute on function app.require_not_started(app.shifts, timestamptz) to club_signup, club_roster;

create or replace function app.require_open(shift app.shifts, at timestamptz) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.require_not_started(shift, at);
  if at < shift.signup_opens_at then
    raise exception using errcode = 'SH007', message = 'sign-up is not open yet',
      detail = jsonb_build_object('memberId', app.member_id(), 'signupOpensAt', shift.signup_opens_at);
  end if;
  if shift.signup_closes_at <= at then
    raise exception using errcode = 'SH008', message = 'sign-up is closed',
      detail = jsonb_build_object('memberId', app.member_id(), 'signupClosesAt', shift.signup_closes_at);
  end if;
end
$$;
comment on function app.require_open(app.shifts, timestamptz) is
  'Raises the first that applies to members who sign themselves up at the given time: SH002 the shift has started, SH007 sign-up is not open yet, SH008 it is closed.';
grant execute on function app.require_open(app.shifts, timestamptz) to club_signup;

create or replace function app.recheck_member(member_id uuid) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from app.members as m where m.id = recheck_member.member_id and (m.left_at is not null or m.erased_at is not null)
  ) then
    raise exception using errcode = '40001', message = 'the member has left or was erased meanwhile';
  end if;
end
$$;
comment on function app.recheck_member(uuid) is
  'For the end of an INSERT of a row of a member: its foreign key waits for the end of a membership or an erasure under way, and lets the row pass. 40001: the member has left or was erased meanwhile.';
grant execute on function app.recheck_member(uuid) to club_signup, club_roster;

create or replace function app.take_place(shift app.shifts, member_id uuid, at timestamptz) returns app.shift_signups
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  signup app.shift_signups;
begin
  if exists (select from app.shift_signups as s where s.shift_id = shift.id and s.member_id = take_place.member_id) then
    raise exception using errcode = 'SH003', message = 'the member signed up already', detail = caller;
  end if;
  if shift.signup_count >= shift.capacity then
    raise exception using errcode = 'SH004', message = 'every place of the shift is taken',
      detail = caller || jsonb_build_object('waitCount', shift.wait_count);
  end if;
  insert into app.shift_signups (shift_id, member_id, created_at)
  values (shift.id, take_place.member_id, at)
  returning * into signup;
  perform app.recheck_member(take_place.member_id);
  return signup;
end
$$;
comment on function app.take_place(app.shifts, uuid, timestamptz) is
  'Signs a member up, at the given time, for a shift that app.lock_shift has returned. Raises the first that applies: SH003 signed up already, SH004 full, 40001 the member has left or was erased meanwhile.';
grant execute on function app.take_place(app.shifts, uuid, timestamptz) to club_signup, club_roster;

create or replace function app.free_place(shift app.shifts, member_id uuid) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  delete from app.shift_signups as s where s.shift_id = shift.id and s.member_id = free_place.member_id;
  if not found then
    raise exception using errcode = 'SH005', message = 'the member did not sign up', detail = jsonb_build_object('memberId', app.member_id());
  end if;
end
$$;
comment on function app.free_place(app.shifts, uuid) is
  'Cancels the signup of a member for a shift that app.lock_shift has returned. SH005: not signed up.';
grant execute on function app.free_place(app.shifts, uuid) to club_signup, club_roster;

create or replace function app.require_member(member_id uuid) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  name text;
begin
  -- Waits for the end of the membership or an erasure under way, which the foreign key would let pass.
  select m.display_name into name from app.members as m
  where m.id = require_member.member_id and m.left_at is null and m.erased_at is null for key share;
  if not found then
    raise exception using errcode = 'ME001', message = 'no such member in this club', detail = jsonb_build_object('memberId', app.member_id());
  end if;
  return name;
end
$$;
comment on function app.require_member(uuid) is 'Locks a member against the end of the membership and erasure until the transaction ends, and returns the name. ME001: no such member, or one who has left or was erased.';
grant execute on function app.require_member(uuid) to club_roster;

set local role club_signup;

create or replace function app.sign_up(shift_id uuid) returns app.shift_signups
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  shift constant app.shifts := app.lock_shift(shift_id);
  at constant timestamptz := clock_timestamp();
begin
  perform app.require_open(shift, at);
  return app.take_place(shift, app.member_id(), at);
end
$$;
comment on function app.sign_up(uuid) is
  'Signs the caller up for a shift. Raises the first that applies: SH001 no such shift, SH002 it has started, SH007 sign-up is not open yet, SH008 it is closed, SH003 signed up already, SH004 full, 40001 the caller has left or was erased meanwhile.';
grant execute on function app.sign_up(uuid) to club_api;

create or replace function app.cancel_sign_up(shift_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  shift constant app.shifts := app.lock_shift(shift_id);
  at constant timestamptz := clock_timestamp();
begin
  perform app.require_not_started(shift, at);
  if shift.cancel_until <= at then
    raise exception using errcode = 'SH009', message = 'it is too late to cancel',
      detail = jsonb_build_object('memberId', app.member_id(), 'cancelUntil', shift.cancel_until);
  end if;
  perform app.free_place(shift, app.member_id());
end
$$;
comment on function app.cancel_sign_up(uuid) is
  'Cancels the caller''s signup. Raises the first that applies: SH001 no such shift, SH002 it has started, SH009 it is too late to cancel, SH005 not signed up.';
grant execute on function app.cancel_sign_up(uuid) to club_api;

set local role club_roster;

create or replace function app.assign_sign_up(
  shift_id uuid, member_id uuid, out is_new boolean, out signup app.shift_signups, out member_name text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  shift constant app.shifts := app.lock_shift(assign_sign_up.shift_id);
  at constant timestamptz := clock_timestamp();
begin
  member_name := app.require_member(assign_sign_up.member_id);
  select * into signup from app.shift_signups as s where s.shift_id = shift.id and s.member_id = assign_sign_up.member_id;
  is_new := not found;
  if is_new then
    perform app.require_not_started(shift, at);
    signup := app.take_place(shift, assign_sign_up.member_id, at);
  end if;
end
$$;
comment on function app.assign_sign_up(uuid, uuid) is
  'Signs a member up for a shift, and returns the signup, whether it is new, and the name of the member, who may have joined during the wait for the lock. Raises the first that applies: SH001 no such shift, ME001 no such member, or one who has left or was erased; then, unless the member is signed up, SH002 it has started, SH004 full.';
grant execute on function app.assign_sign_up(uuid, uuid) to club_api;

create or replace function app.remove_sign_up(shift_id uuid, member_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  shift constant app.shifts := app.lock_shift(shift_id);
begin
  perform app.require_not_started(shift, clock_timestamp());
  perform app.free_place(shift, member_id);
end
$$;
comment on function app.remove_sign_up(uuid, uuid) is
  'Cancels the signup of a member. Raises the first that applies: SH001 no such shift, SH002 it has started, SH005 not signed up.';
grant execute on function app.remove_sign_up(uuid, uuid) to club_api;

set local role club_owner;

-- A promotion shows when it was made; nothing else of a signup is shown.
create trigger shift_signups_record after insert on app.shift_signups
  for each row when (current_user <> 'club_import') execute function app.record_event('signup', 'promoted_at', '', 'member_id', 'shift_id');
comment on trigger shift_signups_record on app.shift_signups is 'Records signup.created.';

create trigger shift_signups_record_end after update or delete on app.shift_signups
  for each row execute function app.record_event('signup', '', '', 'member_id', 'shift_id');
comment on trigger shift_signups_record_end on app.shift_signups is 'Records signup.deleted, and both if a signup becomes that of another member or shift.';
