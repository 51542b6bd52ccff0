-- Waits: who is next when a place of a full shift becomes free.
--
-- Members wait with app.wait_for_place and stop with app.stop_waiting, which belong to club_signup. Managers let members wait with
-- app.assign_wait and end it with app.remove_wait, which belong to club_roster. app.join_queue and app.leave_queue have what both have in
-- common. The order of a queue is that of created_at, then of the id.
--
-- A trigger on app.shifts gives a free place to the first of the queue, in the statement that frees it: every way out of a shift, a higher
-- capacity and a later cancel_until or start change the row of the shift. So at every COMMIT no shift has both a wait and a free place, until
-- members cannot cancel any more: from then on promotion ends, and waits stay.
--
-- A statement that adds before it frees, such as a swap of two signups or a MERGE, is refused where the shift is full: a trigger of one row
-- does not know what the statement does to others. SQL in the context of another club, TRUNCATE, and SQL without triggers change no counter.
--
-- The triggers belong to club_places, the one role that writes the counters of a shift. Triggers of one row fire in the order of their
-- names, and this order is that of the events: a wait ends before the signup that ends it (count, record), a place is given away after it
-- was freed (record, release; on shifts: record, refill), and a wait begins before a free place ends it (record, total).
--
-- A trigger that runs as club_places updates the counters itself, once for all places that it gives away, and so starts none of these
-- triggers again. A session that becomes club_places is counted as any other.

comment on table app.shift_waits is 'Which member waits for a place in which shift, at most once each.';
comment on column app.shift_waits.member_id is 'Who waits. Deleted when the member is erased.';
comment on column app.shift_waits.created_by_id is 'The member who created the wait. Stays when that member is erased, and is not in the copy of their data: the wait is that of another one.';
comment on column app.shift_waits.created_at is 'Since when the member waits; the order of the queue. app.join_queue makes it later than that of every other wait of the shift.';
comment on column app.shifts.wait_count is 'The number of waits. Maintained by triggers of club_places; no caller writes it.';
comment on column app.shift_signups.promoted_at is 'When the place was given to the member, who waited; equal to created_at. Null if it was not given by promotion.';

alter table app.shift_waits alter column tenant_id set default app.tenant_id();
alter table app.shift_waits alter column id set default app.new_id();
alter table app.shift_waits alter column created_by_id set default app.member_id();

grant select on app.shift_waits to club_api;
grant select, delete on app.shift_waits to club_signup, club_roster;
grant insert (shift_id, member_id, created_at) on app.shift_waits to club_signup, club_roster;
grant select (member_id), delete on app.shift_waits to club_operator;

grant execute on function app.missing_context(text), app.tenant_id(), app.member_id(), app.new_id() to club_places;
grant select, delete on app.shift_waits to club_places;
grant select (shift_id, member_id) on app.shift_signups to club_places;
grant insert (shift_id, member_id, created_by_id, created_at, promoted_at) on app.shift_signups to club_places;
grant select on app.shifts to club_places;
grant select (tenant_id, id, left_at) on app.members to club_places;
grant update (signup_count, wait_count) on app.shifts to club_places;

alter table app.shift_waits enable row level security, force row level security;

create policy shift_waits_floor on app.shift_waits as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy shift_waits_floor on app.shift_waits is 'Only waits of the club of this transaction are visible and writable.';

create policy shift_waits_read on app.shift_waits for select to club_api
  using ((select app.role()) >= 'Manager');
comment on policy shift_waits_read on app.shift_waits is 'Managers and higher roles read who waits.';

create policy shift_waits_read_own on app.shift_waits for select to club_api
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy shift_waits_read_own on app.shift_waits is 'Every role reads their own waits: a Manager may let a Viewer wait.';

create policy shift_waits_order on app.shift_waits for select to club_signup
  using ((select app.role()) >= 'Viewer');
comment on policy shift_waits_order on app.shift_waits is 'A wait is the last of its shift, and has a position among all of them.';

create policy shift_waits_wait on app.shift_waits for insert to club_signup
  with check (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy shift_waits_wait on app.shift_waits is 'A Member creates their own wait, and no other.';

create policy shift_waits_stop on app.shift_waits for delete to club_signup
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy shift_waits_stop on app.shift_waits is 'A Member ends their own wait, and no other.';

create policy shift_waits_roster_read on app.shift_waits for select to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shift_waits_roster_read on app.shift_waits is 'Managers and higher roles read the waits of a roster.';

create policy shift_waits_assign on app.shift_waits for insert to club_roster
  with check ((select app.role()) >= 'Manager');
comment on policy shift_waits_assign on app.shift_waits is 'Managers and higher roles let any member wait.';

create policy shift_waits_remove on app.shift_waits for delete to club_roster
  using ((select app.role()) >= 'Manager');
comment on policy shift_waits_remove on app.shift_waits is 'Managers and higher roles end the wait of any member.';

create policy shift_waits_next on app.shift_waits for select to club_places
  using (tenant_id = (select app.tenant_id()));
comment on policy shift_waits_next on app.shift_waits is 'Who is next is found for every caller who frees a place.';

create policy shift_waits_end on app.shift_waits for delete to club_places
  using (tenant_id = (select app.tenant_id()));
comment on policy shift_waits_end on app.shift_waits is 'A signup ends the wait of its member, for every caller who creates it.';

create policy shift_waits_find on app.shift_waits for select to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy shift_waits_find on app.shift_waits is 'An operator who erases a member sees whether they wait.';

create policy shift_waits_forget on app.shift_waits for delete to club_operator
  using (tenant_id = (select app.closed_club_id()));
comment on policy shift_waits_forget on app.shift_waits is 'An operator removes the waits of a closed club.';

create policy shift_signups_places_read on app.shift_signups for select to club_places
  using (tenant_id = (select app.tenant_id()));
comment on policy shift_signups_places_read on app.shift_signups is 'A member who is signed up does not wait.';

create policy shift_signups_promote on app.shift_signups for insert to club_places
  with check (tenant_id = (select app.tenant_id()));
comment on policy shift_signups_promote on app.shift_signups is 'The first of the queue gets a free place, for every caller who frees it.';

create policy members_places_read on app.members for select to club_places
  using (tenant_id = (select app.tenant_id()));
comment on policy members_places_read on app.members is 'Who has left gets no place.';

create policy shifts_places_read on app.shifts for select to club_places
  using (tenant_id = (select app.tenant_id()));
comment on policy shifts_places_read on app.shifts is 'The shift whose places are counted and given away.';

create policy shifts_count on app.shifts for update to club_places
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy shifts_count on app.shifts is 'Signups and waits change the counters of their shift; the grants of club_places allow it to write nothing else.';

create or replace function app.join_queue(shift app.shifts, member_id uuid, at timestamptz) returns app.shift_waits
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  wait app.shift_waits;
begin
  if exists (select from app.shift_signups as s where s.shift_id = shift.id and s.member_id = join_queue.member_id) then
    raise exception using errcode = 'SH003', message = 'the member signed up already', detail = caller;
  end if;
  if exists (select from app.shift_waits as w where w.shift_id = shift.id and w.member_id = join_queue.member_id) then
    raise exception using errcode = 'WA001', message = 'the member waits already', detail = caller;
  end if;
  if shift.signup_count < shift.capacity then
    raise exception using errcode = 'WA002', message = 'the shift has a free place', detail = caller;
  end if;
  if shift.wait_count >= 500 then
    raise exception using errcode = 'WA003', message = 'as many wait as can', detail = caller;
  end if;
  insert into app.shift_waits (shift_id, member_id, created_at)
  values (
    shift.id, join_queue.member_id,
    greatest(at, (select max(w.created_at) from app.shift_waits as w where w.shift_id = shift.id) + interval '1 microsecond')
  )
  returning * into wait;
  perform app.recheck_member(join_queue.member_id);
  return wait;
end
$$;
comment on function app.join_queue(app.shifts, uuid, timestamptz) is
  'Lets a member wait, from the given time on, for a place in a shift that app.lock_shift has returned, as the last one. Raises the first that applies: SH003 signed up already, WA001 waits already, WA002 a place is free, WA003 500 wait, 40001 the member has left or was erased meanwhile.';
grant execute on function app.join_queue(app.shifts, uuid, timestamptz) to club_signup, club_roster;

create or replace function app.leave_queue(shift_id uuid, member_id uuid) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  shift constant app.shifts := app.lock_shift(leave_queue.shift_id);
begin
  perform app.require_not_started(shift, clock_timestamp());
  delete from app.shift_waits as w where w.shift_id = shift.id and w.member_id = leave_queue.member_id;
  if not found then
    raise exception using errcode = 'WA004', message = 'the member does not wait', detail = jsonb_build_object('memberId', app.member_id());
  end if;
end
$$;
comment on function app.leave_queue(uuid, uuid) is
  'Ends the wait of a member. Raises the first that applies: SH001 no such shift, SH002 it has started, WA004 the member does not wait.';
grant execute on function app.leave_queue(uuid, uuid) to club_signup, club_roster;

set local role club_signup;

create or replace function app.wait_for_place(shift_id uuid) returns app.shift_waits
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  shift constant app.shifts := app.lock_shift(shift_id);
  at constant timestamptz := clock_timestamp();
begin
  perform app.require_open(shift, at);
  return app.join_queue(shift, app.member_id(), at);
end
$$;
comment on function app.wait_for_place(uuid) is
  'Lets the caller wait for a place in a shift. Raises the first that applies: SH001 no such shift, SH002 it has started, SH007 sign-up is not open yet, SH008 it is closed, SH003 signed up already, WA001 waits already, WA002 a place is free, WA003 500 wait, 40001 the caller has left or was erased meanwhile.';
grant execute on function app.wait_for_place(uuid) to club_api;

create or replace function app.stop_waiting(shift_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.leave_queue(shift_id, app.member_id());
end
$$;
comment on function app.stop_waiting(uuid) is
  'Ends the caller''s wait. Raises the first that applies: SH001 no such shift, SH002 it has started, WA004 the caller does not wait.';
grant execute on function app.stop_waiting(uuid) to club_api;

create or replace function app.queue_position(wait app.shift_waits) returns integer
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select 1 + count(*)::integer
  from app.shift_waits as earlier
  where earlier.shift_id = wait.shift_id and (earlier.created_at, earlier.id) < (wait.created_at, wait.id)
$$;
comment on function app.queue_position(app.shift_waits) is 'How many wait up to and including this wait: 1 is next. Members read only their own waits.';
grant execute on function app.queue_position(app.shift_waits) to club_api;

set local role club_roster;

create or replace function app.assign_wait(
  shift_id uuid, member_id uuid, out is_new boolean, out wait app.shift_waits, out member_name text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  shift constant app.shifts := app.lock_shift(assign_wait.shift_id);
  at constant timestamptz := clock_timestamp();
begin
  member_name := app.require_member(assign_wait.member_id);
  select * into wait from app.shift_waits as w where w.shift_id = shift.id and w.member_id = assign_wait.member_id;
  is_new := not found;
  if is_new then
    perform app.require_not_started(shift, at);
    wait := app.join_queue(shift, assign_wait.member_id, at);
  end if;
end
$$;
comment on function app.assign_wait(uuid, uuid) is
  'Lets a member wait for a place in a shift, and returns the wait, whether it is new, and the name of the member. Raises the first that applies: SH001 no such shift, ME001 no such member, or one who has left or was erased; then, unless the member waits, SH002 the shift has started, SH003 signed up already, WA002 a place is free, WA003 500 wait.';
grant execute on function app.assign_wait(uuid, uuid) to club_api;

create or replace function app.remove_wait(shift_id uuid, member_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.leave_queue(shift_id, member_id);
end
$$;
comment on function app.remove_wait(uuid, uuid) is
  'Ends the wait of a member. Raises the first that applies: SH001 no such shift, SH002 it has started, WA004 the member does not wait.';
grant execute on function app.remove_wait(uuid, uuid) to club_api;

set local role club_places;

create or replace function app.count_signup() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  waiting integer;
begin
  if tg_op = 'INSERT' or (new.tenant_id, new.shift_id) is distinct from (old.tenant_id, old.shift_id) then
    update app.shifts as s set signup_count = s.signup_count + 1 where s.id = new.shift_id returning s.wait_count into waiting;
    if not found then
      raise exception using errcode = 'SH001', message = 'no such shift in this club';
    end if;
  else
    -- Locked, so that the member cannot begin to wait meanwhile.
    select s.wait_count into waiting from app.shifts as s where s.id = new.shift_id for no key update;
  end if;
  if waiting > 0 then
    delete from app.shift_waits as w where w.shift_id = new.shift_id and w.member_id = new.member_id;
    if found then
      update app.shifts as s set wait_count = s.wait_count - 1 where s.id = new.shift_id;
    end if;
  end if;
  return null;
end
$$;
comment on function app.count_signup() is 'Counts a new signup in shifts.signup_count, and ends the wait of its member. SH001: no such shift.';
grant execute on function app.count_signup() to club_owner;

create or replace function app.release_place() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'DELETE' or (new.tenant_id, new.shift_id) is distinct from (old.tenant_id, old.shift_id) then
    -- When the shift itself is deleted, this updates no row.
    update app.shifts as s set signup_count = s.signup_count - 1 where s.id = old.shift_id;
  end if;
  return null;
end
$$;
comment on function app.release_place() is 'Counts a signup that has gone in shifts.signup_count.';
grant execute on function app.release_place() to club_owner;

create or replace function app.count_waits() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op <> 'INSERT' then
    -- When the shift itself is deleted, this updates no row.
    update app.shifts as s set wait_count = s.wait_count - 1 where s.id = old.shift_id;
  end if;
  if tg_op <> 'DELETE' then
    -- Locked before the signups are read, so that the member cannot sign up meanwhile.
    perform from app.shifts as s where s.id = new.shift_id for no key update;
    if not found then
      raise exception using errcode = 'SH001', message = 'no such shift in this club';
    end if;
    if exists (select from app.shift_signups as s where s.shift_id = new.shift_id and s.member_id = new.member_id) then
      raise exception using errcode = 'SH003', message = 'the member signed up already';
    end if;
    update app.shifts as s set wait_count = s.wait_count + 1 where s.id = new.shift_id;
  end if;
  return null;
end
$$;
comment on function app.count_waits() is
  'Maintains shifts.wait_count, even if waits are deleted with their shift. SH001: no such shift; SH003: who waits is signed up.';
grant execute on function app.count_waits() to club_owner;

create or replace function app.refill_shift() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := clock_timestamp();
  shift app.shifts;
  head app.shift_waits;
  ended integer;
  promoted integer := 0;
begin
  select * into shift from app.shifts as s where s.id = new.id;
  if coalesce(shift.cancel_until, shift.starts_at) <= at then
    return null;
  end if;
  -- Waits at a shift that has started stay when their member leaves. The shift may have been moved since.
  delete from app.shift_waits as w using app.members as m
  where w.shift_id = shift.id and m.id = w.member_id and m.left_at is not null;
  get diagnostics ended = row_count;
  for head in
    -- Not more than are counted: a statement that inserts several counts one after another.
    select * from app.shift_waits as w where w.shift_id = shift.id
    order by w.created_at, w.id limit least(shift.capacity - shift.signup_count, shift.wait_count - ended)
  loop
    delete from app.shift_waits as w where w.id = head.id;
    -- Each later than the one before, so that signups are in the order of the queue.
    at := greatest(clock_timestamp(), at + interval '1 microsecond');
    insert into app.shift_signups (shift_id, member_id, created_by_id, created_at, promoted_at)
    values (shift.id, head.member_id, head.created_by_id, at, at);
    promoted := promoted + 1;
  end loop;
  if promoted + ended > 0 then
    update app.shifts as s
    set signup_count = s.signup_count + promoted, wait_count = s.wait_count - promoted - ended
    where s.id = shift.id;
  end if;
  return null;
end
$$;
comment on function app.refill_shift() is
  'Gives the free places of a shift to those who wait, in their order, until members cannot cancel any more; the waits of members who have left end. One update of the counters for all of them.';
grant execute on function app.refill_shift() to club_owner;

create or replace function app.withdraw_waits(member_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- In one order, so that two calls cannot deadlock.
  perform from app.shifts as s
  where s.id in (select w.shift_id from app.shift_waits as w where w.member_id = withdraw_waits.member_id)
  order by s.id
  for no key update;
  delete from app.shift_waits as w where w.member_id = withdraw_waits.member_id;
end
$$;
comment on function app.withdraw_waits(uuid) is 'Ends all waits of a member, for the functions of operators. Locks the shifts first.';
grant execute on function app.withdraw_waits(uuid) to club_operator;

set local role club_owner;

create or replace function app.wait_position(wait app.shift_waits) returns integer
-- VOLATILE: it also sees what was committed while the calling statement waited for the lock of the shift.
language sql volatile set search_path = pg_catalog, pg_temp
as $$
  select app.queue_position(wait)
$$;
comment on function app.wait_position(app.shift_waits) is 'The position of a wait that the calling statement writes: 1 is next.';
grant execute on function app.wait_position(app.shift_waits) to club_api;

create trigger shift_signups_count after insert or update of tenant_id, shift_id, member_id on app.shift_signups
  for each row when (current_user <> 'club_import' and (current_user <> 'club_places' or pg_trigger_depth() = 0)) execute function app.count_signup();
comment on trigger shift_signups_count on app.shift_signups is 'Counts a new signup, for every statement of every role, except an import and what a trigger of club_places writes and counts itself.';

create trigger shift_signups_release after delete or update of tenant_id, shift_id on app.shift_signups
  for each row execute function app.release_place();
comment on trigger shift_signups_release on app.shift_signups is 'Counts a signup that has gone, for every statement of every role.';

create trigger shift_waits_record after insert or update or delete on app.shift_waits
  for each row when (current_user <> 'club_import') execute function app.record_event('wait', '', '', 'member_id', 'shift_id');
comment on trigger shift_waits_record on app.shift_waits is 'Records wait.created and wait.deleted.';

create trigger shift_waits_total after insert or delete or update of tenant_id, shift_id, member_id on app.shift_waits
  for each row when (current_user <> 'club_import' and (current_user <> 'club_places' or pg_trigger_depth() = 0)) execute function app.count_waits();
comment on trigger shift_waits_total on app.shift_waits is 'Maintains the counter for every statement of every role, except an import and what a trigger of club_places writes and counts itself. Its name comes after record.';

create trigger shifts_refill after update on app.shifts
  for each row when (new.wait_count > 0 and new.signup_count < new.capacity) execute function app.refill_shift();
comment on trigger shifts_refill on app.shifts is 'Gives a free place to the first of the queue, in the statement that frees it.';
