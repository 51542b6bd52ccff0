import type { Mutants } from '../mutation.js';

/** A privilege that another role than the owner granted, and then the owner too. */
const passedOn = `grant select on app.tasks to club_operator with grant option; create role reporting;
  set local role club_operator; grant select on app.tasks to reporting; reset role`;
const grantedTwice = `${passedOn}; grant select on app.tasks to reporting`;
const onDatabase = (statement: string) =>
  `do $$ begin execute format('${statement}', current_database()); end $$`;
/** The table with the long values of app.tasks. */
const onToast = (statement: string) =>
  `do $$ begin execute format('${statement}', (select reltoastrelid::regclass from pg_class where oid = 'app.tasks'::regclass)); end $$`;
const shop = 'create role shop; create schema shop authorization shop';

/** Weakenings of grants, by the check that must find them. */
export const grants: Mutants = {
  granted_to_public: [
    'grant select (display_name) on app.members to public',
    'grant usage on schema app to public',
    'grant all on app.clubs to public',
  ],
  granted_to_stranger: [
    'create role alice; grant create on schema app to alice',
    'create role reporting; grant usage on schema app to reporting',
    'create role club_reports; grant select on app.tasks to club_reports',
    'create role reporting; grant select (email) on app.members to reporting',
    'create role reporting; grant execute on function app.sign_up(uuid) to reporting',
    'grant select on app.members to pg_monitor',
    passedOn,
    grantedTwice,
    'create role "Re Porting"; grant usage on type app.club_role to "Re Porting"',
  ],
  granted_outside_app: [
    'grant select on audit.findings to public',
    'grant usage on sequence deploy.migrations_id_seq to public',
    'grant select on deploy.facts to public',
    'grant execute on function audit.fingerprint() to public',
    'create role reporting; grant usage on schema audit to reporting',
    'create role reporting; grant select on audit.facts to reporting',
  ],
  granted_to_auditor: [
    'grant usage on schema app to club_auditor',
    'grant select on app.clubs to club_auditor',
    'grant execute on function app.enter_directory(uuid[], text) to club_auditor',
  ],
  grant_unlimited: [
    'grant all on app.shifts to club_api',
    'grant truncate on deploy.facts to club_api',
    'grant references (id) on app.clubs to club_operator',
    passedOn,
    `${passedOn}; set local role club_operator; grant select on app.tasks to club_signup with grant option; reset role`,
    'grant select on app.tasks to club_api with grant option',
    'grant execute on function app.sign_up(uuid) to club_api with grant option',
    'grant usage on schema app to club_signup with grant option',
    'grant update (title) on app.tasks to club_api with grant option',
    'grant create on schema app to club_api',
    'grant create on schema audit to club_auditor',
  ],
  isolation_drift: [
    'grant select on app.tasks to club_signup',
    'grant update (slug) on app.clubs to club_api',
    'grant select (email) on app.members to club_directory',
    'grant select (title) on app.tasks to club_recorder',
    'grant select on app.members to club_calendar',
    'grant update (expires_at) on app.calendar_links to club_api',
    'grant insert (at) on app.events to club_api',
  ],
  operator_function_granted: [
    'grant execute on function app.close_club(uuid) to club_signup',
    'grant execute on function audit.record_facts(jsonb) to club_auditor',
    'grant execute on function audit.approve(text[]) to club_api',
  ],
  hand_on_outside_schema: [onDatabase('grant connect on database %I to club_api with grant option')],
  reference_table_writable: [
    'grant update (performer) on app.task_transitions to club_api',
    'grant insert (fingerprint) on deploy.releases to club_api',
  ],
  schema_create_outside: [
    'grant create on schema public to public',
    'grant create on schema public to club_signup',
    'create role dana; grant create on schema public to dana',
  ],
  schema_shared: [
    `${shop}; grant usage on schema shop to public`,
    `${shop}; grant usage on schema shop to club_api`,
    `${shop}; grant create on schema shop to club_signup`,
  ],
  database_privilege: [
    onDatabase('grant create on database %I to club_api'),
    onDatabase('grant create on database %I to public'),
    onDatabase('grant create on database %I to club_migrator'),
    onDatabase('grant temporary on database %I to club_api'),
    onDatabase('grant temporary on database %I to public'),
    onDatabase('grant temporary on database %I to club_signup'),
    `create role alice login in role club_api; ${onDatabase('grant temporary on database %I to alice')}`,
    onDatabase('grant connect on database %I to public'),
  ],
  default_privileges: [
    'alter default privileges for role club_owner grant select on tables to club_api',
    'alter default privileges for role club_owner in schema app grant all on tables to public',
    'alter default privileges for role club_owner grant execute on functions to public',
    'alter default privileges for role postgres grant select on tables to club_api',
    'alter default privileges for role club_signup in schema app grant execute on functions to club_api',
    'alter default privileges for role club_owner grant usage on sequences to club_api',
    'alter default privileges for role club_owner grant create on schemas to club_api',
  ],
  system_object_granted: [
    'grant select on pg_authid to club_api',
    'grant select on pg_statistic to club_api',
    'grant execute on function pg_read_file(text) to club_api',
    'grant execute on function pg_ls_dir(text) to club_auditor',
    'grant select on pg_shadow to club_migrator',
    'grant update on pg_class to club_owner',
    'grant usage on language plpgsql to club_api',
    'grant execute on function pg_read_file(text) to public',
    'grant select on pg_authid to public',
    'grant select (rolpassword) on pg_authid to club_api',
    'grant create on schema pg_catalog to club_api',
    'grant execute on function pg_reload_conf() to public',
    'grant usage on schema pg_toast to public',
    onToast('grant select on %s to club_api'),
  ],
  system_object_lent: [
    ...[
      'select on pg_statistic',
      'select (stavalues1) on pg_statistic',
      'select on pg_statistic_ext_data',
      'select on pg_largeobject',
      'select on pg_authid',
      'select on pg_shadow',
      'execute on function pg_read_file(text)',
      'execute on function pg_read_binary_file(text, bigint, bigint)',
      'execute on function lo_import(text)',
      'create on schema pg_catalog',
    ].map((privilege) => `create role dana; grant ${privilege} to dana`),
    'grant select on pg_statistic to pg_monitor',
    'create role dana; grant usage on schema pg_toast to dana',
    `create role dana; ${onToast('grant select on %s to dana')}`,
  ],
  tablespace_granted: [
    'grant create on tablespace pg_default to club_api',
    'grant create on tablespace pg_default to public',
  ],
  large_object_shared: [
    'select lo_create(4244); grant select on large object 4244 to public',
    'select lo_create(4244); grant update on large object 4244 to club_api',
    'create role dana; select lo_create(4244); grant all on large object 4244 to dana, public',
    'set local role club_api; select lo_create(4244); grant select on large object 4244 to public; reset role',
    'set local role club_api; select lo_create(4244); grant select on large object 4244 to club_auditor with grant option; reset role',
    'create role shop; set local role shop; select lo_create(4244); grant select on large object 4244 to public; reset role',
    'create role "Sh op"; create role dana; set local role "Sh op"; select lo_create(4244); grant update on large object 4244 to dana; reset role',
    'set local role club_api; select lo_create(4244), lo_create(4245); reset role',
    'set local role club_auditor; select lo_create(4244); grant all on large object 4244 to public; reset role',
    'set local role club_migrator; select lo_create(4244); reset role',
    'select lo_create(4244); alter large object 4244 owner to club_signup',
  ],
  parameter_granted: [
    'grant set on parameter session_replication_role to club_api',
    'grant alter system on parameter log_statement to club_migrator',
    'grant set on parameter session_replication_role to public',
  ],
  foreign_server_granted: [
    'create foreign data wrapper elsewhere; grant usage on foreign data wrapper elsewhere to club_owner',
    'create foreign data wrapper elsewhere; create server remote foreign data wrapper elsewhere; grant usage on foreign server remote to club_api',
    'create foreign data wrapper elsewhere; create server "Re mote" foreign data wrapper elsewhere; create user mapping for public server "Re mote"',
  ],
};

/** Default privileges on large objects exist since PostgreSQL 18. */
export const grantsOf18: Mutants = {
  default_privileges: [
    'create role shop; alter default privileges for role shop grant update on large objects to public',
    'alter default privileges for role club_owner grant select on large objects to club_api',
  ],
};
