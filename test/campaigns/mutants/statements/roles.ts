import type { Mutants } from '../mutation.js';

/** Weakenings of roles, by the check that must find them. */
export const roles: Mutants = {
  role_unusable: [
    'alter role club_auditor rename to club_reader',
    'alter role club_directory rename to club_catalogue',
    `alter role club_api valid until '2020-01-01'`,
    'alter role club_migrator connection limit 0',
  ],
  role_beyond_rls: [
    'grant pg_read_all_data to club_api',
    'grant pg_write_all_data to club_signup',
    'grant pg_execute_server_program to club_owner',
    'grant pg_read_server_files to club_migrator',
    'create role giant bypassrls; grant giant to club_api',
    'create role giant replication; create role team role club_api; grant giant to team',
  ],
  role_reachable: [
    'grant club_directory to club_auditor',
    'grant club_migrator to club_api',
    'create role bridge; grant club_owner to bridge; grant bridge to club_api',
    'create role first; create role second; grant club_operator to first; grant first to second; grant second to club_auditor',
    'grant club_api to club_auditor',
    'grant club_owner to club_signup',
    'create role "Bridge 2"; grant club_signup to "Bridge 2"; grant "Bridge 2" to club_api',
  ],
  role_lent: [
    'create role alice login; create role team; grant club_migrator to team; grant team to alice',
    'create role club_reports login; grant club_api to club_reports',
    `create role second login in role club_api; alter role second set timezone = 'UTC'`,
  ],
  role_belongs_elsewhere: [
    'grant pg_monitor to club_api',
    'grant pg_signal_backend to club_auditor',
    'create role club_reports; grant club_reports to club_api',
    'create role owner_of_things; grant owner_of_things to club_operator',
  ],
  role_hands_on: ['grant club_signup to club_api with admin option'],
  beyond_row_level_security: [
    'create role anna bypassrls',
    'create role anna superuser',
    'create role "An Na" replication login',
    'create role anna; grant postgres to anna',
    'create role anna; grant pg_read_all_data to anna',
    'create role anna; grant pg_write_all_data to anna with admin option',
    'create role anna; grant pg_read_server_files, pg_write_server_files, pg_execute_server_program to anna',
    'create role team bypassrls; create role "An Na" in role team; create role ben in role "An Na"',
    'grant pg_read_server_files to pg_monitor',
    `create role anna; do $$ begin execute format('alter database %I owner to anna', current_database()); end $$`,
    `create role team; create role anna in role team; do $$ begin execute format('alter database %I owner to team', current_database()); end $$`,
    'create role anna; grant club_owner to anna with admin option',
    'create role "An Na"; grant club_api to "An Na" with admin option',
    'create role anna; grant set on parameter session_replication_role to anna',
    'create role "An Na"; grant alter system on parameter archive_command to "An Na" with grant option',
    'create role anna; grant set on parameter session_preload_libraries to anna',
    'create role team; grant set on parameter lo_compat_privileges to team; create role anna in role team',
    'create role anna; grant alter system on parameter app.tenant_id to anna',
    'create role anna; grant alter system on parameter search_path to anna',
    'create role anna; grant alter system on parameter ssl_key_file to anna',
    'create role rds_superuser bypassrls',
    'create role doadmin superuser',
  ],
  context_preset: [
    `alter role all set app.role = 'Admin'`,
    `do $$ begin execute format('alter database %I set app.tenant_id = ''11111111-1111-4111-8111-111111111111''', current_database()); end $$`,
    `create role alice login in role club_api; alter role alice set app.tenant_id = 'x'`,
    `create role "Al Ice" login in role club_owner; alter role "Al Ice" set "APP.tenant_ID" = 'x'`,
    `alter role postgres set app.tenant_id = 'x'`,
    `create role "Al Ice" superuser; alter role "Al Ice" set app.role = 'Admin'`,
  ],
  setting_preset: [
    `do $$ begin execute format('alter database %I set transform_null_equals = on', current_database()); end $$`,
    `do $$ begin execute format('alter database %I set role = club_owner', current_database()); end $$`,
    `do $$ begin execute format('alter database %I set session_replication_role = replica', current_database()); end $$`,
    `do $$ begin execute format('alter database %I set row_security = off', current_database()); end $$`,
    'alter role all set search_path = public',
    `create role alice login in role club_api; alter role alice set local_preload_libraries = 'spy'`,
    `do $$ begin execute format('alter database %I set session_preload_libraries = ''spy''', current_database()); end $$`,
    `do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`,
    `alter role all set synchronous_commit = 'LOCAL'`,
    `alter role all set "Zero_Damaged_Pages" = 'T'`,
    `do $$ begin execute format('alter database %I set ignore_checksum_failure = on', current_database()); end $$`,
    'set local lo_compat_privileges = on',
    `alter role all set lo_compat_privileges = 'yes'`,
    `do $$ begin execute format('alter database %I set lo_compat_privileges = on', current_database()); end $$`,
  ],
  schema_drift: [
    `alter role club_migrator set session_preload_libraries = 'auto_explain'`,
    `alter role club_api set local_preload_libraries = 'spy'`,
    `do $$ begin execute format('alter role club_api in database %I set search_path = public', current_database()); end $$`,
    'alter role club_owner set search_path = public',
    'alter role club_api set search_path = pg_temp, app',
    'alter role club_api set search_path = public, app',
    'alter role club_api set row_security = off',
    'alter role club_api set session_replication_role = replica',
    `alter role club_api set app.link_hash = 'x'`,
    `alter role club_signup set app.club_ids = '{}'`,
    `do $$ begin execute format('alter role club_api in database %I set app.member_id = ''x''', current_database()); end $$`,
    `alter role club_api set "App.Role" = 'Admin'`,
    `alter role club_api set app.tenant_id = '11111111-1111-4111-8111-111111111111'`,
    `alter role club_api set app.jwt_secret = 'x'`,
    `alter role club_api set statement_timeout = 0`,
    `alter role club_api set lock_timeout = '1h'`,
    `alter role club_api set default_transaction_isolation = 'read uncommitted'`,
    'alter role club_api set plan_cache_mode = force_custom_plan',
    'alter role club_auditor set default_transaction_read_only = off',
    `alter role club_migrator set statement_timeout = '1s'`,
    'alter role club_api reset all',
  ],
  object_owner: [
    'alter schema app owner to postgres',
    'alter schema deploy owner to club_operator',
    'alter type app.club_role owner to postgres',
    'alter type app.club_role owner to club_signup',
    'create role "Al Ice"; alter type app.club_role owner to "Al Ice"',
    'alter function app.tenant_id() owner to club_signup',
    'create statistics app.together on state, title from app.tasks; alter statistics app.together owner to club_directory',
    'alter schema app owner to club_api',
    'alter function app.enter_directory(uuid[], text) owner to club_api',
    'alter function app.sign_up(uuid) owner to club_migrator',
    'alter view audit.findings owner to club_auditor',
    'alter type app.club_role owner to club_api',
  ],
  role_owns_outside_schema: [
    'create schema mine authorization club_signup',
    'create schema mine authorization club_api',
    'create type public.pair as (a int, b int); alter type public.pair owner to club_signup',
    'create foreign data wrapper elsewhere; create server "Re mote" foreign data wrapper elsewhere; create user mapping for club_api server "Re mote"',
  ],
};

/** Before PostgreSQL 16 CREATEROLE grants every role. */
export const rolesBefore16: Mutants = {
  beyond_row_level_security: [
    'create role anna createrole',
    'create role team createrole; create role anna in role team',
  ],
  context_preset: [`create role boss createrole; alter role boss set app.tenant_id = 'x'`],
};

/** Role memberships have options since PostgreSQL 16. */
export const rolesOf16: Mutants = {
  role_reachable: [
    'grant club_owner to club_api with inherit false, set false',
    'create role bridge; grant club_owner to bridge with admin true, inherit false, set false; grant bridge to club_api',
  ],
  role_hands_on: ['grant club_owner to club_api with admin true, inherit false, set false'],
  beyond_row_level_security: [
    'create role anna; grant pg_create_subscription to anna',
    // What another role than the superuser granted, and what a role granted on.
    `create role boss; create role anna; grant pg_read_all_data to boss with admin true; set local role boss;
     grant pg_read_all_data to anna; reset role`,
    `create role boss createrole; revoke club_owner from club_migrator; grant club_owner to boss with admin true, inherit false, set false;
     set local role boss; grant club_owner to club_migrator; reset role`,
  ],
  context_preset: [
    `create role boss; grant club_owner to boss with admin true, inherit false, set false; alter role boss set app.tenant_id = 'x'`,
  ],
  role_unusable: ['grant club_owner to club_migrator with set false'],
  role_lent: [
    // Granted by another role than the superuser.
    `create role boss; create role alice; grant club_api to boss with admin true; set local role boss;
     grant club_api to alice; reset role`,
  ],
};
