-- Deletions and merges: members without a login who go.
--
-- app.delete_member and app.merge_members belong to club_secretary. A member whom a row names is not deleted: the foreign keys to
-- app.members refuse it, for every table. A merge moves the rows that name the member by UPDATE, so that
-- they keep their id and their times; it is refused where a table names the member that it does not know.
--
-- A merge locks the members, then the shifts of what it moves, each in the order of their ids, and deletes the member last. Others lock
-- the shift and then share a lock of the member: what they wrote meanwhile makes the deletion fail, and the service merges again. What
-- waits for one of the shifts finds no member afterwards.

grant delete on app.members to club_secretary;
grant select (member_id, sequence, subject_title), update (subject_title) on app.events to club_secretary;
grant select (shift_id, member_id, created_by_id), update (member_id, created_by_id), delete on app.shift_signups to club_secretary;
grant select (id, shift_id, member_id, created_by_id, created_at), update (member_id, created_by_id), delete on app.shift_waits to club_secretary;
grant select (shift_id, member_id, starts_at, recorded_by_id), update (member_id, recorded_by_id) on app.attendance to club_secretary;
grant select (assignee_id, created_by_id), update (assignee_id, created_by_id) on app.tasks to club_secretary;
grant select (id, created_by_id), update (created_by_id) on app.shifts to club_secretary;
grant select (member_id), delete on app.calendar_links to club_secretary;
grant select (status), delete on app.idempotency_keys to club_secretary;

create policy members_secretary_delete on app.members for delete to club_secretary
  using (external_user_id is null and erased_at is null and (select app.role()) >= 'Admin');
comment on policy members_secretary_delete on app.members is 'Admins delete members without a login.';

create policy events_secretary_find on app.events for select to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy events_secretary_find on app.events is 'Admins who delete a member find the titles to clear.';

create policy events_secretary_clear on app.events for update to club_secretary
  using ((select app.role()) >= 'Admin') with check ((select app.role()) >= 'Admin');
comment on policy events_secretary_clear on app.events is 'Admins who delete a member clear titles; the grants of club_secretary allow it to write nothing else.';

create policy idempotency_keys_secretary_find on app.idempotency_keys for select to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy idempotency_keys_secretary_find on app.idempotency_keys is 'Admins who delete a member find the stored responses of the club, because any may contain the member.';

create policy idempotency_keys_secretary_delete on app.idempotency_keys for delete to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy idempotency_keys_secretary_delete on app.idempotency_keys is 'Admins who delete a member delete the stored responses of the club.';

create policy shift_signups_merge_find on app.shift_signups for select to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy shift_signups_merge_find on app.shift_signups is 'Admins who merge a member find what names them.';

create policy shift_signups_merge on app.shift_signups for update to club_secretary
  using ((select app.role()) >= 'Admin') with check ((select app.role()) >= 'Admin');
comment on policy shift_signups_merge on app.shift_signups is 'Admins who merge a member move their signups, and those that they created.';

create policy shift_signups_merge_delete on app.shift_signups for delete to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy shift_signups_merge_delete on app.shift_signups is 'Admins who merge a member delete the signups that the other member has too.';

create policy shift_waits_merge_find on app.shift_waits for select to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy shift_waits_merge_find on app.shift_waits is 'Admins who merge a member find what names them.';

create policy shift_waits_merge on app.shift_waits for update to club_secretary
  using ((select app.role()) >= 'Admin') with check ((select app.role()) >= 'Admin');
comment on policy shift_waits_merge on app.shift_waits is 'Admins who merge a member move their waits, and those that they created.';

create policy shift_waits_merge_delete on app.shift_waits for delete to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy shift_waits_merge_delete on app.shift_waits is 'Admins who merge a member delete the waits that do not stay.';

create policy attendance_merge_find on app.attendance for select to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy attendance_merge_find on app.attendance is 'Admins who merge a member find what names them.';

create policy attendance_merge on app.attendance for update to club_secretary
  using ((select app.role()) >= 'Admin') with check ((select app.role()) >= 'Admin');
comment on policy attendance_merge on app.attendance is 'Admins who merge a member move their records, and those that they made.';

create policy tasks_merge_find on app.tasks for select to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy tasks_merge_find on app.tasks is 'Admins who merge a member find what names them.';

create policy tasks_merge on app.tasks for update to club_secretary
  using ((select app.role()) >= 'Admin') with check ((select app.role()) >= 'Admin');
comment on policy tasks_merge on app.tasks is 'Admins who merge a member move their tasks, and those that they created.';

create policy shifts_merge_find on app.shifts for select to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy shifts_merge_find on app.shifts is 'Admins who merge a member find what names them.';

create policy shifts_merge on app.shifts for update to club_secretary
  using ((select app.role()) >= 'Admin') with check ((select app.role()) >= 'Admin');
comment on policy shifts_merge on app.shifts is 'Admins who merge a member lock the shifts of what they move, and move the shifts that the member created.';

create policy calendar_links_merge_find on app.calendar_links for select to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy calendar_links_merge_find on app.calendar_links is 'Admins who merge a member find the link of the member.';

create policy calendar_links_merge on app.calendar_links for delete to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy calendar_links_merge on app.calendar_links is 'Admins who merge a member delete the link of the member.';

create or replace function app.clear_member(member_id uuid) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  update app.events as event set subject_title = null
  where event.member_id = clear_member.member_id and event.sequence is not null and event.subject_title is not null;
  -- A member without a login has none, unless X-Test-UserId named them.
  delete from app.calendar_links as link where link.member_id = clear_member.member_id;
  -- Not the key that this request has claimed. Those of other requests under way are not visible.
  delete from app.idempotency_keys as stored where stored.status is not null;
end
$$;
comment on function app.clear_member(uuid) is
  'Clears the titles of events about a member, and deletes their calendar link and the stored responses of the club, because any may contain the member.';
grant execute on function app.clear_member(uuid) to club_secretary;

set local role club_secretary;

create or replace function app.delete_member(member_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  member app.members;
begin
  select * into member from app.members as m where m.id = delete_member.member_id and m.erased_at is null for update;
  if not found then
    raise exception using errcode = 'ME001', message = 'no such member in this club', detail = caller;
  end if;
  if member.external_user_id is not null then
    raise exception using errcode = 'ME002', message = 'the member has a login', detail = caller;
  end if;
  perform app.clear_member(member.id);
  begin
    delete from app.members as m where m.id = member.id;
    if not found then
      raise exception using errcode = 'ME001', message = 'the policies let only an Admin delete the member', detail = caller;
    end if;
  -- The second since PostgreSQL 18.
  exception when foreign_key_violation or restrict_violation then
    raise exception using errcode = 'ME003', message = 'rows of the club name the member', detail = caller;
  end;
end
$$;
comment on function app.delete_member(uuid) is
  'Deletes a member without a login whom no row names. Waits for transactions that write such a row. Clears the titles of events about the member, and deletes the stored responses of the club, because any may contain the member. Raises the first that applies: ME001 no such member, an erased one, or the caller is not an Admin; ME002 the member has a login; ME003 a row names the member.';
grant execute on function app.delete_member(uuid) to club_api;

create or replace function app.merge_members(member_id uuid, into_id uuid) returns app.members
-- Planned for its values: a generic plan of some statements reads all signups of the club.
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  member app.members;
  target app.members;
  shift_ids uuid[];
  -- Those of the shifts of which the target has a record, or a signup.
  shared_ids uuid[];
begin
  perform from app.members as m where m.id in (merge_members.member_id, into_id) order by m.id for no key update;
  select * into member from app.members as m where m.id = merge_members.member_id and m.erased_at is null;
  if not found then
    raise exception using errcode = 'ME001', message = 'no such member in this club', detail = caller;
  end if;
  if member.external_user_id is not null then
    raise exception using errcode = 'ME002', message = 'the member has a login', detail = caller;
  end if;
  select * into target from app.members as m
  where m.id = into_id and m.id <> member.id and m.left_at is null and m.erased_at is null;
  if not found then
    raise exception using errcode = 'ME004', message = 'no other active member has the id to merge into', detail = caller;
  end if;

  shift_ids := array(
    select s.shift_id from app.shift_signups as s where s.member_id = member.id
    union select w.shift_id from app.shift_waits as w where w.member_id = member.id
    union select a.shift_id from app.attendance as a where a.member_id = member.id
  );
  perform from app.shifts as s where s.id = any (shift_ids) order by s.id for no key update;
  shared_ids := array(select a.shift_id from app.attendance as a where a.member_id = target.id and a.shift_id = any (shift_ids));
  shared_ids := array(
    select a.shift_id from app.attendance as a
    where a.member_id = member.id and a.shift_id = any (shared_ids)
    order by a.starts_at, a.shift_id
  );
  if shared_ids <> '{}' then
    raise exception using errcode = 'ME005', message = 'both members have a record of attendance of one shift',
      detail = caller || jsonb_build_object('shiftIds', shared_ids);
  end if;

  -- Only of the locked shifts. What names the member in others came meanwhile, and the deletion below fails.
  shared_ids := array(select s.shift_id from app.shift_signups as s where s.member_id = target.id and s.shift_id = any (shift_ids));
  delete from app.shift_waits as w where w.member_id = member.id and w.shift_id = any (shared_ids);
  delete from app.shift_waits as later where later.id = any (array(
    select (array_agg(w.id order by w.created_at, w.id))[2] from app.shift_waits as w
    where w.member_id in (member.id, target.id) and w.shift_id = any (shift_ids)
    group by w.shift_id having count(*) = 2
  ));
  update app.shift_waits as w set member_id = target.id where w.member_id = member.id and w.shift_id = any (shift_ids);
  delete from app.shift_signups as s where s.member_id = member.id and s.shift_id = any (shared_ids);
  -- Ends the waits of the target at these shifts: app.count_signup.
  update app.shift_signups as s set member_id = target.id where s.member_id = member.id and s.shift_id = any (shift_ids);
  update app.attendance as a set member_id = target.id where a.member_id = member.id and a.shift_id = any (shift_ids);

  update app.shift_waits as w set created_by_id = target.id where w.created_by_id = member.id;
  update app.shift_signups as s set created_by_id = target.id where s.created_by_id = member.id;
  update app.attendance as a set recorded_by_id = target.id where a.recorded_by_id = member.id;
  update app.shifts as s set created_by_id = target.id where s.created_by_id = member.id;
  update app.tasks as t
  set assignee_id = case t.assignee_id when member.id then target.id else t.assignee_id end,
      created_by_id = case t.created_by_id when member.id then target.id else t.created_by_id end
  where member.id in (t.assignee_id, t.created_by_id);

  perform app.clear_member(member.id);
  begin
    delete from app.members as m where m.id = member.id;
    if not found then
      raise exception using errcode = 'ME001', message = 'the policies let only an Admin delete the member', detail = caller;
    end if;
  -- The second since PostgreSQL 18.
  exception when foreign_key_violation or restrict_violation then
    raise exception using errcode = '40001', constraint = 'member_in_use', message = 'another row names the member', detail = caller;
  end;
  if target.reference is null and member.reference is not null then
    update app.members as m set reference = member.reference, updated_at = clock_timestamp() where m.id = target.id returning * into target;
  end if;
  return target;
end
$$;
comment on function app.merge_members(uuid, uuid) is
  'Makes what names a member without a login name another member, deletes the first, and returns the second, who gets the reference unless they have one. What moves keeps its id, its creator and the times at which it was created or recorded. Where both are signed up or wait, one of them stays: a signup rather than a wait, the signup of the second, the earlier wait. Clears the titles of events about the member, and deletes the stored responses of the club. Raises the first that applies: ME001 no such member, an erased one, or the caller is not an Admin; ME002 the member has a login; ME004 the second is unknown, the same, or has left or was erased; ME005 both have a record of attendance of one shift; TK004 or AT001 what moves has the last version there is; 40001 with the constraint member_in_use, a row was written meanwhile that names the member, which another attempt moves, or a table does that this function does not know.';
grant execute on function app.merge_members(uuid, uuid) to club_api;

set local role club_owner;
