-- Attendance: who came to a shift, and for how long.
--
-- A record has no foreign key to its shift and keeps the title and times that it had, so that hours outlive the shift.
--
-- app.record_attendance implements the PUT of the API with the rights of the caller: the policies decide who may record. The detail of
-- its errors is JSON: the caller's member id, for the log of the service, and what the response has in addition.

comment on table app.attendance is 'Who came to a shift of a club, and for how long; at most one record for each shift and member.';
comment on column app.attendance.shift_id is 'The shift, which may have been deleted.';
comment on column app.attendance.member_id is 'Who the record is about. Stays when the member is erased if they attended: the club keeps its hours.';
comment on column app.attendance.shift_title is 'The title of the shift when the record was last changed.';
comment on column app.attendance.starts_at is 'The start of the shift when the record was last changed.';
comment on column app.attendance.ends_at is 'The end of the shift when the record was last changed.';
comment on column app.attendance.was_signed_up is 'Whether the member was signed up when the record was last changed.';
comment on column app.attendance.minutes is 'How long the member was there. Null unless they attended.';
comment on column app.attendance.recorded_by_id is 'Who changed the record last. Stays when that member is erased, and is not in the copy of their data: the record is about another one.';
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
      raise exception using
        errcode = 'AT001', message = 'the record has the last version there is', detail = jsonb_build_object('memberId', app.member_id());
    end if;
    new.version := old.version + 1;
    -- A merge of members changes whose record it is, not what was recorded.
    if current_user <> 'club_secretary' then
      new.recorded_at := clock_timestamp();
    end if;
  end if;
  return new;
end
$$;
comment on function app.stamp_attendance() is 'Sets the next version of a changed record and, unless members are merged, the time of the change. AT001: there is no next version.';

create trigger attendance_stamp before update on app.attendance
  for each row execute function app.stamp_attendance();
comment on trigger attendance_stamp on app.attendance is 'Counts the changes of a record, for every statement of every role.';

create trigger attendance_record after insert or update or delete on app.attendance
  for each row when (current_user <> 'club_import') execute function app.record_event('attendance', '', 'minutes, status', 'member_id', 'shift_id');
comment on trigger attendance_record on app.attendance is 'Records attendance.created, attendance.changed and attendance.deleted.';

create or replace function app.record_attendance(
  shift_id uuid, member_id uuid, status text, minutes integer, expected_version integer, if_match text[], if_none_match text[],
  out attendance app.attendance, out is_new boolean, out member_name text)
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  shift app.shifts;
  current jsonb;
  -- The tags that match the record; null without a record.
  tags text[];
  changed app.attendance;
begin
  -- The shift first, see 61_signups.sql; then the record, because the shift may be gone.
  select * into shift from app.shifts as s where s.id = record_attendance.shift_id for no key update;
  select * into attendance from app.attendance as a
  where a.shift_id = record_attendance.shift_id and a.member_id = record_attendance.member_id for update;
  is_new := not found;
  -- Not by the calling statement, whose snapshot is older than the locks.
  select m.display_name into member_name from app.members as m
  where m.id = record_attendance.member_id and (m.erased_at is null or not is_new);
  if is_new then
    if shift.id is null then
      raise exception using errcode = 'SH001', message = 'no such shift in this club', detail = caller;
    end if;
    if member_name is null then
      raise exception using errcode = 'ME001', message = 'no such member in this club', detail = caller;
    end if;
    if if_match is not null then
      raise exception using errcode = 'VE001', message = 'If-Match needs a record, and there is none', detail = caller;
    end if;
    if expected_version is not null then
      raise exception using errcode = 'AT001', message = 'a version needs a record, and there is none', detail = caller;
    end if;
  else
    current := caller || jsonb_build_object('currentVersion', attendance.version);
    tags := array['*', format('"%s"', attendance.version)];
    if not if_match && tags then
      raise exception using errcode = 'VE001', message = 'If-Match does not have the current version', detail = current;
    end if;
    if attendance.version <> expected_version then
      raise exception using errcode = 'AT001', message = 'the record has another version', detail = current;
    end if;
  end if;
  if shift.starts_at > clock_timestamp() then
    raise exception using errcode = 'AT002', message = 'the shift has not started', detail = caller;
  end if;
  if if_none_match && tags then
    raise exception using errcode = 'VE002', message = 'If-None-Match has the current version', detail = current;
  end if;

  changed := attendance;
  if shift.id is not null then
    changed.shift_title := shift.title;
    changed.starts_at := shift.starts_at;
    changed.ends_at := shift.ends_at;
    changed.was_signed_up := exists (
      select from app.shift_signups as s where s.shift_id = shift.id and s.member_id = record_attendance.member_id);
  end if;
  changed.status := status;
  changed.minutes := case when status = 'Attended' then
    coalesce(minutes, floor(extract(epoch from changed.ends_at - changed.starts_at) / 60)::integer) end;
  if not is_new and (changed.status, changed.minutes) is not distinct from (attendance.status, attendance.minutes) then
    return;
  end if;
  insert into app.attendance as a (shift_id, member_id, shift_title, starts_at, ends_at, was_signed_up, status, minutes)
  values (
    record_attendance.shift_id, record_attendance.member_id, changed.shift_title, changed.starts_at, changed.ends_at,
    changed.was_signed_up, changed.status, changed.minutes
  )
  on conflict on constraint attendance_once do update
    set shift_title = excluded.shift_title, starts_at = excluded.starts_at, ends_at = excluded.ends_at,
        was_signed_up = excluded.was_signed_up, status = excluded.status, minutes = excluded.minutes,
        recorded_by_id = excluded.recorded_by_id
  returning * into attendance;
  -- The foreign key has waited for an erasure under way, and let it pass.
  if is_new and exists (select from app.members as m where m.id = record_attendance.member_id and m.erased_at is not null) then
    raise exception using errcode = '40001', message = 'the member was erased meanwhile';
  end if;
end
$$;
comment on function app.record_attendance(uuid, uuid, text, integer, integer, text[], text[]) is
  'Records whether a member came to a shift, and returns the record, whether it is new, and the name of the member. Minutes count with the status Attended only, and null is the length of the shift. The same status and minutes change nothing; otherwise the record takes title, times and whether the member is signed up from the shift, if there still is one. Null as version or as tags of If-Match allows every version, as does * among the tags. Raises the first that applies: SH001 neither the shift nor a record, ME001 neither a record nor a member who was not erased, VE001 If-Match has another version or there is no record, AT001 another version is expected or there is no record, AT002 the shift has not started, VE002 If-None-Match has the version of the record, then what app.stamp_attendance raises, and 40001 the member of a new record was erased meanwhile.';

grant execute on function app.record_attendance(uuid, uuid, text, integer, integer, text[], text[]) to club_api;
