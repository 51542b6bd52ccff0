-- Deletions and merges: members without a login who go.
--
-- app.delete_member belongs to club_secretary. What a member is named by keeps them: the foreign keys to app.members decide, so
-- a table that comes later needs no line here.

grant delete on app.members to club_secretary;
grant select (member_id, subject_title), update (subject_title) on app.events to club_secretary;
-- Locks of rows need a privilege to update. The policy allows no change.
grant select (member_id, key, status), update (status), delete on app.idempotency_keys to club_secretary;

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

create policy idempotency_keys_secretary_lock on app.idempotency_keys for update to club_secretary
  using ((select app.role()) >= 'Admin') with check (false);
comment on policy idempotency_keys_secretary_lock on app.idempotency_keys is 'Admins who delete a member lock the stored responses, to leave out those that a request holds.';

create policy idempotency_keys_secretary_delete on app.idempotency_keys for delete to club_secretary
  using ((select app.role()) >= 'Admin');
comment on policy idempotency_keys_secretary_delete on app.idempotency_keys is 'Admins who delete a member delete the stored responses of the club.';

create or replace function app.clear_member(member_id uuid) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  update app.events as event set subject_title = null
  where event.member_id = clear_member.member_id and event.subject_title is not null;
  -- The request that runs has claimed its own key and has no status yet; those that others hold are left to them: two would wait for
  -- each other.
  delete from app.idempotency_keys as stored
  where (stored.member_id, stored.key) in (
    select response.member_id, response.key from app.idempotency_keys as response
    where response.status is not null
    order by response.member_id, response.key
    for update skip locked
  );
end
$$;
comment on function app.clear_member(uuid) is
  'Clears the titles of events about a member, and deletes the stored responses of the club that no request holds.';
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
  begin
    delete from app.members as m where m.id = member.id;
  -- The second since PostgreSQL 18.
  exception when foreign_key_violation or restrict_violation then
    raise exception using errcode = 'ME003', message = 'rows of the club name the member', detail = caller;
  end;
  perform app.clear_member(member.id);
end
$$;
comment on function app.delete_member(uuid) is
  'Deletes a member without a login whom no row names. Waits for transactions that write such a row. Clears the titles of events about the member, and deletes the stored responses of the club, because any may contain the member. Raises the first that applies: ME001 no such member, or an erased one; ME002 the member has a login; ME003 a row names the member.';
grant execute on function app.delete_member(uuid) to club_api;

set local role club_owner;
