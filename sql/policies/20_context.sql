-- Context: the caller and the club of a request.
--
-- A request is one transaction. It begins with app.enter, which sets four settings for that transaction:
-- app.tenant_id (the club), app.user_id (the token's subject), app.role (the caller's role in the club, from
-- the token) and app.member_id (the caller's row in app.members). Policies and functions read them through
-- the accessors below. The settings end with the transaction.
--
-- Every accessor raises TN001 when its setting is missing or empty. Null would hide the error: a policy that
-- compares with null returns no rows, and the result looks like an empty club.
--
-- Policies call accessors as (select app.tenant_id()): evaluated once per statement, not once per row.

create or replace function app.missing_context(setting text) returns text
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'TN001',
    message = format('%s is not set in this transaction', setting),
    hint = 'Begin with app.enter(…): see sql/README.md.';
end
$$;
comment on function app.missing_context(text) is
  'Raises TN001. The accessors call it when their setting is missing in the transaction.';

create or replace function app.tenant_id() returns uuid
language sql stable parallel safe
return coalesce(nullif(current_setting('app.tenant_id', true), ''), app.missing_context('app.tenant_id'))::uuid;
comment on function app.tenant_id() is 'The club of this transaction. Raises TN001 when it is not set.';

create or replace function app.user_id() returns text
language sql stable parallel safe
return coalesce(nullif(current_setting('app.user_id', true), ''), app.missing_context('app.user_id'));
comment on function app.user_id() is 'The subject of the caller''s token. Raises TN001 when it is not set.';

create or replace function app.role() returns app.club_role
language sql stable parallel safe
return coalesce(nullif(current_setting('app.role', true), ''), app.missing_context('app.role'))::app.club_role;
comment on function app.role() is
  'The caller''s role in the club, from the token. Roles are ordered, so policies compare with >=. Raises TN001 when it is not set.';

create or replace function app.member_id() returns uuid
language sql stable parallel safe
return coalesce(nullif(current_setting('app.member_id', true), ''), app.missing_context('app.member_id'))::uuid;
comment on function app.member_id() is 'The id of the caller''s row in app.members. Raises TN001 when it is not set.';

create or replace function app.club_ids() returns uuid[]
language sql stable parallel safe
return coalesce(nullif(current_setting('app.club_ids', true), ''), app.missing_context('app.club_ids'))::uuid[];
comment on function app.club_ids() is
  'The clubs in the caller''s token; set only in requests that belong to no single club. Raises TN001 when it is not set.';

create or replace function app.closed_club_id() returns uuid
language sql stable parallel safe
return coalesce(nullif(current_setting('app.closed_club_id', true), ''), app.missing_context('app.closed_club_id'))::uuid;
comment on function app.closed_club_id() is
  'The closed club that an operator removes in this transaction. Raises TN001 when it is not set.';

create or replace function app.event_club_id() returns uuid
language sql stable parallel safe
return coalesce(nullif(current_setting('app.event_club_id', true), ''), app.missing_context('app.event_club_id'))::uuid;
comment on function app.event_club_id() is
  'The club in which this transaction records an event; set only by the functions of club_recorder. Raises TN001 when it is not set.';

create or replace function app.link_hash() returns bytea
language sql stable parallel safe
return coalesce(nullif(current_setting('app.link_hash', true), ''), app.missing_context('app.link_hash'))::bytea;
comment on function app.link_hash() is
  'The hash of the secret of a calendar link; set only by app.read_calendar. Raises TN001 when it is not set.';

create or replace function app.shift_ids() returns uuid[]
language sql stable parallel safe
return coalesce(nullif(current_setting('app.shift_ids', true), ''), app.missing_context('app.shift_ids'))::uuid[];
comment on function app.shift_ids() is
  'The shifts of the member of a calendar link; set only by app.read_calendar. Raises TN001 when it is not set.';

-- Call it with named arguments: a further claim is then a further argument with a default, and no other call changes.
create or replace function app.enter(
  tenant_id uuid, user_id text, role app.club_role,
  display_name text default null, email text default null, issued_at timestamptz default null,
  test_member_id uuid default null
) returns table (entered_tenant_id uuid, club_exists boolean, member_id uuid, member_is_current boolean)
-- STABLE: it reads the member and the club with the snapshot of the calling statement. A VOLATILE function takes a new
-- snapshot and could return a member whose row the rest of that statement does not see yet.
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  setting text;
  has_left boolean;
  move_state text;
begin
  -- Assignments, because the order matters: the policies on the tables read below use these settings.
  setting := set_config('app.tenant_id', tenant_id::text, true);
  setting := set_config('app.user_id', user_id, true);
  setting := set_config('app.role', role::text, true);
  setting := set_config('app.member_id', '', true);

  entered_tenant_id := current_setting('app.tenant_id')::uuid;
  if test_member_id is null then
    select
      member.id, member.left_at is not null,
      coalesce(issued_at < member.token_issued_at, issued_at is null and member.token_issued_at is not null)
        or (member.display_name, member.email, member.role) is not distinct from
           (coalesce(display_name, member.display_name), coalesce(email, member.email), role::text)
    into member_id, has_left, member_is_current
    from app.members as member
    where member.external_user_id = user_id;
  else
    select member.id, member.left_at is not null, true
    into member_id, has_left, member_is_current
    from app.members as member
    where member.id = test_member_id;
  end if;

  select club.move_state into move_state from app.clubs as club where club.id = tenant_id;
  club_exists := found;
  if not club_exists then
    -- Without a club the policies raise TN001, so a later statement of the transaction reads no row of a closed club.
    setting := set_config('app.tenant_id', '', true);
  elsif move_state is not null then
    raise exception using errcode = '55006', message = 'the club moves to another database';
  elsif has_left then
    raise exception using
      errcode = 'ME006', message = 'the member has left the club', detail = jsonb_build_object('memberId', member_id);
  elsif member_id is not null then
    setting := set_config('app.member_id', member_id::text, true);
  end if;
  return next;
end
$$;
comment on function app.enter(uuid, text, app.club_role, text, text, timestamptz, uuid) is
  'Begins a request: sets the club, the caller, the role and the member of this transaction. Writes no row. Returns the club, whether it exists and is not closed, the member, and whether the member''s row matches the token. test_member_id replaces the member in test set-ups. ME006: the member has left the club. 55006: the club moves to another database.';

-- The previous release sends no subject. The default is the subject of no token, because a subject is one line.
create or replace function app.enter_directory(club_ids uuid[], user_id text default E'\n') returns text
language sql volatile
begin atomic
  select set_config('app.user_id', user_id, true);
  select set_config('app.club_ids', club_ids::text, true);
end;
comment on function app.enter_directory(uuid[], text) is
  'Begins a request that belongs to no single club: sets the clubs and the subject of the token, for app.my_clubs.';

-- RFC 9562, version 7: Unix milliseconds replace the first 48 bits of a random (version 4) UUID, and two bits change the
-- version.
create or replace function app.new_id() returns uuid
language sql volatile
return encode(
  set_bit(set_bit(
    overlay(
      uuid_send(gen_random_uuid())
      placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6
    ), 52, 1), 53, 1),
  'hex'
)::uuid;
comment on function app.new_id() is
  'A new id: a UUID of version 7, which puts new rows next to each other in the index.';

grant execute on function app.missing_context(text), app.tenant_id(), app.role(), app.member_id()
to club_api, club_signup, club_idempotency;
grant execute on function app.user_id() to club_api;
grant execute on function app.new_id() to club_api, club_signup;
grant execute on function app.missing_context(text), app.tenant_id(), app.member_id(), app.closed_club_id() to club_operator;
grant execute on function app.missing_context(text), app.club_ids(), app.user_id() to club_directory;
grant execute on function
  app.enter(uuid, text, app.club_role, text, text, timestamptz, uuid), app.enter_directory(uuid[], text)
to club_api;
