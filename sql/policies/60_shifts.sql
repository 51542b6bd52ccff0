-- Shifts of a club. Those that a Manager created together can be taken back together.
--
-- app.delete_batch belongs to club_roster, whose policies let a Manager delete shifts. The chapters of signups and waits have its other rights.

comment on table app.shifts is 'Shifts of a club, each with a capacity.';
comment on column app.shifts.signup_count is 'The number of signups. Maintained by triggers of club_places; no caller writes it.';
comment on column app.shifts.created_by_id is 'Who created the shift. Stays when the member is erased: the club keeps its shifts.';
comment on column app.shifts.version is 'Increases by one with each change of its fields, by PUT or SQL. Counters do not change it.';
comment on column app.shifts.signup_opens_at is 'From when members sign up; null: at once. The roster is not bound by it.';
comment on column app.shifts.signup_closes_at is 'Until when members sign up; null: until the start. The roster is not bound by it.';
comment on column app.shifts.cancel_until is 'Until when members cancel their signup; null: until the start. The roster is not bound by it.';
comment on column app.shifts.batch_id is 'The same for shifts that were created together; null for one that was created alone.';

alter table app.shifts alter column tenant_id set default app.tenant_id();
alter table app.shifts alter column id set default app.new_id();
alter table app.shifts alter column created_by_id set default app.member_id();

grant select, delete on app.shifts to club_api;
grant insert (title, location, description, starts_at, ends_at, capacity, signup_opens_at, signup_closes_at, cancel_until, batch_id)
on app.shifts to club_api;
grant update (title, location, description, starts_at, ends_at, capacity, signup_opens_at, signup_closes_at, cancel_until)
on app.shifts to club_api;
grant delete on app.shifts to club_roster;
grant delete on app.shifts to club_operator;

alter table app.shifts enable row level security, force row level security;

create policy shifts_floor on app.shifts as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy shifts_floor on app.shifts is 'Only shifts of the club of this transaction are visible and writable.';

create policy shifts_read on app.shifts for select to club_api, club_signup
  using ((select app.role()) >= 'Viewer');
comment on policy shifts_read on app.shifts is 'Every role in the club reads its shifts.';

create policy shifts_create on app.shifts for insert to club_api
  with check ((select app.role()) >= 'Manager');
comment on policy shifts_create on app.shifts is 'Managers and higher roles create shifts.';

create policy shifts_edit on app.shifts for update to club_api
  using ((select app.role()) >= 'Manager') with check ((select app.role()) >= 'Manager');
comment on policy shifts_edit on app.shifts is 'Managers and higher roles change shifts.';

create policy shifts_delete on app.shifts for delete to club_api
  using ((select app.role()) >= 'Admin');
comment on policy shifts_delete on app.shifts is 'Only an Admin deletes a shift; its signups are deleted with it.';

create policy shifts_roster_delete on app.shifts for delete to club_roster
  using ((select app.role()) >= 'Admin');
comment on policy shifts_roster_delete on app.shifts is 'An Admin deletes the shifts of a batch, with their signups.';

create policy shifts_roster_take_back on app.shifts for delete to club_roster
  using ((select app.role()) >= 'Manager' and created_by_id = (select app.member_id()));
comment on policy shifts_roster_take_back on app.shifts is 'A Manager deletes shifts that they created. app.delete_batch looks whether somebody is signed up or waits.';

create policy shifts_forget on app.shifts for delete to club_operator
  using (tenant_id = (select app.closed_club_id()));
comment on policy shifts_forget on app.shifts is 'An operator removes the shifts of a closed club.';

create or replace function app.stamp_shift() returns trigger
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  if (new.title, new.location, new.description, new.starts_at, new.ends_at, new.capacity,
      new.signup_opens_at, new.signup_closes_at, new.cancel_until)
     is distinct from (old.title, old.location, old.description, old.starts_at, old.ends_at, old.capacity,
      old.signup_opens_at, old.signup_closes_at, old.cancel_until) then
    if old.version = 2147483647 then
      raise exception using errcode = 'SH006', message = 'the shift has the last version there is';
    end if;
    new.version := old.version + 1;
    new.updated_at := clock_timestamp();
  end if;
  return new;
end
$$;
comment on function app.stamp_shift() is 'Sets the next version and the time of change of a changed shift. A change of the signup counter alone keeps both. SH006: there is no next version.';

create trigger shifts_stamp before update on app.shifts
  for each row execute function app.stamp_shift();
comment on trigger shifts_stamp on app.shifts is 'Counts the changes of a shift, for every statement of every role.';

create trigger shifts_record after insert or update or delete on app.shifts
  for each row when (current_user <> 'club_import') execute function app.record_event(
    'shift', 'starts_at, ends_at, capacity, signup_opens_at, signup_closes_at, cancel_until, batch_id', 'description, location, title'
  );
comment on trigger shifts_record on app.shifts is 'Records shift.created, shift.changed and shift.deleted.';

set local role club_roster;

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
    select s.id, s.created_by_id, s.signup_count, s.wait_count from app.shifts as s
    where s.batch_id = delete_batch.batch_id and s.starts_at >= coalesce(delete_batch.starts_from, '-infinity')
    order by s.id
    for update
  )
  select array_agg(id), bool_and(created_by_id is not distinct from caller_id and signup_count = 0 and wait_count = 0) into ids, are_own from locked;
  if caller_role < 'Admin' and not are_own then
    raise exception using errcode = 'RO001', message = 'only an Admin deletes shifts of others, or with signups or waits',
      detail = jsonb_build_object('memberId', caller_id, 'requiredRole', 'Admin', 'yourRole', caller_role);
  end if;
  delete from app.shifts as s where s.id = any (ids);
  return coalesce(cardinality(ids), 0);
end
$$;
comment on function app.delete_batch(uuid, timestamptz) is
  'Deletes the shifts of a batch, or those that start at a time or later, with their signups, and returns their number. RO001: the caller is a Manager who did not create all of them, or somebody is signed up or waits.';
grant execute on function app.delete_batch(uuid, timestamptz) to club_api;

set local role club_owner;
