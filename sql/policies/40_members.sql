-- Members: people in a club.
--
-- A user's first request in a club creates the member. Only that user writes the name,
-- e-mail address and role of the row: app.sync_member does, from the token of this request.
--
-- Managers enter members without a login: rows without a subject, which no token can have. app.patch_member belongs to club_secretary. It
-- changes the name and the e-mail address of members without a login, and the reference of any member.
--
-- Every role in the club reads names, because a Viewer sees who signed up for a shift; the service shows
-- e-mail addresses and subjects only to the member and to higher roles.

comment on table app.members is 'People in a club: one row per club and subject of the identity provider, and those without a login.';
comment on column app.members.external_user_id is 'The token''s sub; null in a member without a login and in an erased one. Never used to link rows; members.id is.';
comment on column app.members.reference is 'The club''s own name for the member, such as a membership number; unique in the club. An import finds members by it.';
comment on column app.members.left_at is 'Since when the member has left the club; null in all others.';
comment on column app.members.erased_at is 'When app.erase_member removed the personal data of the row; null in all others.';
comment on column app.members.role is 'The role in the last token; Member without a login. For display only: a request uses the role in its token.';
comment on column app.members.token_issued_at is 'The iat of the token that last changed this row; an older token changes nothing.';

alter table app.members alter column tenant_id set default app.tenant_id();
alter table app.members alter column id set default app.new_id();

grant select on app.members to club_api;
grant insert (external_user_id, display_name, email, role, token_issued_at, reference) on app.members to club_api;
grant update (display_name, email, role, token_issued_at, updated_at) on app.members to club_api;

grant select (id, erased_at), delete on app.members to club_operator;
grant update (external_user_id, display_name, email, token_issued_at, reference, left_at, erased_at, updated_at) on app.members to club_operator;

grant select (tenant_id, external_user_id, left_at) on app.members to club_directory;

grant execute on function app.missing_context(text), app.tenant_id(), app.role(), app.member_id() to club_secretary;
grant select on app.members to club_secretary;
grant update (display_name, email, reference, updated_at) on app.members to club_secretary;

alter table app.members enable row level security, force row level security;

create policy members_floor on app.members as restrictive for all to club_api, club_signup, club_roster, club_places, club_secretary, club_membership, club_copy, club_operator, club_export, club_import
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy members_floor on app.members is 'Only members of the club of this transaction are visible and writable.';

create policy members_directory_floor on app.members as restrictive for all to club_directory
  using (external_user_id = (select app.user_id()) and tenant_id = any ((select app.club_ids())::uuid[])) with check (false);
comment on policy members_directory_floor on app.members is 'The directory reads the caller''s own memberships in the clubs of their token and writes nothing.';

create policy members_read on app.members for select to club_api
  using ((select app.role()) >= 'Viewer');
comment on policy members_read on app.members is 'Every role in the club reads its members: a Viewer reads the names of a shift''s signups.';

create policy members_directory on app.members for select to club_directory
  using (external_user_id = (select app.user_id()));
comment on policy members_directory on app.members is 'A caller reads which clubs they have left.';

create policy members_join on app.members for insert to club_api
  with check (external_user_id = (select app.user_id()) and role = (select app.role())::text and reference is null);
comment on policy members_join on app.members is 'A caller creates their own member row, with the role of their token.';

create policy members_enter on app.members for insert to club_api
  with check (external_user_id is null and (select app.role()) >= 'Manager');
comment on policy members_enter on app.members is 'Managers and higher roles enter members without a login.';

create policy members_refresh on app.members for update to club_api
  using (external_user_id = (select app.user_id()))
  with check (external_user_id = (select app.user_id()) and role = (select app.role())::text);
comment on policy members_refresh on app.members is 'A caller updates their own member row, with the role of their token.';

create policy members_secretary_read on app.members for select to club_secretary
  using ((select app.role()) >= 'Manager');
comment on policy members_secretary_read on app.members is 'Managers and higher roles find the member whom they change.';

create policy members_secretary_edit on app.members for update to club_secretary
  using (erased_at is null and (select app.role()) >= 'Manager')
  with check (erased_at is null and (select app.role()) >= 'Manager');
comment on policy members_secretary_edit on app.members is 'Managers and higher roles change members by the functions of club_secretary, and no erased one.';

create policy members_erase_find on app.members for select to club_operator
  using (id = (select app.member_id()));
comment on policy members_erase_find on app.members is 'An operator reads the one member to erase.';

create policy members_erase on app.members for update to club_operator
  using (id = (select app.member_id())) with check (id = (select app.member_id()));
comment on policy members_erase on app.members is 'An operator erases the one member of this context.';

create policy members_forget on app.members for delete to club_operator
  using (tenant_id = (select app.closed_club_id()));
comment on policy members_forget on app.members is 'An operator removes the members of a closed club.';

create trigger members_record after insert or update or delete on app.members
  for each row when (current_user <> 'club_import') execute function app.record_event('member', 'role, left_at', 'display_name, email, reference', 'id');
comment on trigger members_record on app.members is 'Records member.created, member.changed, member.erased and member.deleted.';

create or replace function app.sync_member(display_name text, email text, issued_at timestamptz) returns uuid
language sql volatile set search_path = pg_catalog, pg_temp
as $$
  insert into app.members as member (external_user_id, display_name, email, role, token_issued_at)
  values (app.user_id(), coalesce(sync_member.display_name, left(split_part(sync_member.email, '@', 1), 200), 'Member'), sync_member.email, app.role()::text, sync_member.issued_at)
  on conflict (tenant_id, external_user_id) do update
    set display_name = coalesce(sync_member.display_name, member.display_name),
        email = coalesce(sync_member.email, member.email),
        role = excluded.role,
        token_issued_at = excluded.token_issued_at,
        updated_at = clock_timestamp()
    where member.token_issued_at is null or excluded.token_issued_at >= member.token_issued_at
  returning member.id
$$;
comment on function app.sync_member(text, text, timestamptz) is
  'Creates the caller''s own member row, or updates it unless the token is older than the one that last changed it. A claim that the token lacks (null) leaves the column as it is. A new member without a name gets the local part of the e-mail address, else Member.';
grant execute on function app.sync_member(text, text, timestamptz) to club_api;

create or replace function app.import_members(members jsonb) returns setof app.members
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  wanted constant text[] := array(
    select given.member ->> 'reference' from jsonb_array_elements(members) with ordinality as given (member, place) order by given.place);
  returned bigint;
begin
  -- In one order, so that two imports cannot deadlock.
  insert into app.members (external_user_id, display_name, email, role, reference)
  select null, given.display_name, given.email, 'Member', given.reference
  from jsonb_to_recordset(members) as given (display_name text, email text, reference text)
  order by given.reference
  on conflict (tenant_id, reference) where reference is not null do nothing;
  -- Another statement, which also sees the members of an import that this one has waited for.
  return query
    select member.*
    from unnest(wanted) with ordinality as given (reference, place)
    -- With a limit, which lets every plan look each reference up.
    cross join lateral (select * from app.members as m where m.reference = given.reference limit 1) as member
    order by given.place;
  get diagnostics returned = row_count;
  if returned < cardinality(wanted) then
    raise exception using errcode = '40001', message = 'a member was deleted meanwhile';
  end if;
end
$$;
comment on function app.import_members(jsonb) is
  'Enters members without a login who have the display_name, email and reference of an array of objects, each with another reference, and returns them in its order. A member with the reference, if there is one, is returned unchanged. 40001: such a member was deleted meanwhile.';
grant execute on function app.import_members(jsonb) to club_api;

set local role club_secretary;

create or replace function app.patch_member(member_id uuid, patch jsonb) returns app.members
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  member app.members;
  patched app.members;
begin
  select * into member from app.members as m where m.id = patch_member.member_id and m.erased_at is null for no key update;
  if not found then
    raise exception using errcode = 'ME001', message = 'no such member in this club', detail = caller;
  end if;
  if member.external_user_id is not null and patch ?| array['display_name', 'email'] then
    raise exception using errcode = 'ME002', message = 'the token says the name and the e-mail address of the member', detail = caller;
  end if;
  patched := jsonb_populate_record(member, patch);
  if patched is distinct from member then
    update app.members as m
    set display_name = patched.display_name, email = patched.email, reference = patched.reference, updated_at = clock_timestamp()
    where m.id = member.id
    returning * into member;
  end if;
  return member;
end
$$;
comment on function app.patch_member(uuid, jsonb) is
  'Changes a member by a JSON Merge Patch (RFC 7396), and returns the member. The names of the patch are display_name, email and reference; others are ignored. Raises the first that applies: ME001 no such member, or an erased one; ME002 display_name or email is in the patch and the member has a login.';
grant execute on function app.patch_member(uuid, jsonb) to club_api;

set local role club_operator;

create or replace function app.erase_member(club_id uuid, member_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(club_id);
begin
  -- First, because a change of waits locks the shift before all else.
  perform app.withdraw_waits(member_id);
  -- A key for a response and a calendar link hold FOR KEY SHARE on this row, and app.record_event shares the lock: this waits for the
  -- transactions that have written them, then blocks others until the end. A title or a response may contain the member.
  perform from app.clubs as club where club.id = club_id for update;
  perform pg_advisory_xact_lock(uuid_hash_extended(club_id, 0));
  -- Before the member is in the context: an operator is the actor of no event.
  delete from app.attendance as attendance
  where attendance.member_id = erase_member.member_id and attendance.status <> 'Attended';
  delete from app.calendar_links as link where link.member_id = erase_member.member_id;
  perform set_config('app.member_id', member_id::text, true);
  update app.members as member
  set external_user_id = null, display_name = 'Former member', email = null, reference = null, left_at = null,
      token_issued_at = null, erased_at = coalesce(member.erased_at, clock_timestamp()), updated_at = clock_timestamp()
  where member.id = erase_member.member_id;
  if not found then
    raise exception using errcode = 'ME001', message = format('club %s has no member %s', club_id, member_id);
  end if;
  if exists (select from app.shift_waits as wait where wait.member_id = erase_member.member_id) then
    raise exception using errcode = '40001', message = 'the member began to wait meanwhile', hint = 'Call it again.';
  end if;
  delete from app.idempotency_keys;
  update app.events as event
  set subject_title = null
  where event.subject_title is not null and (event.actor_id = erase_member.member_id or event.member_id = erase_member.member_id);
  perform app.leave_as_operator(context);
end
$$;
comment on function app.erase_member(uuid, uuid) is
  'Removes the personal data from a member''s row, the subject of their token included: if they log in again, they are a new member. Their tasks, shifts, signups and what they attended stay, with a former member; other records of attendance are deleted, their waits, and the link to their calendar. Clears the titles of tasks and shifts that they deleted or that were about them. Deletes the stored responses of the whole club, because any may contain the member: a request that is sent again with its key after this runs again. Waits for transactions that have written rows of the club. Writes overtake it until it has its lock, and wait afterwards. For operators. CL002: no such club; ME001: no such member; 55006: the club moves or has moved to another database; 40001 and 40P01: a request is in the way, call it again.';
grant execute on function app.erase_member(uuid, uuid) to club_owner;

set local role club_owner;
