-- Attendance: who came to a shift, and for how long.
--
-- A record has no foreign key to its shift and keeps the title and times that it had, so that hours outlive the shift.

comment on table app.attendance is 'Who came to a shift of a club, and for how long; at most one record for each shift and member.';
comment on column app.attendance.shift_id is 'The shift, which may have been deleted.';
comment on column app.attendance.member_id is 'Who the record is about. Stays when the member is erased if they attended: the club keeps its hours.';
comment on column app.attendance.shift_title is 'The title of the shift when the record was last changed.';
comment on column app.attendance.starts_at is 'The start of the shift when the record was last changed.';
comment on column app.attendance.ends_at is 'The end of the shift when the record was last changed.';
comment on column app.attendance.was_signed_up is 'Whether the member was signed up when the record was last changed.';
comment on column app.attendance.minutes is 'How long the member was there. Null unless they attended.';
comment on column app.attendance.recorded_by_id is 'Who changed the record last. Stays when that member is erased: the record is about another one.';
comment on column app.attendance.version is 'Increases by one with each change. A request can send the version it read, and is then refused if the record has changed since.';

alter table app.attendance alter column tenant_id set default app.tenant_id();
alter table app.attendance alter column id set default app.new_id();
alter table app.attendance alter column recorded_by_id set default app.member_id();

grant select, delete on app.attendance to club_api;
grant insert (shift_id, member_id, shift_title, starts_at, ends_at, was_signed_up, status, minutes) on app.attendance to club_api;
grant update (shift_title, starts_at, ends_at, was_signed_up, status, minutes, recorded_by_id) on app.attendance to club_api;
grant select (member_id, status), delete on app.attendance to club_operator;

alter table app.attendance enable row level security, force row level security;

create policy attendance_floor on app.attendance as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy attendance_floor on app.attendance is 'Only records of the club of this transaction are visible and writable.';

create policy attendance_read on app.attendance for select to club_api
  using ((select app.role()) >= 'Manager');
comment on policy attendance_read on app.attendance is 'Managers and higher roles read all records of the club.';

create policy attendance_read_own on app.attendance for select to club_api
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy attendance_read_own on app.attendance is 'A Member reads their own records.';

create policy attendance_create on app.attendance for insert to club_api
  with check (recorded_by_id = (select app.member_id()) and (select app.role()) >= 'Manager');
comment on policy attendance_create on app.attendance is 'Managers and higher roles record who came, under their own name.';

create policy attendance_edit on app.attendance for update to club_api
  using ((select app.role()) >= 'Manager')
  with check (recorded_by_id = (select app.member_id()) and (select app.role()) >= 'Manager');
comment on policy attendance_edit on app.attendance is 'Managers and higher roles change records, under their own name.';

create policy attendance_delete on app.attendance for delete to club_api
  using ((select app.role()) >= 'Manager');
comment on policy attendance_delete on app.attendance is 'Managers and higher roles delete records.';

create policy attendance_find on app.attendance for select to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy attendance_find on app.attendance is 'An operator finds the records of a member to erase.';

create policy attendance_forget on app.attendance for delete to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy attendance_forget on app.attendance is 'An operator deletes records of an erased member, and those of a closed club.';

create or replace function app.stamp_attendance() returns trigger
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  if new is distinct from old then
    if old.version = 2147483647 then
      raise exception using errcode = 'AT001', message = 'the record has the last version there is';
    end if;
    new.version := old.version + 1;
    new.recorded_at := clock_timestamp();
  end if;
  return new;
end
$$;
comment on function app.stamp_attendance() is 'Sets the next version and the time of change of a changed record. AT001: there is no next version.';

create trigger attendance_stamp before update on app.attendance
  for each row execute function app.stamp_attendance();
comment on trigger attendance_stamp on app.attendance is 'Counts the changes of a record, for every statement of every role.';

create trigger attendance_record after insert or update or delete on app.attendance
  for each row execute function app.record_event('attendance', '', 'minutes, status', 'member_id', 'shift_id');
comment on trigger attendance_record on app.attendance is 'Records attendance.created, attendance.changed and attendance.deleted.';
