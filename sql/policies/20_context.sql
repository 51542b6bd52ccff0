-- Context: who is asking, and for which club.
--
-- A request is one transaction. It begins with app.enter, which puts four settings into that transaction:
-- app.tenant_id (the club), app.user_id (the token's subject), app.role (the caller's role in the club, from
-- the token) and app.member_id (the caller's row in app.members). Policies and functions read them through
-- the accessors below. They end with the transaction, so the next one starts with nothing.
--
-- Every accessor raises when its setting is missing or empty. Silence would be worse: a policy that compares
-- with null shows an empty club, and nobody notices that the request forgot to say who it is.
--
-- Policies call accessors as (select app.tenant_id()): evaluated once a statement, not once a row.

create or replace function app.missing_context(setting text) returns text
language plpgsql stable parallel safe set search_path = ''
as $$
begin
  raise exception using
    errcode = 'TN001',
    message = format('%s is not set in this transaction', setting),
    hint = 'Begin with app.enter(…): see sql/README.md.';
end
$$;
comment on function app.missing_context(text) is
  'Raises TN001. The accessors end here when the transaction did not say who is asking.';

create or replace function app.tenant_id() returns uuid
language sql stable parallel safe
return coalesce(nullif(current_setting('app.tenant_id', true), ''), app.missing_context('app.tenant_id'))::uuid;
comment on function app.tenant_id() is 'The club of this transaction. Raises TN001 when there is none.';

create or replace function app.user_id() returns text
language sql stable parallel safe
return coalesce(nullif(current_setting('app.user_id', true), ''), app.missing_context('app.user_id'));
comment on function app.user_id() is 'The subject of the caller''s token. Raises TN001 when there is none.';

create or replace function app.role() returns app.club_role
language sql stable parallel safe
return coalesce(nullif(current_setting('app.role', true), ''), app.missing_context('app.role'))::app.club_role;
comment on function app.role() is
  'The caller''s role in the club, as the token says. Roles are ordered, so policies compare with >=. Raises TN001 when there is none.';

create or replace function app.member_id() returns uuid
language sql stable parallel safe
return coalesce(nullif(current_setting('app.member_id', true), ''), app.missing_context('app.member_id'))::uuid;
comment on function app.member_id() is 'The caller''s row in app.members. Raises TN001 when there is none.';

create or replace function app.club_ids() returns uuid[]
language sql stable parallel safe
return coalesce(nullif(current_setting('app.club_ids', true), ''), app.missing_context('app.club_ids'))::uuid[];
comment on function app.club_ids() is
  'The clubs that the caller''s token names; set only where no single club is chosen. Raises TN001 when there is none.';

create or replace function app.closed_club_id() returns uuid
language sql stable parallel safe
return coalesce(nullif(current_setting('app.closed_club_id', true), ''), app.missing_context('app.closed_club_id'))::uuid;
comment on function app.closed_club_id() is
  'The closed club that an operator removes in this transaction. Raises TN001 when there is none.';

create or replace function app.enter(
  tenant_id uuid, user_id text, role app.club_role,
  display_name text, email text, issued_at timestamptz, test_member_id uuid default null
) returns table (entered_tenant_id uuid, club_exists boolean, member_id uuid, member_is_current boolean)
-- Stable: the members and the club are read with the snapshot of the calling statement. A volatile function takes a new
-- one, and would name a member whose row the rest of that statement cannot see yet.
language plpgsql stable set search_path = ''
as $$
#variable_conflict use_variable
declare
  setting text;
begin
  -- Assignments, because the order matters: what follows is read through policies that read these settings.
  setting := set_config('app.tenant_id', tenant_id::text, true);
  setting := set_config('app.user_id', user_id, true);
  setting := set_config('app.role', role::text, true);
  setting := set_config('app.member_id', '', true);

  entered_tenant_id := current_setting('app.tenant_id')::uuid;
  if test_member_id is null then
    select
      member.id,
      coalesce(issued_at < member.token_issued_at, issued_at is null and member.token_issued_at is not null)
        or (member.display_name, member.email, member.role) is not distinct from
           (coalesce(display_name, member.display_name), coalesce(email, member.email), role::text)
    into member_id, member_is_current
    from app.members as member
    where member.external_user_id = user_id;
  else
    select member.id, true
    into member_id, member_is_current
    from app.members as member
    where member.id = test_member_id;
  end if;

  club_exists := exists (select from app.clubs as club where club.id = tenant_id);
  if not club_exists then
    -- Nothing of a closed club is to be had, whatever statement follows.
    setting := set_config('app.tenant_id', '', true);
  elsif member_id is not null then
    setting := set_config('app.member_id', member_id::text, true);
  end if;
  return next;
end
$$;
comment on function app.enter(uuid, text, app.club_role, text, text, timestamptz, uuid) is
  'Begins a request: sets the club, the caller, the role and the member of this transaction, and writes nothing. Answers with the club it entered, whether that exists and is not closed, the member, and whether the member''s row says what the token says. test_member_id stands in for the member in test set-ups.';

create or replace function app.enter_directory(club_ids uuid[]) returns text
language sql volatile
return set_config('app.club_ids', club_ids::text, true);
comment on function app.enter_directory(uuid[]) is
  'Begins a request that belongs to no single club: sets the clubs that the token names, for app.my_clubs.';

-- RFC 9562, version 7: 48 bits of Unix milliseconds over a random (version 4) UUID, then the version's bits.
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
  'A new id: a UUID of version 7, so that rows made one after another lie side by side in the index.';

grant execute on function
  app.missing_context(text), app.tenant_id(), app.user_id(), app.role(), app.member_id(), app.new_id()
to club_api, club_signup, club_idempotency;
grant execute on function app.missing_context(text), app.tenant_id(), app.member_id(), app.closed_club_id(), app.new_id()
to club_operator;
grant execute on function app.missing_context(text), app.club_ids() to club_directory;
grant execute on function
  app.enter(uuid, text, app.club_role, text, text, timestamptz, uuid), app.enter_directory(uuid[])
to club_api;
