-- Idempotency: the stored response for a request that is sent again.
--
-- A client whose connection breaks cannot know whether its request was processed. With a key it sends the request again
-- and gets the first response. Key and response are written in the transaction of the request: both are stored or neither.
-- A second request with the same key waits in app.claim_key for the first to end.
--
-- club_api has no privilege on the table. It calls two functions of club_idempotency, which read and write only keys of the
-- caller. Every service process deletes expired responses of all clubs with a function of club_expiry. The floor of that role
-- compares only their age.

comment on table app.idempotency_keys is 'Stored responses of requests with an Idempotency-Key, for 24 hours.';
comment on column app.idempotency_keys.request is 'SHA-256 of the request. The same key for another request is an error.';
comment on column app.idempotency_keys.body is 'The body of the response, as it was sent. Deleted when a member of the club is erased, deleted or merged, because it may contain the member.';

alter table app.idempotency_keys alter column tenant_id set default app.tenant_id();
alter table app.idempotency_keys alter column member_id set default app.member_id();

grant select, delete on app.idempotency_keys to club_idempotency;
grant insert (key, request, created_at) on app.idempotency_keys to club_idempotency;
grant update (status, location, etag, body) on app.idempotency_keys to club_idempotency;
grant delete on app.idempotency_keys to club_operator;
grant select, delete on app.idempotency_keys to club_expiry;
-- FOR UPDATE needs this privilege. The policy allows no update.
grant update (status) on app.idempotency_keys to club_expiry;

alter table app.idempotency_keys enable row level security, force row level security;

create policy idempotency_keys_floor on app.idempotency_keys as restrictive for all to club_api, club_idempotency, club_copy, club_secretary, club_operator, club_export, club_import
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy idempotency_keys_floor on app.idempotency_keys is 'Only keys of the club of this transaction are visible and writable.';

create policy idempotency_keys_expiry_floor on app.idempotency_keys as restrictive for all to club_expiry
  using (created_at < now() - interval '24 hours') with check (false);
comment on policy idempotency_keys_expiry_floor on app.idempotency_keys is 'Only stored responses that are older than 24 hours are visible, of all clubs; none is writable.';

create policy idempotency_keys_expire on app.idempotency_keys for all to club_expiry
  using (created_at < now() - interval '24 hours') with check (false);
comment on policy idempotency_keys_expire on app.idempotency_keys is 'Expired responses are read, locked and deleted.';

create policy idempotency_keys_read on app.idempotency_keys for select to club_idempotency
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy idempotency_keys_read on app.idempotency_keys is 'A caller reads their own keys.';

create policy idempotency_keys_claim on app.idempotency_keys for insert to club_idempotency
  with check (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy idempotency_keys_claim on app.idempotency_keys is 'A caller reserves their own keys.';

create policy idempotency_keys_keep on app.idempotency_keys for update to club_idempotency
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Member')
  with check (member_id = (select app.member_id()));
comment on policy idempotency_keys_keep on app.idempotency_keys is 'A caller stores the responses of their own requests.';

create policy idempotency_keys_clear on app.idempotency_keys for delete to club_idempotency
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy idempotency_keys_clear on app.idempotency_keys is 'A caller deletes their own key; app.claim_key does so when it has expired.';

create policy idempotency_keys_erase on app.idempotency_keys for delete to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy idempotency_keys_erase on app.idempotency_keys is 'An operator who erases a member deletes the stored responses of the club, because any may contain the member. So does the removal of a closed club.';

set local role club_idempotency;

create or replace function app.claim_key(key text, request bytea)
returns table (status smallint, location text, etag text, body text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  caller_id constant uuid := app.member_id();
  caller constant jsonb := jsonb_build_object('memberId', caller_id);
  known app.idempotency_keys;
begin
  delete from app.idempotency_keys as old
  where old.member_id = caller_id and old.key = claim_key.key
    and old.created_at < clock_timestamp() - interval '24 hours';
  loop
    begin
      insert into app.idempotency_keys (key, request, created_at)
      values (claim_key.key, claim_key.request, clock_timestamp())
      on conflict do nothing;
    exception when lock_not_available then
      raise exception using
        errcode = '55P03', constraint = 'idempotency_key_in_use',
        message = 'a request with the key is still running', detail = caller;
    end;
    if found then
      return;
    end if;
    -- The lock makes COMMIT wait until a synchronous standby has the stored response.
    select * into known from app.idempotency_keys as k where k.member_id = caller_id and k.key = claim_key.key
    for key share;
    -- An expired key may be deleted between the two statements. Then it is inserted again.
    exit when found;
  end loop;
  if known.request <> claim_key.request then
    raise exception using errcode = 'ID001', message = 'the key belongs to another request', detail = caller;
  end if;
  return query select known.status, known.location, known.etag, known.body;
end
$$;
comment on function app.claim_key(text, bytea) is
  'Reserves the key for this request. No row: the request is new; store its response with app.keep_answer. One row: the stored response. Waits while another transaction holds the key. ID001: the key belongs to another request. 55P03 with the constraint idempotency_key_in_use: lock_timeout ended the wait.';
grant execute on function app.claim_key(text, bytea) to club_api;

create or replace function app.keep_answer(key text, status smallint, location text, etag text, body text) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $$
  update app.idempotency_keys as own
  set status = keep_answer.status, location = keep_answer.location, etag = keep_answer.etag, body = keep_answer.body
  where own.member_id = app.member_id() and own.key = keep_answer.key and own.status is null
$$;
comment on function app.keep_answer(text, smallint, text, text, text) is 'Stores the response of the request that reserved the key, in its transaction. A stored response is not replaced.';
grant execute on function app.keep_answer(text, smallint, text, text, text) to club_api;

set local role club_owner;

create or replace function app.sign_up_once(key text, request bytea, location text, shift_id uuid)
returns table (is_replay boolean, status smallint, location_of_signup text, etag text, body text)
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
begin
  select true, known.* into is_replay, status, location_of_signup, etag, body from app.claim_key(key, request) as known;
  if found then
    return next;
    return;
  end if;
  is_replay := false;
  status := 201;
  location_of_signup := location;
  select row_to_json(result) into body
  from (
    select
      signup.id, signup.shift_id as "shiftId", signup.member_id as "memberId", member.display_name as "memberName",
      signup.created_by_id as "createdById", replace(to_json(signup.created_at) #>> '{}', '+00:00', 'Z') as "createdAt",
      signup.promoted_at as "promotedAt"
    from app.sign_up(shift_id) as signup
    join app.members as member on member.id = signup.member_id
  ) as result;
  perform app.keep_answer(key, status, location, etag, body);
  return next;
end
$$;
comment on function app.sign_up_once(text, bytea, text, uuid) is
  'Signs the caller up once for the key: claims it, signs up, and stores the response, which a later call returns. Raises what app.claim_key and app.sign_up raise.';
grant execute on function app.sign_up_once(text, bytea, text, uuid) to club_api;

set local role club_expiry;

create or replace function app.delete_expired_answers(out deleted integer, out kept_bytes bigint)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- The policy selects the rows that are older than 24 hours, of all clubs. By their places, because a join by key
  -- can read all of them.
  delete from app.idempotency_keys as old
  where old.ctid = any (array(
    select expired.ctid
    from app.idempotency_keys as expired
    order by expired.created_at
    limit 1000
    for update skip locked
  ));
  get diagnostics deleted = row_count;
  kept_bytes := pg_total_relation_size('app.idempotency_keys');
end
$$;
comment on function app.delete_expired_answers() is
  'Deletes up to 1000 stored responses of all clubs that are older than 24 hours, and skips rows that others have locked. Returns their number, and the size of the table with its indexes in bytes.';
grant execute on function app.delete_expired_answers() to club_api;

set local role club_owner;
