-- Copies: all data about a member, for the member and for Admins.
--
-- The service reads it with one statement. The policies of club_api show it what every role reads: members, shifts and signups, one's own
-- waits and calendar link. The rest comes from app.read_member_data, which belongs to club_copy: a Viewer has tasks, records of attendance
-- and events too, and the policies of club_api let no role read stored responses.
--
-- The policies of club_copy have the rule: every role reads what is about their own member, an Admin what is about any member.

grant execute on function app.missing_context(text), app.tenant_id(), app.member_id(), app.role() to club_copy;
grant select (id, tenant_id) on app.members to club_copy;
grant select on app.tasks, app.attendance, app.events to club_copy;
grant select (tenant_id, member_id, created_at, location) on app.idempotency_keys to club_copy;

create policy members_copy_own on app.members for select to club_copy
  using (id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy members_copy_own on app.members is 'Every role copies the data about themself.';

create policy members_copy on app.members for select to club_copy
  using ((select app.role()) >= 'Admin');
comment on policy members_copy on app.members is 'An Admin copies the data about any member.';

create policy tasks_copy_assigned on app.tasks for select to club_copy
  using (assignee_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy tasks_copy_assigned on app.tasks is 'A copy for every role has the tasks that are assigned to themself.';

create policy tasks_copy_created on app.tasks for select to club_copy
  using (created_by_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy tasks_copy_created on app.tasks is 'A copy for every role has the tasks that they created.';

create policy tasks_copy on app.tasks for select to club_copy
  using ((select app.role()) >= 'Admin');
comment on policy tasks_copy on app.tasks is 'A copy for an Admin has the tasks of any member.';

create policy attendance_copy_own on app.attendance for select to club_copy
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy attendance_copy_own on app.attendance is 'A copy for every role has their own records.';

create policy attendance_copy on app.attendance for select to club_copy
  using ((select app.role()) >= 'Admin');
comment on policy attendance_copy on app.attendance is 'A copy for an Admin has the records of any member.';

create policy events_copy_own on app.events for select to club_copy
  using (sequence is not null and member_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy events_copy_own on app.events is 'A copy for every role has the events about themself.';

create policy events_copy_acted on app.events for select to club_copy
  using (sequence is not null and actor_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy events_copy_acted on app.events is 'A copy for every role has the events of their changes.';

create policy events_copy on app.events for select to club_copy
  using (sequence is not null and (select app.role()) >= 'Admin');
comment on policy events_copy on app.events is 'A copy for an Admin has the events of any member.';

create policy idempotency_keys_copy_own on app.idempotency_keys for select to club_copy
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy idempotency_keys_copy_own on app.idempotency_keys is 'A copy for every role says when their own responses were stored.';

create policy idempotency_keys_copy on app.idempotency_keys for select to club_copy
  using ((select app.role()) >= 'Admin');
comment on policy idempotency_keys_copy on app.idempotency_keys is 'A copy for an Admin says when responses of any member were stored.';

set local role club_copy;

create or replace function app.read_member_data(member_id uuid)
returns table (tasks app.tasks[], attendance app.attendance[], events app.events[], stored_responses json)
-- STABLE: it reads with the snapshot of the calling statement.
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select
    array(select task from app.tasks as task where task.assignee_id = member.id or task.created_by_id = member.id),
    array(select record from app.attendance as record where record.member_id = member.id),
    array(select event from app.events as event where event.member_id = member.id or event.actor_id = member.id),
    array_to_json(array(
      select row_to_json(stored)
      from (
        select response.created_at as "createdAt", response.location
        from app.idempotency_keys as response
        where response.member_id = member.id
      ) as stored
      order by stored."createdAt", stored.location
    ))
  from app.members as member
  where member.id = read_member_data.member_id
$$;
comment on function app.read_member_data(uuid) is
  'What is stored about a member and is not for every role: their tasks, assigned or created, records of attendance, events about them or of their changes, and when which response was stored for them. No row when there is no such member in the club, or it is another member and the caller is not an Admin.';
grant execute on function app.read_member_data(uuid) to club_api;

set local role club_owner;
