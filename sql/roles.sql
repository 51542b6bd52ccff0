-- The roles of the service, and who may become whom.
--
-- An administrator runs this file once per database, before the first deploy:
--
--     psql "$ADMIN_URL" --set ON_ERROR_STOP=1 --file sql/roles.sql
--
-- The administrator need not be a superuser: CREATEROLE and the ownership of the database are enough, which
-- is what managed providers give. Nothing here is a secret; set the passwords of the three logins afterwards:
--
--     alter role club_api      password '…';   -- goes into DATABASE_URL
--     alter role club_migrator password '…';   -- goes into MIGRATION_DATABASE_URL
--     alter role club_auditor  password '…';   -- goes into AUDIT_DATABASE_URL, where audits are run from
--
-- Running it again changes nothing. Deploys never create or alter a role; they refuse to run without these.

do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('club_owner',     'nologin', 'Owns every object of the service. No policy names it, so under FORCE ROW LEVEL SECURITY it sees no row.'),
      ('club_migrator',  'login',   'The deploy. May become the owner and the capability roles; the running service never holds it.'),
      ('club_api',       'login',   'The running service. Owns nothing, belongs to nobody, and holds column by column what requests need.'),
      ('club_auditor',   'login',   'Reads the schema audit, and no row of a club: for DBAs and for make audit.'),
      ('club_signup',    'nologin', 'Capability: owns the functions that sign a member up and off, and the trigger that counts.'),
      ('club_idempotency', 'nologin', 'Capability: owns the functions that keep answers for clients who ask again.'),
      ('club_expiry',    'nologin', 'Capability: owns app.delete_expired_answers. Its rows are of all clubs, and older than 24 hours.'),
      ('club_directory', 'nologin', 'Capability: owns app.my_clubs, which names the clubs of a token. It sees several clubs, and nothing but their rows in app.clubs.'),
      ('club_operator',  'nologin', 'Capability: owns what an operator calls, such as app.provision_club.')
    ) as role (name, login, comment)
  loop
    if not exists (select from pg_roles where rolname = wanted.name) then
      execute format('create role %I %s', wanted.name, wanted.login);
      execute format('comment on role %I is %L', wanted.name, wanted.comment);
    end if;
  end loop;
end
$$;

-- From PostgreSQL 16 a membership inherits and may SET ROLE unless told otherwise, as it always did before.
grant club_owner, club_signup, club_idempotency, club_expiry, club_directory, club_operator to club_migrator;

-- What holds for every connection of the service, whatever client opens it.
alter role club_api set search_path = app, pg_temp;
alter role club_api set timezone = 'UTC';
alter role club_api set statement_timeout = '5s';
alter role club_api set lock_timeout = '3s';
alter role club_api set idle_in_transaction_session_timeout = '10s';
-- A statement whose client has gone would keep its row locks until it ends; this ends it within half a second.
alter role club_api set client_connection_check_interval = '500ms';
-- Requests read a page at a time: compiling their plans costs more than it saves.
alter role club_api set jit = off;
-- One plan for all values of a prepared statement: by itself PostgreSQL plans each page anew, which takes longer than
-- reading it, and no plan could know the club, which the policies read from the context.
alter role club_api set plan_cache_mode = force_generic_plan;

alter role club_auditor set search_path = pg_catalog;
alter role club_auditor set default_transaction_read_only = on;
alter role club_auditor set statement_timeout = '60s';
alter role club_auditor set jit = off;

do $$
begin
  execute format('revoke connect, temporary on database %I from public', current_database());
  execute format('grant connect on database %I to club_api, club_migrator, club_auditor', current_database());
  execute format('grant create on database %I to club_owner', current_database());
end
$$;
