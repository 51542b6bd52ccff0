-- Clubs: the tenants.
--
-- The key of a club is its id, so its floor compares id; every other table compares tenant_id.
-- A request reads only its own club. app.my_clubs lists the clubs of a token before the caller chooses one, without those that
-- the caller has left; its role, club_directory, sees exactly the clubs of the token and the caller's memberships in them. An
-- operator creates clubs with app.provision_club and finds their ids with app.list_clubs; HTTP has no such operation.

comment on schema app is 'The Club Management Service: tables under row-level security, and the functions of requests.';
comment on type app.club_role is 'The roles of a caller in a club, in order: Viewer < Member < Manager < Admin.';
comment on table app.clubs is 'Clubs. Each club is a tenant.';
comment on column app.clubs.closed_at is 'When the club was closed. Its rows stay; no request sees them.';

grant select on app.clubs to club_api;
grant select on app.clubs to club_directory;
grant select (id, name, slug, closed_at) on app.clubs to club_registry;
grant select (id, closed_at), delete on app.clubs to club_operator;
grant insert (id, name, slug, time_zone) on app.clubs to club_operator;
grant update (name, slug, closed_at) on app.clubs to club_operator;

alter table app.clubs enable row level security, force row level security;

create policy clubs_floor on app.clubs as restrictive for all to club_api, club_operator, club_calendar, club_export, club_import
  using (id = (select app.tenant_id())) with check (id = (select app.tenant_id()));
comment on policy clubs_floor on app.clubs is 'Only the club of this transaction is visible and writable.';

create policy clubs_directory_floor on app.clubs as restrictive for all to club_directory
  using (id = any ((select app.club_ids())::uuid[])) with check (false);
comment on policy clubs_directory_floor on app.clubs is 'The directory reads the clubs of the caller''s token and writes nothing.';

create policy clubs_registry_floor on app.clubs as restrictive for all to club_registry
  using (true) with check (false);
comment on policy clubs_registry_floor on app.clubs is 'The registry reads every club and writes none. Only operators may call its function.';

create policy clubs_read on app.clubs for select to club_api
  using (closed_at is null and (select app.role()) >= 'Viewer');
comment on policy clubs_read on app.clubs is 'Every role in the club reads it until it is closed.';

create policy clubs_list on app.clubs for select to club_directory
  using (closed_at is null and id = any ((select app.club_ids())::uuid[]));
comment on policy clubs_list on app.clubs is 'A caller lists the clubs of the token before choosing one.';

create policy clubs_register on app.clubs for select to club_registry
  using (true);
comment on policy clubs_register on app.clubs is 'An operator lists the clubs, closed or not, to find the id of one.';

create policy clubs_provision on app.clubs for insert to club_operator
  with check (id = (select app.tenant_id()));
comment on policy clubs_provision on app.clubs is 'An operator creates a club in the context of its new id.';

create policy clubs_find on app.clubs for select to club_operator
  using (id = (select app.tenant_id()));
comment on policy clubs_find on app.clubs is 'An operator reads the club to change, closed or not.';

create policy clubs_change on app.clubs for update to club_operator
  using (id = (select app.tenant_id())) with check (id = (select app.tenant_id()));
comment on policy clubs_change on app.clubs is 'An operator renames, closes and reopens a club in the context of that club.';

create policy clubs_forget on app.clubs for delete to club_operator
  using (id = (select app.closed_club_id()));
comment on policy clubs_forget on app.clubs is 'An operator removes a closed club, after all its other rows.';

create trigger clubs_record after update on app.clubs
  for each row execute function app.record_event('club', 'slug, time_zone', 'name');
comment on trigger clubs_record on app.clubs is 'Records club.changed.';

create or replace function app.club_tables() returns table (relation regclass, distance integer)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  with recursive referring (relid, distance) as (
    select 'app.clubs'::regclass::oid, 0
    union
    select key.conrelid, referring.distance + 1
    from referring join pg_constraint as key on key.confrelid = referring.relid and key.contype = 'f'
    where key.conrelid <> key.confrelid and referring.distance < 20
  )
  select referring.relid::regclass, max(referring.distance) from referring group by referring.relid
$$;
comment on function app.club_tables() is
  'app.clubs and every table with a foreign key to it, direct or through others, and the greatest number of foreign keys between them.';
grant execute on function app.club_tables() to club_operator;

set local role club_directory;

create or replace function app.my_clubs()
returns table (id uuid, name text, slug text, time_zone text, created_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select club.id, club.name, club.slug, club.time_zone, club.created_at
  from app.clubs as club
  -- A club that has moved is listed by the database that it moved to. The policies select the caller's memberships.
  where club.move_state is distinct from 'moved'
    and not exists (select from app.members as member where member.tenant_id = club.id and member.left_at is not null)
  order by club.name, club.id
$$;
comment on function app.my_clubs() is 'The existing clubs of the caller''s token that the caller has not left, ordered by name, without those that have moved to another database.';
grant execute on function app.my_clubs() to club_api;

set local role club_registry;

create or replace function app.list_clubs()
returns table (id uuid, name text, slug text, closed_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select club.id, club.name, club.slug, club.closed_at
  from app.clubs as club
  order by club.slug
$$;
comment on function app.list_clubs() is 'All clubs, closed or not, ordered by slug. For operators.';
grant execute on function app.list_clubs() to club_owner;

set local role club_operator;

create or replace function app.provision_club(name text, slug text, time_zone text default 'UTC', id uuid default app.new_id())
returns uuid
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant text := coalesce(current_setting('app.tenant_id', true), '');
begin
  if not exists (
    select from pg_catalog.pg_timezone_names as zone
    where zone.name = provision_club.time_zone and (zone.name ~ '^[A-Z][A-Za-z_]+/' or zone.name = 'UTC')
  ) then
    raise exception using
      errcode = 'CL001',
      message = format('%L is not a time zone', time_zone),
      hint = 'Name one of the IANA database, such as Europe/Berlin.';
  end if;
  perform set_config('app.tenant_id', provision_club.id::text, true);
  insert into app.clubs (id, name, slug, time_zone)
  values (provision_club.id, btrim(provision_club.name), provision_club.slug, provision_club.time_zone);
  perform set_config('app.tenant_id', context, true);
  return provision_club.id;
end
$$;
comment on function app.provision_club(text, text, text, uuid) is
  'Creates a club and returns its id. For operators. The optional fourth argument is the id, when it is already known. CL001: no such time zone.';
grant execute on function app.provision_club(text, text, text, uuid) to club_owner;

create or replace function app.lock_club(club_id uuid) returns jsonb
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := (
    select jsonb_object_agg(setting, coalesce(current_setting(setting, true), ''))
    from unnest(array['app.tenant_id', 'app.member_id', 'app.role', 'app.closed_club_id']) as setting
  );
begin
  perform set_config('app.tenant_id', club_id::text, true);
  -- What an operator does has no actor in app.events.
  perform set_config('app.member_id', '', true);
  perform from app.clubs as club where club.id = club_id for no key update;
  if not found then
    raise exception using errcode = 'CL002', message = format('there is no club %s', club_id);
  end if;
  return context;
end
$$;
comment on function app.lock_club(uuid) is
  'Sets the context of a club, closed or not, without a member, for an operator, and locks its row: another function for operators waits until the transaction ends, a request does not. Returns the previous context, for app.leave_as_operator. CL002: no such club.';

create or replace function app.enter_as_operator(club_id uuid, move_id uuid default null) returns jsonb
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.lock_club(club_id);
  current_move constant uuid := (select club.move_id from app.clubs as club where club.id = club_id);
begin
  if move_id is null and current_move is not null then
    raise exception using errcode = '55006', message = format('the club %s moves, or has moved, to another database', club_id);
  elsif current_move is distinct from move_id then
    raise exception using errcode = 'CL005', message = format('the club %s does not move with the move %s', club_id, move_id);
  end if;
  return context;
end
$$;
comment on function app.enter_as_operator(uuid, uuid) is
  'As app.lock_club, for a club that is in this move, or in none. CL002: no such club; 55006: it moves to another database; CL005: it is not in this move.';

create or replace function app.leave_as_operator(context jsonb) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config(setting.name, setting.value, true) from jsonb_each_text(context) as setting (name, value);
end
$$;
comment on function app.leave_as_operator(jsonb) is 'Restores the context that app.enter_as_operator returned.';

create or replace function app.rename_club(id uuid, name text, slug text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(id);
begin
  update app.clubs as club
  set name = btrim(rename_club.name), slug = rename_club.slug
  where club.id = rename_club.id;
  perform app.leave_as_operator(context);
end
$$;
comment on function app.rename_club(uuid, text, text) is
  'Changes the name and the slug of a club. The slug is a key: its change waits for transactions that have inserted rows of the club. Inserts overtake it until it has its lock, and wait afterwards. For operators. CL002: no such club; 55006: it moves to another database.';
grant execute on function app.rename_club(uuid, text, text) to club_owner;

create or replace function app.close_club(id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(id);
begin
  update app.clubs as club set closed_at = clock_timestamp() where club.id = close_club.id and club.closed_at is null;
  perform app.leave_as_operator(context);
end
$$;
comment on function app.close_club(uuid) is
  'Closes a club: requests are refused as if it did not exist. Its rows stay. Closing it again keeps the first closing time. For operators. CL002: no such club; 55006: it moves to another database.';
grant execute on function app.close_club(uuid) to club_owner;

create or replace function app.reopen_club(id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(id);
begin
  update app.clubs as club set closed_at = null where club.id = reopen_club.id;
  perform app.leave_as_operator(context);
end
$$;
comment on function app.reopen_club(uuid) is 'Reopens a closed club with all its rows. For operators. CL002: no such club; 55006: it moves to another database.';
grant execute on function app.reopen_club(uuid) to club_owner;

create or replace function app.forget_club(id uuid, after interval default '1 day') returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.lock_club(id);
  known record;
  relation regclass;
begin
  select c.closed_at, c.move_state, c.moved_at into known from app.clubs as c where c.id = forget_club.id;
  if known.move_state = 'moved' then
    if (known.moved_at <= now() - after) is not true then
      raise exception using errcode = 'CL006', message = format('the club %s has moved less than %s ago', id, after);
    end if;
    update app.clubs as c set closed_at = coalesce(c.closed_at, clock_timestamp()) where c.id = forget_club.id;
  elsif known.move_state is not null then
    raise exception using errcode = '55006', message = format('the club %s moves to another database', id);
  elsif known.closed_at is null then
    raise exception using errcode = 'CL003', message = format('the club %s is not closed', id);
  end if;
  -- An INSERT holds FOR KEY SHARE on this row through its foreign key: this waits for such transactions, then blocks new
  -- ones. A row that was inserted later would keep the club from being deleted.
  perform from app.clubs as club where club.id = forget_club.id for update;
  -- As in app.erase_member. Those who record wait afterwards.
  perform pg_advisory_xact_lock(uuid_hash_extended(forget_club.id, 0));
  perform set_config('app.closed_club_id', id::text, true);
  -- Events have no foreign key, whose check would take a tenth of a write.
  delete from app.events;
  -- Before the signups, whose places would be given to those who wait.
  delete from app.shift_waits;
  -- The farthest first. The policies select the rows to delete.
  for relation in
    select referring.relation from app.club_tables() as referring order by referring.distance desc, referring.relation::text
  loop
    execute format('delete from %s', relation);
  end loop;
  perform app.leave_as_operator(context);
end
$$;
comment on function app.forget_club(uuid, interval) is
  'Removes a closed club, or one that moved at least as long ago as the second argument, a day by default, and all its rows, permanently. Waits for transactions that have inserted rows of the club. For operators. CL002: no such club; CL003: it is not closed; CL006: it moved later; 55006: it moves; 40P01: a request that began before the club was closed is in the way, call it again.';
grant execute on function app.forget_club(uuid, interval) to club_owner;

set local role club_owner;
