-- An independent check of a deployed database, for DBAs. It does not trust the audit that is in the database.
--
-- Run it at the root of the checkout that was deployed, as club_migrator or a superuser:
--
--     psql "$MIGRATION_DATABASE_URL" --no-psqlrc --quiet --file sql/check.sql
--
-- It prints a line for each difference and ends with exit status 3; without one it prints "the same". It changes nothing: it is
-- one transaction that is rolled back. No deploy applies this file.
--
-- It creates the audit again from the checkout, and prints where the audit in the database differs from that, what breaks the rules
-- of isolation in audit/30_core.sql and the other checks, and where the facts differ from snapshot.txt. Readers of the audit wait
-- meanwhile, for about a second.

\set ON_ERROR_STOP on
\pset format unaligned
\pset tuples_only on
\set audit `cat sql/audit/*.sql`
\set snapshot `cat sql/snapshot.txt`
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

-- An event trigger runs at the statements that follow, and could change what they create.
select format('event trigger %s: it may change what this file creates', evtname) from pg_event_trigger where evtenabled <> 'D';
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

select format('%s: %s %s (%s)', severity, code, object, detail) from audit.findings;
\set printed :printed:ROW_COUNT

-- The facts of snapshot.txt (<) and of the database (>), without those about the audit, which versions of PostgreSQL print differently.
select '< ' || line from (select regexp_split_to_table(:'snapshot', '\n') except select line from audit.snapshot) as missing (line)
where line !~ '^(view|function) audit' order by 1;
\set printed :printed:ROW_COUNT
select '> ' || line from (select line from audit.snapshot except select regexp_split_to_table(:'snapshot', '\n')) as added (line)
where line !~ '^(view|function) audit' order by 1;
\set printed :printed:ROW_COUNT

rollback;
select :printed = 0 as is_same \gset
\if :is_same
  \echo the same
\else
  \set VERBOSITY terse
  do $$ begin raise exception 'the database is not as this checkout creates it'; end $$;
\endif
