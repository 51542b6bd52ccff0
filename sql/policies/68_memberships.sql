-- Memberships: who has left the club.
--
-- app.enter refuses who has left (20_context.sql): from the COMMIT on that ends a membership, no token gives its member a role in the club.
-- Requests under way finish. app.set_membership waits for those that have written a row of the member. Those that write a row later
-- look for the member again, and are refused (app.recheck_member, app.require_member, and requireMember of calendar links).
--
-- app.set_membership belongs to club_membership: no policy of club_api lets an Admin change the row, the signups and the waits of another
-- member, and those of club_secretary let Managers pass.

grant execute on function app.missing_context(text), app.tenant_id(), app.role(), app.member_id() to club_membership;
grant select on app.members to club_membership;
grant update (left_at, updated_at) on app.members to club_membership;
grant select (tenant_id, id, starts_at) on app.shifts to club_membership;
-- Locks of rows need a privilege to update. The policy allows no change.
grant update (signup_count) on app.shifts to club_membership;
grant select (shift_id, member_id), delete on app.shift_signups to club_membership;
grant select (shift_id, member_id), delete on app.shift_waits to club_membership;
grant select (member_id), delete on app.calendar_links to club_membership;

create policy members_membership_read on app.members for select to club_membership
  using ((select app.role()) >= 'Admin');
comment on policy members_membership_read on app.members is 'Admins find the member whose membership they end or renew.';

create policy members_membership_edit on app.members for update to club_membership
  using (erased_at is null and (select app.role()) >= 'Admin')
  with check (erased_at is null and (select app.role()) >= 'Admin');
comment on policy members_membership_edit on app.members is 'Admins end and renew the membership of any member, and of no erased one.';

create policy shifts_membership_read on app.shifts for select to club_membership
  using ((select app.role()) >= 'Admin');
comment on policy shifts_membership_read on app.shifts is 'Admins who end a membership find the shifts that have not started.';

create policy shifts_membership_lock on app.shifts for update to club_membership
  using ((select app.role()) >= 'Admin') with check (false);
comment on policy shifts_membership_lock on app.shifts is 'Admins who end a membership lock the shifts of the member; a trigger counts.';

create policy shift_signups_membership_read on app.shift_signups for select to club_membership
  using ((select app.role()) >= 'Admin');
comment on policy shift_signups_membership_read on app.shift_signups is 'Admins who end a membership find the signups of the member.';

create policy shift_signups_membership_end on app.shift_signups for delete to club_membership
  using ((select app.role()) >= 'Admin');
comment on policy shift_signups_membership_end on app.shift_signups is 'Admins who end a membership cancel the signups of the member.';

create policy shift_waits_membership_read on app.shift_waits for select to club_membership
  using ((select app.role()) >= 'Admin');
comment on policy shift_waits_membership_read on app.shift_waits is 'Admins who end a membership find the waits of the member.';

create policy shift_waits_membership_end on app.shift_waits for delete to club_membership
  using ((select app.role()) >= 'Admin');
comment on policy shift_waits_membership_end on app.shift_waits is 'Admins who end a membership end the waits of the member.';

create policy calendar_links_membership_read on app.calendar_links for select to club_membership
  using ((select app.role()) >= 'Admin');
comment on policy calendar_links_membership_read on app.calendar_links is 'Admins who end a membership find the calendar link of the member.';

create policy calendar_links_membership_end on app.calendar_links for delete to club_membership
  using ((select app.role()) >= 'Admin');
comment on policy calendar_links_membership_end on app.calendar_links is 'Admins who end a membership delete the calendar link of the member.';

create or replace function app.shifts_to_come(member_id uuid) returns uuid[]
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  shift_ids constant uuid[] := array(
    select signup.shift_id from app.shift_signups as signup where signup.member_id = shifts_to_come.member_id
    union
    select wait.shift_id from app.shift_waits as wait where wait.member_id = shifts_to_come.member_id
  );
begin
  return array(select s.id from app.shifts as s where s.id = any (shift_ids) and s.starts_at > clock_timestamp());
end
$$;
comment on function app.shifts_to_come(uuid) is 'The shifts that have not started and in which a member has a signup or a wait.';
grant execute on function app.shifts_to_come(uuid) to club_membership;

set local role club_membership;

create or replace function app.set_membership(member_id uuid, status text) returns app.members
-- Planned for its values, as app.merge_members.
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  leaves constant boolean := status = 'Left';
  member app.members;
  at timestamptz;
  shift_ids uuid[];
begin
  -- One change of a membership at a time, and no erasure beside it.
  select * into member from app.members as m where m.id = set_membership.member_id and m.erased_at is null for no key update;
  if not found then
    raise exception using errcode = 'ME001', message = 'no such member in this club', detail = caller;
  end if;
  if member.id = app.member_id() then
    raise exception using errcode = 'ME007', message = 'the member is the caller', detail = caller;
  end if;
  if leaves = (member.left_at is not null) then
    return member;
  end if;
  if leaves then
    -- The shifts first, see 61_signups.sql.
    shift_ids := app.shifts_to_come(member.id);
    perform from app.shifts as s where s.id = any (shift_ids) order by s.id for no key update;
    -- Waits for the requests that have written a row of the member, and lets no other write one until the end. What they have written is
    -- deleted below.
    perform from app.members as m where m.id = member.id for update;
  end if;

  at := clock_timestamp();
  update app.members as m
  set left_at = case when leaves then at end, updated_at = at
  where m.id = member.id
  returning * into member;
  if leaves then
    shift_ids := app.shifts_to_come(member.id);
    delete from app.shift_waits as wait where wait.member_id = member.id and wait.shift_id = any (shift_ids);
    delete from app.shift_signups as signup where signup.member_id = member.id and signup.shift_id = any (shift_ids);
    delete from app.calendar_links as link where link.member_id = member.id;
  end if;
  return member;
end
$$;
comment on function app.set_membership(uuid, text) is
  'Ends the membership of a member, if the status is Left, and otherwise renews it, and returns the member; the same status changes nothing. The end deletes the waits and signups of the member at shifts that have not started, and their calendar link. Raises the first that applies: ME001 no such member, or an erased one; ME007 the member is the caller. 40P01: a request that has claimed a key waits for one of these shifts.';
grant execute on function app.set_membership(uuid, text) to club_api;

set local role club_owner;
