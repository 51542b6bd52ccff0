import type { Mutants } from '../mutation.js';

const make = (rest: string) => `create function app.peek() returns bigint ${rest}`;
const accessor = (body: string) =>
  `create or replace function app.tenant_id() returns uuid language sql stable parallel safe ${body}`;
const missing = (body: string) =>
  `create or replace function app.missing_context(setting text) returns text
   language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$ ${body} $$`;
const signUp = (body: string) =>
  `create or replace function app.sign_up(shift_id uuid) returns app.shift_signups
   language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$ ${body} $$`;
const elsewhere = (schema: string, name: string) =>
  `create function ${schema}.${name}() returns text language sql security definer set search_path = pg_catalog, pg_temp as $$ select 'x' $$`;
const shop = 'create role shop; create schema shop authorization shop; grant usage on schema shop to public';

/** Weakenings of functions and triggers, by the check that must find them. */
export const functions: Mutants = {
  definer_unintended: [
    make(
      `language sql security definer set search_path = pg_catalog, pg_temp return (select count(*) from app.tasks)`,
    ),
    `${elsewhere('public', 'all_members')}; alter function public.all_members() owner to club_registry`,
    `create procedure app.wipe() language sql security definer as 'delete from app.tasks'`,
    'alter function audit.assert_clean() security definer',
    'alter function app.sign_up(uuid) owner to postgres',
    'alter function app.my_clubs() owner to club_signup',
    'alter function app.count_signup() owner to club_operator',
    'alter function app.read_calendar(uuid, bytea) owner to club_operator',
  ],
  definer_elsewhere: [
    elsewhere('public', 'all_members'),
    `${shop}; ${elsewhere('shop', 'all_members')}; revoke execute on function shop.all_members() from public; grant execute on function shop.all_members() to club_api`,
    `${shop}; alter role shop bypassrls; set local role shop; ${elsewhere('shop', 'peek')}; reset role`,
    ...[
      'pg_read_server_files',
      'pg_write_server_files',
      'pg_execute_server_program',
      'pg_read_all_data',
      'pg_write_all_data',
      'pg_monitor',
      'pg_read_all_stats',
      'pg_stat_scan_tables',
      'pg_read_all_settings',
      'postgres',
    ].map(
      (role) =>
        `${shop}; grant ${role} to shop; set local role shop; ${elsewhere('shop', 'peek')}; reset role`,
    ),
    ...[
      'execute on function pg_read_file(text)',
      'execute on function lo_import(text)',
      'select (stavalues1) on pg_statistic',
      'select on pg_authid',
    ].map(
      (privilege) =>
        `${shop}; grant ${privilege} to shop; set local role shop; ${elsewhere('shop', 'peek')}; reset role`,
    ),
    `create role "Sh Op" bypassrls; create procedure public."P q"(int) language sql security definer as 'select 1'; alter procedure public."P q" owner to "Sh Op"`,
  ],
  isolation_drift: [
    make('language sql return 1'),
    'alter function app.guard_task() reset search_path',
    make(`language sql as 'select count(*) from app.tasks'`),
    `create procedure app."Pro c"(inout n int default 1) language plpgsql as $$ begin n := 2; end $$`,
    make(
      `language plpgsql set search_path = pg_catalog, pg_temp as $$ declare n bigint; begin execute 'select count(*) from app.tasks' into n; return n; end $$`,
    ),
    make(
      `language sql set search_path = pg_catalog, pg_temp return length(query_to_xml('table app.tasks', true, true, '')::text)`,
    ),
    `create function app.run(statement text) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$ begin execute statement; end $$`,
    make(`language sql set search_path = pg_catalog, pg_temp return length(pg_read_file('x'))`),
    signUp(`begin perform 'a -- b'; return pg_read_file('x'); end`),
    signUp(`begin perform set_config ( 'row_security', 'off', true); end`),
    signUp('begin set local row_security = off; end'),
    signUp('begin set local role club_owner; end'),
    signUp(`begin perform set_config('row_security', 'off', true); end`),
    signUp('begin alter table app.tasks disable row level security; end'),
    signUp(`begin perform set_config('app.tenant_id', shift_id::text, true); end`),
    make(`language sql return length(set_config('app.role', 'Admin', true))`),
    make(`language sql return length(set_config('app.link_hash', 'x', true))`),
    signUp(`begin perform set_config ('app.tenant_id', shift_id::text, true); end`),
    signUp(`declare name text := 'app.tenant_id'; begin perform set_config(name, shift_id::text, true); end`),
    signUp(`begin perform 'a -- b'; perform set_config('app.tenant_id', shift_id::text, true); end`),
    signUp(
      `begin perform '/*'; perform set_config('app.tenant_id', shift_id::text, true); perform '*/'; end`,
    ),
    signUp(`begin perform e'\\'', 'a -- b'; perform set_config('app.tenant_id', shift_id::text, true); end`),
    signUp(`begin perform 1 as "a -- b"; perform set_config('app.tenant_id', shift_id::text, true); end`),
    signUp(`begin perform $q$ -- $q$; perform set_config('app.tenant_id', shift_id::text, true); end`),
    signUp(
      `begin /* /* */ ' */ perform 'a -- b'; perform set_config('app.tenant_id', shift_id::text, true); end`,
    ),
    make(
      `language plpgsql set search_path = pg_catalog, pg_temp as $$ begin return 1; exception when others then return 0; end $$`,
    ),
    signUp("begin return null; exception when sqlstate 'TN001' then return null; end"),
    signUp(`begin raise exception using errcode = 'SH999', message = 'new'; end`),
    signUp(`begin raise sqlstate 'ZZ001'; end`),
    make(
      `language plpgsql set search_path = pg_catalog, pg_temp as $$ begin raise exception 'no' using errcode = 'P0002'; end $$`,
    ),
    signUp('begin raise unique_violation; end'),
    signUp(`declare code text := 'SH999'; begin raise exception using errcode = code; end`),
    signUp(`begin raise exception using errcode := 'XX999'; end`),
    signUp(`begin raise 'full'; end`),
    signUp(`begin raise using message = 'full'; end`),
    signUp('begin assert false; end'),
    signUp(`begin raise exception 'full'; end`),
    make(
      `language plpgsql set search_path = pg_catalog, pg_temp as $$ begin raise exception 'no %', 1 using hint = 'none'; end $$`,
    ),
  ],
  function_unsafe: [
    'alter function app.sign_up(uuid) set search_path = app',
    'alter function app.enter set search_path = public',
    `alter function app.my_clubs() set search_path = public, app`,
    `alter function app.erase_member(uuid, uuid) set search_path = "$user", public`,
    'alter function app.count_signup() reset all',
    `alter function app.record_event() set search_path = ''`,
    'alter function app.sign_up(uuid) set row_security = off',
    `alter function app.my_clubs() set app.tenant_id = 'x'`,
    'alter function app.guard_task() set session_replication_role = replica',
    `alter function app.enter_directory(uuid[], text) set role = 'club_owner'`,
    'alter function app.tenant_id() leakproof',
    'alter function app.role() leakproof',
    `create function app.spy(text) returns boolean language plpgsql leakproof as 'begin raise notice ''%'', $1; return true; end'`,
    'alter function app.new_id() immutable',
    'alter function app.allowed_transitions(text, uuid) immutable',
    make('language sql immutable return 1'),
    'alter function app.user_id() immutable',
    `create function app.backend() returns int language internal as 'pg_backend_pid'`,
  ],
  accessor_changed: [
    'alter function app.role() immutable',
    accessor(`return nullif(current_setting('app.tenant_id', true), '')::uuid`),
    accessor(`return current_setting('app.tenant_id', true)::uuid`),
    accessor(`return '11111111-1111-4111-8111-111111111111'::uuid`),
    accessor(
      `return coalesce(nullif(current_setting('app.tenant_id', true), ''), '11111111-1111-4111-8111-111111111111')::uuid`,
    ),
    accessor(
      `return coalesce(nullif(current_setting('app.user_id', true), ''), app.missing_context('app.tenant_id'))::uuid`,
    ),
    `create or replace function app.role() returns app.club_role language sql stable return 'Admin'::app.club_role`,
    `create or replace function app.role() returns app.club_role language sql stable return coalesce(nullif(current_setting('app.role', true), ''), 'Viewer')::app.club_role`,
    `create or replace function app.link_hash() returns bytea language sql stable return coalesce(nullif(current_setting('app.link_hash', true), ''), '')::bytea`,
    `create or replace function app.shift_ids() returns uuid[] language sql stable return coalesce(nullif(current_setting('app.shift_ids', true), ''), '{}')::uuid[]`,
    `create or replace function app.member_id() returns uuid language sql stable return nullif(current_setting('app.member_id', true), '')::uuid`,
    accessor(
      `return case when current_user = 'club_api' then coalesce(nullif(current_setting('app.tenant_id', true), ''), app.missing_context('app.tenant_id'))::uuid end`,
    ),
    missing('begin return null; end'),
    missing(
      `begin if setting = 'app.role' then return 'Admin'; end if; raise exception using errcode = 'TN001', message = 'none'; end`,
    ),
    'create function app.tenant_id(which text) returns uuid language sql stable return null::uuid',
    `create function app.role(which text default 'x') returns text language sql stable return 'Admin'`,
    'create function app.user_id(variadic "all" text[]) returns text language sql stable return null::text',
    'alter function app.club_ids() set schema public',
  ],
  granted_to_public: [
    'grant execute on all functions in schema app to public',
    make('language sql return 1'),
  ],
  object_owner: [
    'alter function app.tenant_id() owner to postgres',
    'alter function app.tenant_id() owner to club_api',
    'create role alice; alter function app.guard_task() owner to alice',
  ],
  object_in_catalog: [
    `create function pg_catalog.set_config(text, text) returns text language sql return 'x'`,
    'create function information_schema.peek() returns int language sql return 1',
    'create function pg_toast.peek() returns int language sql return 1',
  ],
  built_in_replaced: [
    'alter function pg_catalog.current_setting(text, boolean) security definer',
    'alter function pg_catalog.clock_timestamp() immutable',
    `create or replace function pg_catalog.clock_timestamp() returns timestamptz volatile strict parallel safe language internal as 'now'`,
    `create or replace function pg_catalog.pg_current_xact_id() returns xid8 stable strict language sql as $$ select '3'::xid8 $$`,
    'alter function pg_catalog.now() immutable',
    'alter function pg_catalog.now() volatile',
    'alter function pg_catalog.current_setting(text, boolean) immutable',
    'alter function pg_catalog.set_config(text, text, boolean) stable',
    'alter function pg_catalog.set_config(text, text, boolean) strict',
    'alter function pg_catalog.gen_random_uuid() stable',
    'grant execute on function pg_catalog.pg_current_xact_id() to club_api; alter function pg_catalog.pg_current_xact_id() immutable',
    'alter function pg_catalog.current_setting(text, boolean) set app.tenant_id = $$x$$',
    'alter function pg_catalog.upper(text) set row_security = off',
    'alter function pg_catalog.textlike(text, text) leakproof',
    'alter function pg_catalog.set_config(text, text, boolean) leakproof',
    'alter function pg_catalog.to_date(text, text) leakproof',
    'alter function pg_catalog.int4(jsonb) leakproof',
    'create or replace function pg_catalog.starts_with(text, text) returns boolean language sql immutable leakproof return true',
    'alter function pg_catalog.texteq(text, text) security definer',
    'create or replace function pg_catalog.uuid_eq(uuid, uuid) returns boolean language sql immutable return true',
    `create or replace function pg_catalog.enum_lt(anyenum, anyenum) returns boolean language sql immutable as 'select false'`,
    'create or replace function pg_catalog.timestamptz_le(timestamptz, timestamptz) returns boolean language sql immutable return true',
    `create or replace function pg_catalog.enum_ge(anyenum, anyenum) returns boolean language internal immutable as 'enum_le'`,
  ],
  schema_drift: ['comment on function app.sign_up(uuid) is null'],
  object_outside_schema: [
    'create function public.harmless() returns int language sql return 1',
    `create function public.spy(text) returns boolean language plpgsql leakproof as 'begin raise notice ''%'', $1; return true; end'`,
    `create function public.backend() returns int language internal as 'pg_backend_pid'`,
    'alter function app.enter_directory(uuid[], text) set schema public',
    `create schema tools; create function tools.f() returns int language sql return 1`,
  ],
};
