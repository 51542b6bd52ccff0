-- Checks: functions.

create view audit.function_checks (code, severity, title, why) with (security_invoker) as values
  ('definer_unintended', 'critical', 'A SECURITY DEFINER function is not intended', 'The policies of the caller do not apply in it. The intended ones are in audit.intended_definers.'),
  ('definer_elsewhere', 'warning', 'A function outside of the service hands on what its owner may do', 'It is SECURITY DEFINER, its owner reads what row-level security does not protect, and other roles may execute it.'),
  ('definer_owner', 'critical', 'A SECURITY DEFINER function has the wrong owner', 'It has the privileges of that role, to which fewer policies or none may apply.'),
  ('definer_missing', 'warning', 'A function is not SECURITY DEFINER but should be', 'Its callers lack the privileges that it needs, so it fails.'),
  ('search_path_unpinned', 'critical', 'A SECURITY DEFINER function does not set its search path', 'The caller decides which objects its names resolve to. Where pg_temp is not the last, types of the caller come first.'),
  ('search_path_inherited', 'warning', 'A function does not set its search path', 'Its names resolve by the search path of the caller. A function whose names were resolved when it was created is exempt.'),
  ('function_setting', 'critical', 'A function has an unexpected SET clause', 'Only search_path, datestyle, intervalstyle, timezone, enable_seqscan, quote_all_identifiers and standard_conforming_strings are allowed; a setting of the context, or row_security, would change the isolation.'),
  ('function_leakproof', 'critical', 'A function is LEAKPROOF', 'The planner may run it on rows before the policies filter them.'),
  ('function_immutable', 'critical', 'A function is IMMUTABLE', 'The planner computes it once and may use the result for the next club.'),
  ('accessor_volatility', 'critical', 'An accessor is not STABLE', 'VOLATILE: outside of a subquery that is evaluated once, it is called for every row. IMMUTABLE: its result may be used for the next club.'),
  ('accessor_silent', 'critical', 'An accessor does not raise when its setting is missing', 'With null a policy returns no rows and hides the error; with a default it returns the rows of another club.'),
  ('accessor_overloaded', 'critical', 'A function has the name of an accessor', 'A call with other arguments, or with defaults, may resolve to it instead of the accessor.'),
  ('accessor_missing', 'critical', 'An accessor does not exist', 'Policies and functions need it. The list is audit.intended_accessors.'),
  ('function_public_execute', 'critical', 'PUBLIC may execute a function of the schema app', 'This is PostgreSQL''s default for new functions; a chapter must grant EXECUTE to single roles.'),
  ('function_owner', 'critical', 'A function of the service belongs to a role that is not the owner or a capability', 'That role may replace it.'),
  ('function_language', 'critical', 'A function is written in another language than SQL or PL/pgSQL', 'The checks of this audit cannot read it, and some languages are not bound by privileges.'),
  ('function_dynamic', 'warning', 'A function builds statements from text', 'A review cannot see which statements it runs. The intended ones are in audit.intended_dynamic.'),
  ('function_swallows', 'warning', 'A function catches errors', 'It can hide an error such as TN001 or a violated policy, which makes a failure look like success. The intended ones are in audit.intended_handlers.'),
  ('function_reaches_out', 'critical', 'A function does more than work on tables of the service', 'It reads files or other sessions, changes the schema, or changes a setting for the whole session.'),
  ('context_setter', 'critical', 'A function calls set_config and is not intended to', 'It can set the context, and its callers could choose the club. The intended ones are in audit.intended_entrances.'),
  ('function_in_catalog', 'critical', 'A function in pg_catalog is not of PostgreSQL or was changed', 'Names are looked up in pg_catalog first, so it can replace a built-in function everywhere.'),
  ('function_without_comment', 'warning', 'A function has no comment', 'A review needs to know its purpose.'),
  ('function_outside_schema', 'warning', 'A function is outside the schemas of the service', 'No chapter creates it, so it was not reviewed.'),
  ('sqlstate_unknown', 'warning', 'A function raises an unknown SQLSTATE', 'The service does not map it, so callers get 500 instead of a client error. See audit.intended_codes.'),
  ('sqlstate_missing', 'warning', 'A function raises without its own SQLSTATE', 'The service cannot distinguish its reason from others.');
comment on view audit.function_checks is 'The checks of functions.';
comment on column audit.function_checks.code is 'Its name, for audit.findings.';
comment on column audit.function_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.function_checks.title is 'What it finds.';
comment on column audit.function_checks.why is 'Why it matters.';

create view audit.function_findings (code, object, detail, fix) with (security_invoker) as
with written as (
  select functions.*,
    -- Without comments, which may contain constructs that the code does not use. A comment does not begin inside of a literal or
    -- a quoted name. Where dollar quotes, \' or nested comments make that hard to see, comments are read as code.
    case when body ~ '\$\w*\$|\\''|/\*.*/\*' then body
      else regexp_replace(body, '(''[^'']*''|"[^"]*")|--[^\n]*|/\*([^*]|\*+[^*/])*\**(\*/|$)', '\1', 'g') end as code,
    case when function in (select object from deploy.facts where kind = 'function') then '-- Deploy again: node dist/migrate.js'
      else format('drop routine %s', function) end as drop_it
  from audit.functions as functions
), beyond as (
  -- The owners of SECURITY DEFINER functions outside of the service to whom row-level security does not apply, or who read
  -- files, passwords, statistics or the statements of other sessions. A function has the privileges that its owner inherits.
  select owner.roleid, concat_ws(', ', case when owner.superuser then 'superuser' when owner.bypass_row_security then 'BYPASSRLS' end, case when not owner.superuser then more.reasons end) as reasons
  from audit.roles as owner
  cross join lateral (
    select coalesce((
      select string_agg('member of ' || powerful.rolname, ', ' order by powerful.rolname)
      from pg_roles as powerful
      where powerful.oid <> owner.roleid and pg_has_role(owner.roleid, powerful.oid, 'usage')
        and (powerful.rolsuper or powerful.rolname in (select known.role from audit.powerful_roles as known)
          or powerful.rolname in ('pg_monitor', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables'))
    ), (
      select string_agg(distinct found.reason, ', ')
      from (
        select 'may execute ' || proc.proname
        from pg_proc as proc
        where proc.pronamespace = 'pg_catalog'::regnamespace and has_function_privilege(owner.roleid, proc.oid, 'execute')
          and proc.proname in ('pg_read_file', 'pg_read_binary_file', 'pg_stat_file', 'pg_ls_dir', 'lo_import', 'lo_export')
        union all
        select 'may read ' || class.relname
        from pg_class as class
        where class.relnamespace = 'pg_catalog'::regnamespace and has_any_column_privilege(owner.roleid, class.oid, 'select')
          and class.relname in ('pg_authid', 'pg_shadow', 'pg_statistic', 'pg_statistic_ext_data', 'pg_largeobject', 'pg_user_mapping', 'pg_hba_file_rules', 'pg_file_settings')
      ) as found (reason)
    ))
  ) as more (reasons)
  where owner.provider is null and owner.roleid in (select proowner from pg_proc where prosecdef and oid >= 16384)
    and (owner.superuser or owner.bypass_row_security or more.reasons is not null)
), public_routine as materialized (
  select object from audit.privileges where kind = 'routine' and ours and grantee = 'public'
), raised as (
  select function, ours, drop_it, state[1] as state
  from written
  cross join lateral regexp_matches(code, '(?:errcode\s*:?=\s*|raise\s+(?:exception\s+)?sqlstate\s+)''([^'']+)''', 'gi') as state
  union all
  -- Raised with a condition name, or with a code that is computed at run time.
  select function, ours, drop_it, state[1]
  from written
  cross join lateral regexp_matches(code, '\mraise\s+(?:exception\s+)?(?!exception\M|debug\M|log\M|info\M|notice\M|warning\M|using\M|sqlstate\M)([a-z]\w+)|errcode\s*:?=\s*([a-z]\w*)', 'gi') as found
  cross join lateral (select array[coalesce(found[1], found[2])]) as named (state)
  where language = 'plpgsql'
)
select 'definer_unintended', function, 'it runs as ' || owner, format('alter routine %s security invoker', function)
from written
where security_definer and not exists (select from audit.intended_definers as intended where intended.function = written.function)
  and (ours or owner in (select quote_ident(role) from audit.intended_roles))
union all
-- Of other applications too, which audit.functions leaves out.
select 'definer_elsewhere', audit.signature(proc.oid), format('it runs as %s (%s), for %s', proc.proowner::regrole, owner.reasons, caller.names),
  format('alter routine %s security invoker', audit.signature(proc.oid))
from pg_proc as proc
join beyond as owner on owner.roleid = proc.proowner
cross join lateral (
  select string_agg(distinct case given.grantee when 0 then 'public' else given.grantee::regrole::text end, ', ')
  from aclexplode(coalesce(proc.proacl, acldefault('f', proc.proowner))) as given
  where given.grantee <> proc.proowner
) as caller (names)
where proc.prosecdef and proc.oid >= 16384 and exists (
    select from pg_roles as role
    where not role.rolsuper and role.rolname !~ '^pg_' and not pg_has_role(role.oid, proc.proowner, 'member')
      and has_function_privilege(role.oid, proc.oid, 'execute') and has_schema_privilege(role.oid, proc.pronamespace, 'usage')
  )
  and proc.pronamespace not in (select oid from audit.schemas where ours)
  and proc.pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
  and not exists (select from audit.intended_definers as intended where intended.function = audit.signature(proc.oid))
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_proc'::regclass, proc.oid))
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
select case when security_definer and (ours or owner in (select quote_ident(role) from audit.intended_roles)) then 'search_path_unpinned' else 'search_path_inherited' end,
  function, coalesce(nullif(array_to_string(settings, ', '), ''), 'nothing is set'), format('alter routine %s set search_path = pg_catalog, pg_temp', function)
from written
where ours and is_function and language in ('sql', 'plpgsql') and not 'search_path=pg_catalog, pg_temp' = any (settings) and (security_definer or not parsed)
union all
select 'function_setting', function, setting, format('alter routine %s reset %s', function, split_part(setting, '=', 1))
from written cross join lateral unnest(settings) as setting
where ours and setting !~* '^(search_path|intervalstyle|datestyle|timezone|enable_seqscan|quote_all_identifiers|standard_conforming_strings)='
union all
select 'function_leakproof', function, 'it is LEAKPROOF', format('alter function %s not leakproof', function)
from written where ours and leakproof
union all
select 'function_immutable', function, 'it is IMMUTABLE', format('alter function %s stable', function)
from written where ours and volatility = 'immutable' and function <> 'audit.name_of(name,name)'
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
select 'accessor_silent', 'app.missing_context(text)', 'it does not exactly raise TN001', '-- Deploy again: node dist/migrate.js'
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
select 'function_public_execute', object, 'PUBLIC may execute it', format('revoke execute on routine %s from public', object)
from public_routine
where object ~ '^app\.'
union all
select 'function_owner', function, 'it belongs to ' || owner, format('alter routine %s owner to club_owner', function)
from written
where ours and owner not in (select role from audit.intended_roles where purpose in ('owner', 'capability'))
union all
select 'function_language', function, 'it is written in ' || language, drop_it
from written where ours and is_function and language not in ('sql', 'plpgsql')
union all
select 'function_dynamic', function, 'it executes text', drop_it
from written
where ours and function not in (select intended.function from audit.intended_dynamic as intended)
  and (language = 'plpgsql' and code ~* '\mexecute\M' or code ~* '\m(query|table|cursor|schema|database)_to_xml|\mts_(stat|rewrite)\M')
union all
select 'function_reaches_out', function, 'it has ' || found[1], drop_it
from written
cross join lateral regexp_match(
  code, '(\mpg_(?:read_file|read_binary_file|stat_file|ls_\w+|reload_conf|terminate_backend|cancel_backend|logical_\w+|stat_reset\w*)\M|\mlo_\w+\s*\(|\mdblink\w*\s*\('
  || '|\mset_config\s*\(\s*''(?!app\.)[^'']*|\mpg_(?:authid|shadow|largeobject)\M|(?:update|insert into|delete from)\s+pg_catalog\.'
  || '|(?:^|;|\mthen|\melse|\mbegin|\mloop)\s*(?:set|reset|alter|create|drop|grant|revoke|truncate|copy|discard|load|do|security)\s+\w+)', 'i') as found
where found is not null and ours and schema <> 'audit'
union all
select 'context_setter', function, 'it calls set_config', drop_it
from written
where ours and code ~* '\mset_config\M' and not exists (select from audit.intended_entrances as entrance where entrance.function = written.function)
union all
select 'function_swallows', function, 'it has an exception handler', drop_it
from written
where ours and language = 'plpgsql' and code ~* '\mexception\s+when\M'
  and function not in (select intended.function from audit.intended_handlers as intended)
union all
select 'function_outside_schema', function,
  concat_ws(', ', 'a function in the schema ' || schema, case when leakproof then 'LEAKPROOF' end, case when language not in ('sql', 'plpgsql') then 'in ' || language end),
  case when home.name in (select object from deploy.facts where kind = 'function') and home.name not in (select other.function from written as other) then format('alter routine %s set schema app', function)
    else drop_it end
from written
cross join lateral (select 'app' || substr(written.function, length(quote_ident(schema)) + 1)) as home (name)
where not ours
union all
select 'function_in_catalog', audit.signature(proc.oid),
  case when proc.oid >= 16384 then 'it is new' else 'it differs from PostgreSQL''s own' end,
  case when proc.oid >= 16384 then format('drop routine %s', audit.signature(proc.oid))
    when not built_in.replaced and proc.prolang = 12 then concat_ws(' ', format('alter routine %s owner to %I; alter function %1$s security invoker', audit.signature(proc.oid), pg_get_userbyid(10)),
      case when meant.isolates then meant.volatility || case meant.name when 'set_config' then ' called on null input' else ' strict' end end,
      case when built_in.made_leakproof then 'not leakproof' end, 'reset all')
    else '-- Restore the database from a backup: a built-in function was replaced.' end
from pg_proc as proc
left join audit.intended_volatilities as meant on meant.name = proc.proname and meant.isolates
cross join lateral (
  -- The functions that policies, keys and the functions of the service compare with, and those of audit.intended_volatilities.
  select (proc.proname ~ '^(bt)?(uuid_|enum_|text_?|timestamptz_|int[48]|bool|bytea)(eq|ne|lt|le|gt|ge|cmp)$' or meant.name is not null)
    and (proc.prolang <> 12 or proc.prosrc not in (
      replace(proc.proname, 'timestamptz_', 'timestamp_'), 'show_config_by_name', 'show_config_by_name_missing_ok', 'set_config_by_name'
    )),
    -- The LEAKPROOF functions of PostgreSQL 15 to 18 are comparisons, hashes, and casts that cannot fail. Others have errors or
    -- effects that show their arguments: run before a policy, the values of other clubs' rows.
    proc.proleakproof and (proc.prolang <> 12 or proc.proname || '(' || oidvectortypes(proc.proargtypes) || ')' !~ (
      '^((bool|bpchar|bpchar_pattern_|bytea|cash_|char|circle_|date_|float[48]{1,2}|int[248]{1,2}|interval_|lseg_|macaddr8?_|name|network_|oid|oidvector'
        || '|pg_lsn_|text|text_|text_pattern_|tid|time(stamp)?(tz)?_|uuid_|(var)?bit|xid8?)(eq|ne|lt|le|gt|ge|cmp)|(name|text)(eq|ne|lt|le|gt|ge)(name|text)'
        || '|bt(?!array|record)\w+cmp|cideq|xid(n?eqint4|neq)|(bpchar|bytea|text)_(larger|smaller)|md5|sha\d{3}|crc32c?|starts_with|uuid_extract_\w+|gen_random_uuid)\('
        || '|^((bytea|float[48]|numeric)\((smallint|integer|bigint)|(float8|numeric)\(real|numeric\(double precision|int4\((smallint|boolean)|int8\((smallint|integer|oid)'
        || '|name\((text|character( varying)?)|(text|varchar)\(name|bool\(integer|interval\(time without time zone|macaddr8\(macaddr)\)$'
    ))
) as built_in (replaced, made_leakproof)
where proc.pronamespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
  and (proc.oid >= 16384 or proc.pronamespace <> 'pg_catalog'::regnamespace or proc.oid in (select altered.funcid from audit.altered_built_ins as altered))
  and (proc.oid >= 16384 or proc.prosecdef or proc.proowner <> 10 or built_in.replaced
    or proc.proconfig is not null or proc.provolatile <> left(meant.volatility, 1)::"char" or built_in.made_leakproof
    -- Of those with a volatility of their own all but set_config are STRICT.
    or proc.proisstrict <> (meant.name <> 'set_config'))
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_proc'::regclass, proc.oid))
union all
select 'function_without_comment', function, 'it has no comment', format('comment on routine %s is %L', function, 'Write its purpose here.')
from written where ours and coalesce(comment, '') = ''
union all
select distinct 'sqlstate_unknown', function, 'it raises ' || state,
  -- For an intended code add a line to audit.intended_codes instead.
  drop_it
from raised where ours and not exists (select from audit.intended_codes as known where known.sqlstate = raised.state)
union all
select 'sqlstate_missing', function, 'it raises without errcode', drop_it
from written
where ours and language = 'plpgsql' and exists (
  -- String constants are removed first: a semicolon inside one does not end the statement.
  select from regexp_matches(regexp_replace(code, '''[^'']*''', '@', 'g'), '\m(?:raise\s+(?:exception\M|@|using\M)|assert\s)([^;]*);', 'gi') as statement
  where statement[1] !~* '\merrcode\M|\msqlstate\M'
);
comment on view audit.function_findings is 'The findings of the checks of functions.';
comment on column audit.function_findings.code is 'The check.';
comment on column audit.function_findings.object is 'The object.';
comment on column audit.function_findings.detail is 'What is wrong with it.';
comment on column audit.function_findings.fix is 'SQL that repairs it.';
