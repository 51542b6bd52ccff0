-- Checks: functions and triggers.

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
  ('accessor_missing', 'critical', 'An accessor does not exist', 'See audit.intended_accessors.'),
  ('function_public_execute', 'critical', 'Everybody may execute a function', 'PostgreSQL''s default for new functions; each chapter names who may.'),
  ('function_owner', 'critical', 'A function of the service belongs to a role that is not the owner or a capability', 'It may be replaced by that role.'),
  ('function_language', 'critical', 'A function is written in another language than SQL or PL/pgSQL', 'What it does is outside of PostgreSQL''s rules.'),
  ('function_dynamic', 'warning', 'A function builds statements from text', 'What it runs cannot be read in it. None of the service''s does.'),
  ('function_swallows', 'warning', 'A function catches errors', 'A refusal that it swallows, TN001 or a policy''s, looks like success.'),
  ('function_outside_schema', 'warning', 'A function lies outside of the schemas of the service', 'No chapter makes it, so no review has seen it.'),
  ('sqlstate_unknown', 'warning', 'A function raises a code that is not in the table of codes', 'Nobody maps it: callers get a fault instead of a refusal. See audit.intended_codes.'),
  ('sqlstate_missing', 'warning', 'A function raises without a code of its own', 'Nobody can tell its reason from any other.'),
  ('trigger_disabled', 'critical', 'A trigger does not run', 'PostgreSQL''s own keep the foreign keys, and with them a row inside its club.'),
  ('operator_outside_catalog', 'critical', 'An operator, cast or operator class of our own or a stranger''s', 'Policies and keys compare with operators; another one may say that two ids are equal.');
comment on view audit.function_checks is 'The checks of functions and triggers.';
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
  cross join lateral regexp_matches(code, '(?:errcode\s*=\s*|raise\s+(?:exception\s+)?sqlstate\s+)''([^'']+)''', 'gi') as state
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
where ours and setting !~ '^search_path='
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
where body !~* ('coalesce\(nullif\(current_setting\(''' || accessor.setting || '''(::text)?, true\), ''''(::text)?\), app\.missing_context\(''' || accessor.setting || '''(::text)?\)\)')
  or security_definer
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
from written where ours and language = 'plpgsql' and code ~* '\mexecute\M'
union all
select 'function_swallows', function, 'it has an exception handler', format('drop routine %s', function)
from written where ours and language = 'plpgsql' and code ~* '\mexception\s+when\M'
union all
select 'function_outside_schema', function, 'a function in the schema ' || schema, format('drop routine %s', function)
from written where not ours
union all
select distinct 'sqlstate_unknown', function, 'it raises ' || state,
  -- A code that is meant gets its line in audit.intended_codes instead.
  format('drop routine %s', function)
from raised where not exists (select from audit.intended_codes as known where known.sqlstate = raised.state)
union all
select 'sqlstate_missing', function, 'it raises without errcode', format('drop routine %s', function)
from written
where ours and language = 'plpgsql' and exists (
  select from regexp_matches(code, '\mraise\s+exception\M([^;]*);', 'gi') as statement
  where statement[1] !~* '\merrcode\M|\msqlstate\M'
)
union all
select 'trigger_disabled', trigger, case when keeps_foreign_key then 'it keeps a foreign key' else 'it is ours' end,
  format('alter table %s enable trigger %I', relation, name)
from audit.triggers where ours and not enabled
union all
select 'operator_outside_catalog', thing.identity, 'a ' || thing.type, format('drop %s %s', thing.type, thing.identity)
from (
  select 'pg_operator'::regclass, oid from pg_operator
  union all
  select 'pg_cast'::regclass, oid from pg_cast
  union all
  select 'pg_opclass'::regclass, oid from pg_opclass
) as made (catalog, oid)
cross join lateral pg_identify_object(made.catalog, made.oid, 0) as thing
where made.oid >= 16384
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = (made.catalog, made.oid));
comment on view audit.function_findings is 'What the checks of functions and triggers find.';
comment on column audit.function_findings.code is 'The check.';
comment on column audit.function_findings.object is 'What it found.';
comment on column audit.function_findings.detail is 'What is wrong with it.';
comment on column audit.function_findings.fix is 'SQL that mends it.';
