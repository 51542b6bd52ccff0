-- Checks: functions.

create view audit.function_checks (code, severity, title, why) with (security_invoker) as values
  ('definer_unintended', 'critical', 'A function runs with its owner''s rights and is not meant to', 'It is a way past the caller''s policies. See audit.intended_definers.'),
  ('definer_owner', 'critical', 'A function that runs with its owner''s rights belongs to another role than it should', 'It uses the rights of that role, which may bind it less, or not at all.'),
  ('definer_missing', 'warning', 'A function that should run with its owner''s rights does not', 'Its callers lack what it needs.'),
  ('search_path_unpinned', 'critical', 'A function that runs with its owner''s rights has no search path of its own', 'Its names mean what its caller puts first.'),
  ('search_path_inherited', 'warning', 'A function has no search path of its own', 'Its names mean what its caller''s search path says. It is exempt when its names were looked up when it was made.'),
  ('function_setting', 'critical', 'A function sets something while it runs', 'Only the search path is; a setting of the context, or row_security, is another matter.'),
  ('function_leakproof', 'critical', 'A function is LEAKPROOF', 'The planner runs it on rows before a policy hides them.'),
  ('function_immutable', 'critical', 'A function claims to be immutable', 'The planner computes it once and may keep the answer for the next club.'),
  ('accessor_volatility', 'critical', 'An accessor is not STABLE', 'Volatile, it is called for every row; immutable, its answer is kept for the next club.'),
  ('accessor_silent', 'critical', 'An accessor does not raise when its setting is missing', 'A policy that compares with null shows an empty club, or with a default another one.'),
  ('accessor_overloaded', 'critical', 'A function bears the name of an accessor and is none', 'A call with other arguments, or with defaults, means it instead.'),
  ('accessor_missing', 'critical', 'An accessor does not exist', 'See audit.intended_accessors.'),
  ('function_public_execute', 'critical', 'Everybody may execute a function', 'PostgreSQL''s default for new functions; each chapter names who may.'),
  ('function_owner', 'critical', 'A function of the service belongs to a role that is not the owner or a capability', 'It may be replaced by that role.'),
  ('function_language', 'critical', 'A function is written in another language than SQL or PL/pgSQL', 'What it does is outside of PostgreSQL''s rules.'),
  ('function_dynamic', 'warning', 'A function builds statements from text', 'What it runs cannot be read in it. Those that do are in audit.intended_dynamic.'),
  ('function_swallows', 'warning', 'A function catches errors', 'A refusal that it swallows, TN001 or a policy''s, looks like success.'),
  ('function_reaches_out', 'critical', 'A function reaches past the tables of the service', 'It reads files or other sessions, changes the schema, or sets what holds for the whole session.'),
  ('context_setter', 'critical', 'A function sets the context and is not meant to', 'Whoever may call it chooses the club. See audit.intended_entrances.'),
  ('function_in_catalog', 'critical', 'A function among those of PostgreSQL is not PostgreSQL''s own', 'Names are looked up there first: it stands in for a built-in one everywhere.'),
  ('function_without_comment', 'warning', 'A function does not say what it is for', 'What nobody can explain, nobody can review.'),
  ('function_outside_schema', 'warning', 'A function lies outside of the schemas of the service', 'No chapter makes it, so no review has seen it.'),
  ('sqlstate_unknown', 'warning', 'A function raises a code that is not in the table of codes', 'Nobody maps it: callers get a fault instead of a refusal. See audit.intended_codes.'),
  ('sqlstate_missing', 'warning', 'A function raises without a code of its own', 'Nobody can tell its reason from any other.');
comment on view audit.function_checks is 'The checks of functions.';
comment on column audit.function_checks.code is 'Its name, for audit.findings.';
comment on column audit.function_checks.severity is 'critical: a club can reach another; warning: anything else.';
comment on column audit.function_checks.title is 'What it finds.';
comment on column audit.function_checks.why is 'Why that matters.';

create view audit.function_findings (code, object, detail, fix) with (security_invoker) as
with written as (
  -- Without comments, which say what is not done.
  select *, regexp_replace(regexp_replace(body, '--[^\n]*', '', 'g'), '/\*.*?\*/', '', 'g') as code
  from audit.functions
), raised as (
  select function, state[1] as state
  from written
  cross join lateral regexp_matches(code, '(?:errcode\s*:?=\s*|raise\s+(?:exception\s+)?sqlstate\s+)''([^'']+)''', 'gi') as state
  union all
  -- By the name of a condition, or by a code that is only known when it runs.
  select function, state[1]
  from written
  cross join lateral regexp_matches(code, '\mraise\s+(?:exception\s+)?(?!exception\M|debug\M|log\M|info\M|notice\M|warning\M|using\M|sqlstate\M)([a-z]\w+)|errcode\s*:?=\s*([a-z]\w*)', 'gi') as found
  cross join lateral (select array[coalesce(found[1], found[2])]) as named (state)
  where language = 'plpgsql'
)
select 'definer_unintended', function, 'it runs as ' || owner, format('alter routine %s security invoker', function)
from written
where security_definer and not exists (select from audit.intended_definers as intended where intended.function = written.function)
union all
select 'definer_owner', function, format('it runs as %s instead of %s', written.owner, intended.owner), format('alter routine %s owner to %I', function, intended.owner)
from written join audit.intended_definers as intended using (function)
where security_definer and written.owner <> intended.owner
union all
select 'definer_missing', function, case when written.function is null then 'it does not exist' else 'it runs as its caller' end,
  format('alter routine %s security definer', function)
from audit.intended_definers as intended left join written using (function)
where written.security_definer is not true
union all
select case when security_definer then 'search_path_unpinned' else 'search_path_inherited' end,
  function, coalesce(nullif(array_to_string(settings, ', '), ''), 'nothing is set'), format('alter routine %s set search_path = ''''', function)
from written
where is_function and language in ('sql', 'plpgsql') and not 'search_path=""' = any (settings) and (security_definer or not parsed)
union all
select 'function_setting', function, setting, format('alter routine %s reset %s', function, split_part(setting, '=', 1))
from written cross join lateral unnest(settings) as setting
where ours and setting !~* '^(search_path|intervalstyle|datestyle)='
union all
select 'function_leakproof', function, 'it is LEAKPROOF', format('alter function %s not leakproof', function)
from written where leakproof
union all
select 'function_immutable', function, 'it is IMMUTABLE', format('alter function %s stable', function)
from written where volatility = 'immutable' and function <> 'audit.name_of(name,name)'
union all
select 'accessor_volatility', function, 'it is ' || upper(volatility), format('alter function %s stable', function)
from written join audit.intended_accessors as accessor using (function)
where volatility <> 'stable'
union all
select 'accessor_silent', function, 'it does not end in app.missing_context',
  format(
    'create or replace function %s returns %s language sql stable parallel safe return coalesce(nullif(current_setting(%L, true), ''''), app.missing_context(%3$L))::%2$s',
    function, audit.type_name(proc.prorettype), accessor.setting
  )
from written
join audit.intended_accessors as accessor using (function)
join pg_proc as proc on proc.oid = written.funcid
where body !~* ('^RETURN \(?coalesce\(nullif\(current_setting\(''' || accessor.setting || '''(::text)?, true\), ''''(::text)?\), app\.missing_context\(''' || accessor.setting || '''(::text)?\)\)(\)::[\w.]+(\[\])?)?$')
  or security_definer
union all
select 'accessor_silent', 'app.missing_context(text)', 'it does more or less than raise TN001', '-- Deploy again: node dist/migrate.js'
where not exists (
  select from written
  where function = 'app.missing_context(text)' and language = 'plpgsql'
    and code ~* '^\s*begin\s+raise exception using\s+errcode = ''TN001'',[^;]*;\s*end\s*;?\s*$'
)
union all
select 'accessor_overloaded', written.function, 'it is not ' || accessor.function, format('drop routine %s', written.function)
from written
join audit.intended_accessors as accessor on split_part(accessor.function, '(', 1) = split_part(written.function, '(', 1) and accessor.function <> written.function
union all
select 'accessor_missing', accessor.function, 'it does not exist',
  format('create function %s returns text language sql stable return app.missing_context(%L)', accessor.function, accessor.setting)
from audit.intended_accessors as accessor
where not exists (select from written where written.function = accessor.function)
union all
select 'function_public_execute', object, 'everybody may execute it', format('revoke execute on routine %s from public', object)
from audit.privileges
where kind = 'routine' and ours and grantee = 'public'
union all
select 'function_owner', function, 'it belongs to ' || owner, format('alter routine %s owner to club_owner', function)
from written
where ours and owner not in (select role from audit.intended_roles where purpose in ('owner', 'capability'))
union all
select 'function_language', function, 'it is written in ' || language, format('drop routine %s', function)
from written where is_function and language not in ('sql', 'plpgsql')
union all
select 'function_dynamic', function, 'it executes text', format('drop routine %s', function)
from written
where ours and function not in (select intended.function from audit.intended_dynamic as intended)
  and (language = 'plpgsql' and code ~* '\mexecute\M' or code ~* '\m(query|table|cursor|schema|database)_to_xml|\mts_(stat|rewrite)\M')
union all
select 'function_reaches_out', function, 'it has ' || found[1], format('drop routine %s', function)
from written
cross join lateral regexp_match(
  code, '(\mpg_(?:read_file|read_binary_file|stat_file|ls_\w+|reload_conf|terminate_backend|cancel_backend|logical_\w+|stat_reset\w*)\M|\mlo_\w+\(|\mdblink\w*\('
  || '|set_config\(''(?!app\.)[^'']*|\mpg_(?:authid|shadow|largeobject)\M|(?:update|insert into|delete from)\s+pg_catalog\.'
  || '|(?:^|;|\mthen|\melse|\mbegin|\mloop)\s*(?:set|reset|alter|create|drop|grant|revoke|truncate|copy|discard|load|do|security)\s+\w+)', 'i') as found
where found is not null and ours and schema <> 'audit'
union all
select 'context_setter', function, 'it calls set_config for the context', format('drop routine %s', function)
from written
where ours and code ~* '\mset_config\(''app\.' and not exists (select from audit.intended_entrances as entrance where entrance.function = written.function)
union all
select 'function_swallows', function, 'it has an exception handler', format('drop routine %s', function)
from written where ours and language = 'plpgsql' and code ~* '\mexception\s+when\M'
union all
select 'function_outside_schema', function, 'a function in the schema ' || schema, format('drop routine %s', function)
from written where not ours
union all
select 'function_in_catalog', audit.signature(proc.oid),
  case when proc.oid >= 16384 then 'it is new' else 'it is otherwise than PostgreSQL makes it' end,
  case when proc.oid >= 16384 then format('drop routine %s', audit.signature(proc.oid))
    else case when proc.prolang = 12 then format('alter routine %s security invoker; alter routine %1$s owner to %2$I; alter function %1$s %3$s', audit.signature(proc.oid), pg_get_userbyid(10), case when proc.proname = 'current_setting' then 'stable' when proc.proleakproof then 'not leakproof' else 'reset all' end)
      else '-- Restore the database from a backup: a built-in function was replaced.' end end
from pg_proc as proc
where proc.pronamespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  and (proc.oid >= 16384 or proc.prosecdef or proc.proowner <> 10
    or proc.prolang <> 12 and proc.proname in ('current_setting', 'set_config', 'gen_random_uuid', 'uuid_eq', 'uuid_ne', 'enum_ge', 'texteq')
    or proc.provolatile = 'i' and proc.proname = 'current_setting'
    -- These repeat their arguments in errors: before a policy that would show other clubs' rows.
    or proc.proleakproof and proc.proname ~ '(like|regex|div)')
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_proc'::regclass, proc.oid))
union all
select 'function_without_comment', function, 'it has no comment', format('comment on routine %s is %L', function, 'Say what it is for.')
from written where ours and coalesce(comment, '') = ''
union all
select distinct 'sqlstate_unknown', function, 'it raises ' || state,
  -- A code that is meant gets its line in audit.intended_codes instead.
  format('drop routine %s', function)
from raised where not exists (select from audit.intended_codes as known where known.sqlstate = raised.state)
union all
select 'sqlstate_missing', function, 'it raises without errcode', format('drop routine %s', function)
from written
where ours and language = 'plpgsql' and exists (
  -- Texts are taken out first: a semicolon inside one does not end the statement.
  select from regexp_matches(regexp_replace(code, '''[^'']*''', '@', 'g'), '\m(?:raise\s+(?:exception\M|@|using\M)|assert\s)([^;]*);', 'gi') as statement
  where statement[1] !~* '\merrcode\M|\msqlstate\M'
);
comment on view audit.function_findings is 'What the checks of functions find.';
comment on column audit.function_findings.code is 'The check.';
comment on column audit.function_findings.object is 'What it found.';
comment on column audit.function_findings.detail is 'What is wrong with it.';
comment on column audit.function_findings.fix is 'SQL that mends it.';
