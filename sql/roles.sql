-- The roles of the service and their memberships.
--
-- An administrator runs this file in each database before the first deploy, and again when CHANGELOG.md says so:
--
--     psql "$ADMIN_URL" --set ON_ERROR_STOP=1 --file sql/roles.sql
--
-- The administrator need not be a superuser: CREATEROLE and the ownership of the database are enough, which
-- is what managed providers give. Nothing here is a secret; set the passwords of the three logins afterwards:
--
--     alter role club_api      password '...';   -- goes into DATABASE_URL
--     alter role club_migrator password '...';   -- goes into MIGRATION_DATABASE_URL
--     alter role club_auditor  password '...';   -- goes into AUDIT_DATABASE_URL, where audits are run from
--
-- It can be run again without harm. A deploy never creates or alters a role, and fails when one of these is missing.

-- Each line is a role: its name, whether it logs in, its purpose and why it exists. make snapshot writes them to audit/05_roles.sql, and
-- the capability roles to the chapters that list them.
do $$
declare
  wanted record;
begin
  if getdatabaseencoding() <> 'UTF8' then
    raise exception 'The database % has the encoding %. The service needs UTF8.', current_database(), getdatabaseencoding()
      using hint = 'Create it with: create database NAME encoding ''UTF8'' template template0';
  end if;
  for wanted in
    select * from (values
      ('club_migrator', 'login', 'deploy', 'The login of the deploy. Member of the owner and of the capability roles; the running service never uses it.'),
      ('club_owner', 'nologin', 'owner', 'Owns every object of the service. No policy names it, so under FORCE ROW LEVEL SECURITY it sees no row.'),
      ('club_api', 'login', 'runtime', 'The login of the running service. Owns nothing, is a member of no role, and has the privileges that requests need, column by column.'),
      ('club_auditor', 'login', 'auditor', 'Reads the schema audit and no row of a club. For DBAs and for make audit.'),
      ('club_signup', 'nologin', 'capability', 'Owns the functions by which members sign up, cancel, wait and stop waiting: a row lock applies the UPDATE policies, and shifts_edit lets only Managers pass.'),
      ('club_idempotency', 'nologin', 'capability', 'Owns the functions that store responses for idempotency keys: club_api has no privilege on that table.'),
      ('club_expiry', 'nologin', 'capability', 'Owns app.delete_expired_answers. Its floor compares only the age of a stored response: it sees those of all clubs that are older than 24 hours.'),
      ('club_directory', 'nologin', 'capability', 'Owns app.my_clubs: a caller lists the clubs of the token before choosing one. Sees these clubs and the caller''s memberships in them, and nothing else.'),
      ('club_registry', 'nologin', 'capability', 'Owns app.list_clubs: an operator finds the id of a club. Its floor excludes no club, so it has four columns of one table, and only the owner calls its function.'),
      ('club_recorder', 'nologin', 'capability', 'Owns the functions that record and number events: no other role inserts an event. Sees the events of the club in which it records.'),
      ('club_roster', 'nologin', 'capability', 'Owns the functions by which Managers sign members up and off, let them wait, and delete batches: club_signup writes the caller''s own signup only.'),
      ('club_secretary', 'nologin', 'capability', 'Owns the functions by which Managers and Admins change other members: club_api updates the caller''s own row only.'),
      ('club_membership', 'nologin', 'capability', 'Owns app.set_membership, by which Admins end and renew memberships: the policies of club_secretary let Managers pass.'),
      ('club_places', 'nologin', 'capability', 'Owns the trigger functions that count signups and waits and give a free place to the first of the queue. Its policies ask for no role in the club, because any caller may free a place. app.erase_member calls app.withdraw_waits.'),
      ('club_calendar', 'nologin', 'capability', 'Owns app.read_calendar: a calendar link has no role in the club, so no policy of club_api lets it read. Sees one link, the signups of its member and their shifts.'),
      ('club_copy', 'nologin', 'capability', 'Owns app.read_member_data: the policies of club_api let a Viewer read no tasks, attendance and events, and no role read stored responses. Sees what is about the caller''s own member, and for an Admin what is about any member of the club.'),
      ('club_export', 'nologin', 'capability', 'Reads the rows of one club, which node dist/club.js writes to a file.'),
      ('club_import', 'nologin', 'capability', 'Inserts the rows of one club from a file, and reads them. No trigger of the service runs for it, so rows arrive as they were exported.'),
      ('club_operator', 'nologin', 'capability', 'Owns the functions for operators, such as app.provision_club.')
    ) as role (name, login, purpose, why)
  loop
    if not exists (select from pg_roles where rolname = wanted.name) then
      execute format('create role %I %s', wanted.name, wanted.login);
    end if;
    execute format('comment on role %I is %L', wanted.name, wanted.why);
    if wanted.login = 'nologin' then
      -- From PostgreSQL 16 on a membership has the options INHERIT and SET; the defaults give both, as in older versions.
      execute format('grant %I to club_migrator', wanted.name);
    end if;
  end loop;
end
$$;

-- Settings of every connection of the service, for any client program.
-- A name resolves to an object of the service before a temporary one.
alter role club_api set search_path = app, pg_temp;
alter role club_api set timezone = 'UTC';
-- These end what would keep a connection, a place in the queue of a lock, or the locks of an abandoned transaction.
alter role club_api set statement_timeout = '5s';
alter role club_api set lock_timeout = '3s';
alter role club_api set idle_in_transaction_session_timeout = '10s';
-- A statement keeps its row locks after its client has disconnected; this setting ends it within half a second.
alter role club_api set client_connection_check_interval = '500ms';
-- Requests read one page at a time: compiling such a plan takes longer than running it.
alter role club_api set jit = off;
-- One generic plan for each prepared statement. By default PostgreSQL plans each page again, which takes longer than
-- reading it. A custom plan has no advantage: the policies read the club from the context, which no plan knows.
alter role club_api set plan_cache_mode = force_generic_plan;
-- A call is one statement without BEGIN, so these defaults apply to it.
alter role club_api set default_transaction_isolation = 'read committed';
alter role club_api set default_transaction_read_only = off;

-- The auditor changes nothing, and a name resolves to an object of PostgreSQL and to no other.
alter role club_auditor set search_path = pg_catalog;
alter role club_auditor set default_transaction_read_only = on;
alter role club_auditor set statement_timeout = '60s';
-- A transaction that has read the audit locks its views, and a deploy creates them again.
alter role club_auditor set idle_in_transaction_session_timeout = '60s';
alter role club_auditor set jit = off;

do $$
begin
  execute format('revoke connect, temporary on database %I from public', current_database());
  execute format('grant connect on database %I to club_api, club_migrator, club_auditor', current_database());
  execute format('grant create on database %I to club_owner', current_database());
end
$$;
