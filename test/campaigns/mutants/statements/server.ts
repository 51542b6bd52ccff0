import type { Mutants } from '../mutation.js';

const trigger =
  'create function public.watch() returns event_trigger language plpgsql as $$ begin end $$; create event trigger watch on ddl_command_end execute function public.watch()';

/**
 * Weakenings around the database, by the check that must find them.
 *
 * The embedded server has no extension but plpgsql, so an extension is inserted into the catalog directly.
 */
export const extension = (name: string) =>
  `insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
   values (424242, '${name}', 10, 'public'::regnamespace, true, '1.0')`;
const called = `create function public.remote() returns int language sql return 1;
  insert into pg_depend values ('pg_proc'::regclass, 'public.remote()'::regprocedure, 0, 'pg_extension'::regclass, 424242, 0, 'e')`;

export const server: Mutants = {
  extension_risky: [
    extension('dblink'),
    extension('pageinspect'),
    extension('file_fdw'),
    extension('mysql_fdw'),
  ],
  extension_reachable: [
    `${extension('dblink')}; ${called}`,
    `${extension('http')}; ${called}; revoke execute on function public.remote() from public; grant execute on function public.remote() to club_api`,
  ],
  extension_unknown: [
    extension('earthdistance'),
    extension('timescaledb'),
    'create trusted language other handler plpgsql_call_handler',
  ],
  extension_member_added: [
    'create view public.everyone as table app.members; alter extension plpgsql add view public.everyone',
    'create function public.peek(name, int) returns int language sql return 1; alter extension plpgsql add function public.peek',
    'create schema hidden; alter extension plpgsql add schema hidden',
    'alter extension plpgsql add table app.tasks',
    `${extension('earthdistance')}; alter extension earthdistance add schema app`,
  ],
  language_untrusted: [
    `create language plghost handler plpgsql_call_handler`,
    `create language plother handler plpgsql_call_handler validator plpgsql_validator`,
  ],
  publication: [
    'create publication everything for all tables',
    'create publication one for table app.tasks',
    'create publication schemas for tables in schema app',
    `create publication narrow for table app.members (tenant_id, id) where (tenant_id is not null)`,
  ],
  subscription: [
    `create subscription feed connection 'host=example.invalid' publication p with (connect = false)`,
    `create subscription other connection 'host=example.invalid' publication p with (connect = false, enabled = false)`,
  ],
  event_trigger: [trigger, trigger.replace('ddl_command_end', 'sql_drop')],
  version_vulnerable: [
    `create or replace view audit.intended_versions as
     select current_setting('server_version_num')::int / 10000 as major, 999999 as minimum, 'a hole' as why`,
  ],
  built_in_owner: [
    'create role evil; alter schema pg_catalog owner to evil',
    'create role evil; alter schema information_schema owner to evil; alter language plpgsql owner to evil',
    'create role evil; alter operator =(uuid, uuid) owner to evil',
    'create role evil; alter type uuid owner to evil',
    'create role evil; alter operator family uuid_ops using btree owner to evil',
  ],
  setting_preset: [
    'set local allow_system_table_mods = on',
    'set local session_replication_role = replica',
    'set local session_replication_role = local',
  ],
};

/** Changes that only the comparison with the last deploy can find. */
export const drift: Mutants = {
  isolation_drift: [
    'drop view audit.access',
    'grant delete on deploy.facts to club_operator',
    `alter policy tasks_delete on app.tasks using ((select app.role()) >= 'Member')`,
    `alter policy tasks_read on app.tasks using ((select app.role()) >= 'Viewer')`,
    'alter policy shift_signups_sign_up on app.shift_signups with check ((select app.member_id()) is not null)',
    `alter policy events_read on app.events using (sequence is not null and (select app.role()) >= 'Member')`,
    'alter policy events_record on app.events to club_recorder, club_api',
    `alter policy attendance_read on app.attendance using ((select app.role()) >= 'Member')`,
    `alter policy attendance_edit on app.attendance with check ((select app.role()) >= 'Manager')`,
    'grant select (secret_hash) on app.calendar_links to club_api',
    `do $$ begin execute replace(pg_get_functiondef('app.read_calendar(uuid,bytea)'::regprocedure), 'l.expires_at > now()', 'true'); end $$`,
    'grant select on app.tasks to club_signup with grant option; set local role club_signup; grant select on app.tasks to club_directory; reset role; grant select on app.tasks to club_directory',
    `do $$ begin execute replace(pg_get_functiondef('app.take_place(app.shifts,uuid,timestamptz)'::regprocedure), 'signup_count >=', 'signup_count >'); end $$`,
    `do $$ begin execute replace(pg_get_functiondef('app.lock_shift(uuid)'::regprocedure), 'for no key update', ''); end $$`,
    `do $$ begin execute replace(pg_get_functiondef('app.guard_task()'::regprocedure), $q$app.role() < 'Manager'$q$, 'false'); end $$`,
    `do $$ begin execute replace(pg_get_functiondef('app.enter'::regproc), 'if not club_exists', 'if false'); end $$`,
    `do $$ begin execute replace(pg_get_functiondef('app.number_events()'::regprocedure), '1 + coalesce', '2 + coalesce'); end $$`,
    `drop view audit.findings cascade; create view audit.findings as select null::text as code, null::text as object where false`,
    `create or replace view audit.intended_definers as select 'public.evil()'::text as function, 'postgres'::name as owner, ''::text as why`,
    'alter schema app owner to postgres',
    'alter function app.tenant_id() parallel unsafe',
    'alter function app.sign_up(uuid) strict',
    'alter view audit.findings set (security_barrier)',
  ],
  role_unusable: ['alter role club_migrator noinherit'],
  schema_drift: [
    'revoke select on app.tasks from club_api',
    'create trigger again before update on app.tasks for each row execute function app.guard_task()',
    'alter table app.shift_signups drop constraint shift_signups_once',
    'alter table app.tasks drop constraint tasks_assignee_fkey',
    'drop function app.cancel_sign_up(uuid)',
    'create index by_title on app.tasks (title)',
    'drop index app.members_by_display_name',
    'alter table app.tasks add column secret text',
    'alter table app.shifts drop constraint shifts_capacity_holds_signups',
    'alter table app.tasks drop constraint tasks_title_length',
    `alter role club_api set statement_timeout = '1h'`,
    `alter table app.attendance alter column shift_title type varchar(10)`,
    'alter table app.tasks set (autovacuum_enabled = off)',
    'alter table app.tasks replica identity full',
    'alter table app.tasks alter column title set storage plain',
    `comment on policy tasks_read on app.tasks is 'in other words'`,
    `comment on column app.tasks.title is 'in other words'`,
    'create statistics app.together on state, title from app.tasks',
    'create type app.pair as (a int, b int)',
    'create text search configuration app."W ords" (copy = simple)',
  ],
  row_drift: [
    `insert into app.task_transitions values ('Open', 'Done', 'member')`,
    `update app.task_transitions set performer = 'member'`,
    `delete from app.task_transitions where from_state = 'Review'`,
    `insert into app.task_states values ('Can ''celled', 6)`,
    `update app.task_states set position = 9 where state = 'Done'`,
    `update deploy.migration_files set sha256 = 'x' where name ~ '^0003'`,
    `delete from deploy.migration_files where name ~ '^0003'`,
    `delete from deploy.migrations where name ~ '^000[145]'`,
    `insert into deploy.migrations (name, run_on) values ('0003_tasks', now())`,
    `insert into deploy.migrations (name, run_on) values ('9999_other', now())`,
  ],
  built_in_replaced: [
    'alter function pg_catalog.to_json(anyelement) immutable',
    `grant execute on function pg_catalog.md5(text) to club_api;
     create or replace function pg_catalog.md5(text) returns text language plpgsql as $$ begin return $1; end $$`,
    'grant execute on function pg_catalog.to_jsonb(anyelement) to club_api; alter function pg_catalog.to_jsonb(anyelement) immutable',
    `create or replace function pg_catalog.nextval(regclass) returns bigint volatile strict language plpgsql as 'begin return 1; end'`,
  ],
  built_in_changed: [
    'alter function pg_catalog.random() stable',
    'alter function pg_catalog.timeofday() immutable',
    'alter function pg_catalog.lower(text) called on null input',
    'alter function pg_catalog.pg_read_file(text) immutable',
    `create or replace function pg_catalog.row_to_json(record) returns json stable strict parallel safe language internal as 'record_out'`,
    'alter function pg_catalog.random() stable; alter function pg_catalog.random() volatile',
  ],
  facts_missing: ['delete from deploy.facts', 'truncate deploy.facts'],
  facts_of_another_version: ['update deploy.facts set server_major = 14'],
};
