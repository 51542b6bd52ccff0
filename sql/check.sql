-- An independent check of a deployed database, for DBAs. It does not trust the audit that is in the database.
--
-- Run it at the root of the checkout that was deployed, as club_migrator or a superuser:
--
--     psql "$MIGRATION_DATABASE_URL" --no-psqlrc --quiet --file sql/check.sql
--
-- It prints a line for each difference and ends with exit status 3; without one it prints "the same". It changes nothing: it is
-- one transaction that is rolled back. No deploy applies this file.
--
-- The first part reads only the catalogs. The second part creates the audit again from the checkout, and compares that with the
-- audit in the database and with snapshot.txt. Readers of the audit wait meanwhile, for about a second.

\set ON_ERROR_STOP on
\pset format unaligned
\pset tuples_only on
\set audit `cat sql/audit/*.sql`
\set snapshot `cat sql/snapshot.txt`
-- The roles of sql/roles.sql. Another application may have roles with such names.
\set roles '{club_owner,club_migrator,club_api,club_auditor,club_signup,club_idempotency,club_expiry,club_directory,club_registry,club_recorder,club_roster,club_calendar,club_operator}'
-- The tables of app that are the same for every club.
\set reference '{app.task_states,app.task_transitions}'
-- The numbers of lines that the checks print, one after the other.
\set printed 0

begin;
set local client_min_messages = warning;
set local lock_timeout = '10s';
-- Names in expressions are printed in full.
set local search_path = pg_catalog, pg_temp;
-- A setting of the database or of the login could print them in another way.
set local quote_all_identifiers = off;
set local standard_conforming_strings = on;

-- An event trigger runs at the statements of the second part, and could change what they create.
select format('event trigger %s: it may change what this file creates', evtname) from pg_event_trigger where evtenabled <> 'D';
\set printed :printed:ROW_COUNT

-- Every other table of app is under row-level security, even for its owner.
select format('table %s: row-level security is not enabled and forced', oid::regclass) from pg_class
where relnamespace = 'app'::regnamespace and relkind = 'r' and not (relrowsecurity and relforcerowsecurity)
  and oid::regclass::text <> all (:'reference'::text[]);
\set printed :printed:ROW_COUNT

-- Other relations, such as a view or a partition, could show rows past the policies of a table.
select format('%s: it is neither a table nor an index', oid::regclass) from pg_class
where relnamespace = 'app'::regnamespace and (relkind not in ('r', 'i') or relispartition);
\set printed :printed:ROW_COUNT

-- A permissive policy lets roles in. For each of them a floor, a restrictive policy for all commands, allows only the club of
-- the transaction. Five floors of capability roles allow something else.
select format('policy %s on %s: there is no floor for %s', policy.polname, policy.polrelid::regclass, role::regrole)
from pg_policy as policy cross join unnest(policy.polroles) as role
where policy.polpermissive and not exists (
  select from pg_policy as floor
  where floor.polrelid = policy.polrelid and not floor.polpermissive and floor.polcmd = '*'
    and (0 = any (floor.polroles) or role = any (floor.polroles))
    and (floor.polrelid::regclass::text, pg_get_expr(floor.polqual, floor.polrelid), pg_get_expr(floor.polwithcheck, floor.polrelid), role::regrole::text) in (
      select floor.polrelid::regclass::text, tenant.is_own, tenant.is_own, role::regrole::text
      from (values (format('(%s = ( SELECT app.tenant_id() AS tenant_id))', case floor.polrelid when 'app.clubs'::regclass then 'id' else 'tenant_id' end))) as tenant (is_own)
      union all values
      ('app.clubs', 'true', 'false', 'club_registry'),
      ('app.clubs', '(id = ANY (( SELECT app.club_ids() AS club_ids)::uuid[]))', 'false', 'club_directory'),
      ('app.clubs', '(id = ( SELECT app.closed_club_id() AS closed_club_id))', 'false', 'club_recorder'),
      ('app.events', '(transaction_id = pg_current_xact_id())', '(transaction_id = pg_current_xact_id())', 'club_recorder'),
      ('app.idempotency_keys', '(created_at < (now() - ''24:00:00''::interval))', 'false', 'club_expiry')
    )
);
\set printed :printed:ROW_COUNT

-- No role of the service is beyond row-level security, or could become so. Only three log in.
select format('role %s: it has SUPERUSER, BYPASSRLS, REPLICATION, CREATEROLE or CREATEDB, or may log in', rolname) from pg_roles
where rolname = any (:'roles') and (rolsuper or rolbypassrls or rolreplication or rolcreaterole or rolcreatedb
  or rolcanlogin and rolname not in ('club_api', 'club_migrator', 'club_auditor'));
\set printed :printed:ROW_COUNT

-- Only club_migrator may become another role of the service. Auditors may have their own logins. From PostgreSQL 16 on the
-- administrator that created the roles is a member who may neither become them nor use their privileges.
select format('role %s: it is a member of %s', member::regrole, roleid::regrole) from pg_auth_members as edge
where (member::regrole::text = any (:'roles') or roleid::regrole::text = any (:'roles'))
  and not (member = 'club_migrator'::regrole and roleid::regrole::text = any (:'roles') and roleid <> all ('{club_api,club_auditor}'::regrole[]))
  and not (roleid = 'club_auditor'::regrole and member::regrole::text <> all (:'roles'))
  and coalesce(to_jsonb(edge) ->> 'set_option', 'true') || coalesce(to_jsonb(edge) ->> 'inherit_option', 'true') <> 'falsefalse';
\set printed :printed:ROW_COUNT

-- Only the owner, club_api and the capability roles have a privilege in app; the auditor compares the rows of reference tables. 0 is PUBLIC.
select distinct format('%s: %s has %s', object, case grantee when 0 then 'PUBLIC' else grantee::regrole::text end, privilege_type)
from (
  select 'schema app', nspacl from pg_namespace where nspname = 'app'
  union all select 'table ' || oid::regclass, relacl from pg_class where relnamespace = 'app'::regnamespace
  union all select format('column %s.%s', attrelid::regclass, attname), attacl from pg_attribute join pg_class on pg_class.oid = attrelid where relnamespace = 'app'::regnamespace and not attisdropped
  union all select 'function ' || oid::regprocedure, coalesce(proacl, acldefault('f', proowner)) from pg_proc where pronamespace = 'app'::regnamespace
) as securable (object, acl) cross join aclexplode(acl)
where grantee = 0 or grantee::regrole::text <> all (:'roles') or grantee = 'club_migrator'::regrole
  or grantee = 'club_auditor'::regrole and not (privilege_type = 'SELECT' and substr(object, length('table ') + 1) = any (:'reference'::text[]));
\set printed :printed:ROW_COUNT

-- A SECURITY DEFINER function runs with the privileges of its owner, here a capability role, to which the policies apply.
select format('function %s: it runs as %s', oid::regprocedure, proowner::regrole) from pg_proc
where prosecdef and (pronamespace = 'app'::regnamespace or proowner::regrole::text = any (:'roles'))
  and not (pronamespace = 'app'::regnamespace and proowner::regrole::text = any (:'roles')
    and proowner <> all ('{club_owner,club_migrator,club_api,club_auditor}'::regrole[]));
\set printed :printed:ROW_COUNT

-- The audit in the database, and then that of the checkout.
prepare definitions as
select coalesce(json_object_agg(object, definition), '{}') as definitions from (
  select case relkind when 'v' then 'view ' else 'relation ' end || oid::regclass as object,
    concat_ws(' ', relowner::regrole, reloptions, relacl, case relkind when 'v' then pg_get_viewdef(oid) end) as definition
  from pg_class where relnamespace = to_regnamespace('audit')
  union all
  select 'function ' || oid::regprocedure,
    concat_ws(' ', proowner::regrole, proacl, case when prokind in ('f', 'p') then pg_get_functiondef(oid) end)
  from pg_proc where pronamespace = to_regnamespace('audit')
) as objects;

execute definitions \gset before_
set local role club_owner;
drop schema if exists audit cascade;
reset role;
:audit
execute definitions \gset after_

select format('%s: it is %s', coalesce(found.key, made.key),
  case when made.key is null then 'not of this checkout' when found.key is null then 'missing' else 'not as this checkout creates it' end)
from json_each_text(:'before_definitions') as found full join json_each_text(:'after_definitions') as made using (key)
where found.value is distinct from made.value
order by 1;
\set printed :printed:ROW_COUNT

-- The facts of snapshot.txt (<) and of the database (>), without those about the audit, which versions of PostgreSQL print differently.
select '< ' || line from (select regexp_split_to_table(:'snapshot', '\n') except select line from audit.snapshot) as missing (line)
where line !~ '^(view|function) audit' order by 1;
\set printed :printed:ROW_COUNT
select '> ' || line from (select line from audit.snapshot except select regexp_split_to_table(:'snapshot', '\n')) as added (line)
where line !~ '^(view|function) audit' order by 1;
\set printed :printed:ROW_COUNT

select format('%s: %s %s (%s)', severity, code, object, detail) from audit.findings;
\set printed :printed:ROW_COUNT

rollback;
select :printed = 0 as is_same \gset
\if :is_same
  \echo the same
\else
  \set VERBOSITY terse
  do $$ begin raise exception 'the database is not as this checkout creates it'; end $$;
\endif
