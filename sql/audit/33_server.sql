-- The server, and objects beside those of the service: extensions, replication, functions of PostgreSQL, objects outside of all known schemas.

create view audit.server_checks (code, severity, title, why) with (security_invoker) as values
  ('object_outside_schema', 'warning', 'An object is in no schema of the service or of another application', 'No chapter creates it, so it was not reviewed. A copy of rows escapes the policies; no name of the service resolves to it.'),
  ('object_in_catalog', 'critical', 'An object was added to the schemas of PostgreSQL, or an operator or cast to those of the service', 'Names are looked up in pg_catalog first, so a function can replace a built-in one everywhere. Policies and keys compare with operators; a wrong one could report two different ids as equal.'),
  ('built_in_replaced', 'critical', 'A function of PostgreSQL was changed in a way that isolation depends on', 'It is SECURITY DEFINER or LEAKPROOF, or has another owner, language, volatility or body: it may see rows before the policies filter them, or change what a policy means. Restore the database from a backup, or restore the function as it is in template0.'),
  ('built_in_changed', 'warning', 'A function of PostgreSQL was changed after the database was created', 'No GRANT or REVOKE explains it. PostgreSQL plans and runs statements by what the function declares. Compare it with template0 (\df+).'),
  ('built_in_owner', 'warning', 'An object of PostgreSQL belongs to another role', 'That role may change it, or create in it: names are looked up in pg_catalog first.'),
  ('temporary_object', 'warning', 'There is a temporary object', 'A temporary table has no policies, and its name may be resolved before a table of the service.'),
  ('referenced_elsewhere', 'warning', 'An object of another application depends on a table of the service', 'A stored copy and a foreign key stay when the privilege that created them is revoked: the one keeps rows of clubs, the other shows which exist.'),
  ('definer_elsewhere', 'warning', 'A function outside of the service hands on what its owner may do', 'It is SECURITY DEFINER, its owner reads what row-level security does not protect, and other roles may execute it.'),
  ('trigger_disabled', 'warning', 'A trigger is disabled', 'Internal triggers enforce the foreign keys, which keep references inside a club; the others enforce rules of the service.'),
  ('index_invalid', 'warning', 'An index is INVALID', 'Its creation failed: it slows down every write, serves no read, and a unique one may not prevent duplicates.'),
  ('extension_risky', 'warning', 'An extension bypasses row-level security', 'It reads pages, files, other servers or the write-ahead log, to which no policy applies.'),
  ('extension_reachable', 'critical', 'The running service may execute an extension that bypasses row-level security', 'An SQL injection could call it.'),
  ('extension_unknown', 'warning', 'An extension or a language is not intended', 'Its functions were not reviewed. The intended extensions are in audit.intended_extensions, the languages are SQL and PL/pgSQL.'),
  ('extension_member_added', 'critical', 'An object was added to an extension by hand', 'The checks skip the objects of extensions, so it hides the object from them.'),
  ('language_untrusted', 'warning', 'A language is not trusted', 'Its functions have the rights of the operating system user of the server.'),
  ('publication', 'warning', 'A publication carries tables of the service', 'A subscriber receives the rows of every club; policies do not apply to replication.'),
  ('subscription', 'warning', 'A subscription writes into this database', 'The triggers and policies of the service do not apply to its writes.'),
  ('event_trigger', 'warning', 'There is an event trigger', 'It runs at changes of the schema, with the privileges of the deploy.'),
  ('version_vulnerable', 'warning', 'The version of PostgreSQL has a known vulnerability in row-level security', 'Update it to at least the version in audit.intended_versions.');
comment on view audit.server_checks is 'The checks of the server, and of objects beside those of the service.';

create view audit.extensions with (security_invoker) as
select
  extension.oid as extid,
  extension.extname as extension,
  extension.extowner::regrole::text as owner,
  extension.extname = any (array[
    'dblink', 'postgres_fdw', 'file_fdw', 'adminpack', 'pageinspect', 'pg_walinspect', 'pg_surgery', 'pg_visibility', 'pg_freespacemap',
    'pg_buffercache', 'pg_prewarm', 'amcheck', 'pgrowlocks', 'pgstattuple', 'xml2', 'old_snapshot', 'http', 'pg_net', 'pg_cron',
    'pg_background', 'plsh', 'aws_s3', 'aws_lambda', 'aws_commons', 'pglogical', 'pgaudit_analyze', 'orafce', 'dblink_plus'
  ]) or extension.extname ~ '(_fdw|u)$' and extension.extname ~ '^pl|_fdw$' as risky
from pg_extension as extension;
comment on view audit.extensions is 'The extensions of this database, and whether they read or write data to which no policy applies.';

create view audit.server_findings (code, object, detail, fix, role) with (security_invoker) as
with tables as (select * from audit.tables),
roles as (select * from audit.roles),
other_schemas as (select schemaid from audit.other_schemas),
beyond as (
  -- The owners of SECURITY DEFINER functions outside of the service to whom row-level security does not apply, or who read
  -- files, passwords, statistics or the statements of other sessions. A function has the privileges that its owner inherits.
  select owner.roleid, owner.role, concat_ws(', ', case when owner.superuser then 'superuser' when owner.bypass_row_security then 'BYPASSRLS' end, case when not owner.superuser then more.reasons end) as reasons
  from roles as owner
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
  where owner.roleid in (select proowner from pg_proc where prosecdef and oid >= 16384)
    and (owner.superuser or owner.bypass_row_security or more.reasons is not null)
)
-- 16384 is the first OID of an object that was made after initdb. SQL that would delete rows is a comment.
select 'object_outside_schema', kind || ' ' || relation, 'it is in the schema ' || schema,
  case when home.name in (select object from deploy.facts where facts.kind ~ 'table$') and home.name not in (select other.relation from tables as other) then format('alter table %s set schema app', relation)
    else audit.manual(format('If its rows are not needed: drop %s %s', replace(kind, 'partitioned ', ''), relation)) end,
  (parse_ident(owner))[1]::name
from tables
join pg_class as class on class.oid = relid
cross join lateral (select audit.name_of('app', class.relname)) as home (name)
where kind <> 'sequence' and (not ours or schema in ('deploy', 'audit') and not is_reference)
union all
select 'object_outside_schema', 'view ' || relation, concat_ws(', ', 'it is in the schema ' || schema, case when not security_invoker then 'and reads as ' || owner end),
  format('drop view %s', relation), (parse_ident(owner))[1]::name
from audit.views where not ours
union all
select 'object_outside_schema', 'function ' || function,
  concat_ws(', ', 'it is in the schema ' || functions.schema, case when leakproof then 'LEAKPROOF' end, case when language not in ('sql', 'plpgsql') then 'in ' || language end),
  case when home.name in (select object from deploy.facts where kind = 'function') and to_regprocedure(home.name) is null then format('alter routine %s set schema app', function)
    else format('drop routine %s', function) end,
  (parse_ident(functions.owner))[1]::name
from audit.functions as functions
cross join lateral (select 'app' || substr(functions.function, length(quote_ident(functions.schema)) + 1)) as home (name)
where not ours
union all
select case when coalesce(thing.schema, family_of.schema, cast_of.schema, 'pg_catalog') in ('pg_catalog', 'information_schema', 'app', 'deploy', 'audit') then 'object_in_catalog' else 'object_outside_schema' end,
  thing.type || ' ' || thing.identity, 'no chapter creates it',
  case thing.type when 'operator of access method' then regexp_replace(thing.identity, '^operator (\d+) \((.*)\) of (.*) USING (\w+)$', 'alter operator family \3 using \4 drop operator \1 (\2)')
    else format('drop %s %s%s', thing.type, thing.identity, case when thing.type = 'operator family' then ' cascade' end) end,
  null
from (
  select 'pg_operator'::regclass, oid from pg_operator
  union all select 'pg_cast'::regclass, oid from pg_cast
  union all select 'pg_opclass'::regclass, oid from pg_opclass
  union all select 'pg_opfamily'::regclass, oid from pg_opfamily
  union all select 'pg_amop'::regclass, oid from pg_amop
  union all select 'pg_am'::regclass, oid from pg_am
  union all select 'pg_transform'::regclass, oid from pg_transform
  union all select 'pg_conversion'::regclass, oid from pg_conversion
) as made (catalog, oid)
cross join lateral pg_identify_object(made.catalog, made.oid, 0) as thing
-- A cast has no schema; it affects only expressions with its types.
left join lateral (
  select min(namespace.nspname), bool_or(namespace.oid in (select schemaid from other_schemas))
  from pg_cast
  join pg_type as type on type.oid in (castsource, casttarget)
  join pg_namespace as namespace on namespace.oid = type.typnamespace
  where pg_cast.oid = made.oid and made.catalog = 'pg_cast'::regclass and namespace.nspname not in ('pg_catalog', 'information_schema', 'app', 'deploy', 'audit')
) as cast_of (schema, is_elsewhere) on true
-- Nor has an operator of an access method: it belongs to its family.
left join lateral (
  select family.oid, namespace.nspname
  from pg_amop
  join pg_opfamily as family on family.oid = amopfamily
  join pg_namespace as namespace on namespace.oid = family.opfnamespace
  where pg_amop.oid = made.oid and made.catalog = 'pg_amop'::regclass
) as family_of (oid, schema) on true
where made.oid >= 16384 and cast_of.is_elsewhere is not true
  and coalesce(to_regnamespace(quote_ident(coalesce(thing.schema, family_of.schema)))::oid, 0) not in (select schemaid from other_schemas)
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) in ((made.catalog, made.oid), ('pg_opfamily'::regclass, family_of.oid)))
union all
select 'object_in_catalog', thing.type || ' ' || thing.identity, 'it is in a schema of PostgreSQL',
  case made.catalog when 'pg_proc'::regclass then format('drop routine %s', thing.identity) else audit.manual(format('If its rows are not needed: drop %s %s', thing.type, thing.identity)) end, null
from (
  select 'pg_class'::regclass, oid, relnamespace from pg_class where relkind in ('r', 'p', 'f', 'm', 'v')
  union all
  select 'pg_proc'::regclass, oid, pronamespace from pg_proc
) as made (catalog, oid, namespace)
cross join lateral pg_identify_object(made.catalog, made.oid, 0) as thing
where made.oid >= 16384 and made.namespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = (made.catalog, made.oid))
union all
select case when built_in.replaced then 'built_in_replaced' else 'built_in_changed' end, 'function ' || audit.signature(proc.oid),
  'it is ' || concat_ws(', ', case proc.provolatile when 'i' then 'IMMUTABLE' when 's' then 'STABLE' else 'VOLATILE' end, case when proc.prosecdef then 'SECURITY DEFINER' end,
    case when proc.proleakproof then 'LEAKPROOF' end, 'in ' || language.lanname, 'of ' || proc.proowner::regrole, array_to_string(proc.proconfig, ', ')),
  case when built_in.replaced then audit.manual('Restore it as it is in template0, or the database from a backup')
    else audit.manual('Compare it with template0 (\df+), and restore it') end, null
from audit.altered_built_ins as altered
join pg_proc as proc on proc.oid = altered.funcid
join pg_language as language on language.oid = proc.prolang
-- What the context, the policies, the ids and the events depend on, by its volatility.
left join (values
    ('s', '{current_setting,now,pg_current_xact_id,format,to_json,to_jsonb,row_to_json,jsonb_build_object,jsonb_populate_record}'::name[]),
    ('v', '{set_config,clock_timestamp,gen_random_uuid,nextval,pg_current_wal_insert_lsn,pg_total_relation_size}')
  ) as meant (volatility, names) on proc.proname = any (meant.names)
cross join lateral (
  select proc.prosecdef or proc.proowner <> 10 or language.lanname not in ('internal', 'c', 'sql') or proc.proconfig is not null
    or language.lanname = 'sql' and proc.prosqlbody is null
    or proc.provolatile::text <> meant.volatility
    or proc.proisstrict and proc.proname = 'set_config' or not proc.proisstrict and proc.proname in ('current_setting', 'now', 'clock_timestamp', 'pg_current_xact_id', 'gen_random_uuid')
    -- The functions that policies and keys compare with, and those of the context and of ids, have their own code.
    or (proc.proname in ('current_setting', 'set_config', 'now', 'clock_timestamp', 'pg_current_xact_id', 'gen_random_uuid') or proc.proname ~ '^(bt)?(uuid_|enum_|text_?|timestamptz_|int[48]|bool|bytea)(eq|ne|lt|le|gt|ge|cmp)$')
      and (language.lanname <> 'internal' or proc.prosrc not in (
        replace(proc.proname, 'timestamptz_', 'timestamp_'), 'show_config_by_name', 'show_config_by_name_missing_ok', 'set_config_by_name'))
    -- Those of PostgreSQL that are LEAKPROOF compare or hash values, or are casts that cannot fail.
    or proc.proleakproof and (proc.provolatile <> 'i' or language.lanname <> 'internal' or proc.proname ~ '^(bt)?(array|jsonb|multirange|numeric|range|record)' or proc.oid not in (
      select oprcode from pg_operator where oprrest::text in ('eqsel', 'neqsel', 'scalarltsel', 'scalarlesel', 'scalargtsel', 'scalargesel')
      union all select amproc from pg_amproc where amproc::text ~ '^bt\w+cmp$'
      union all select castfunc from pg_cast where castcontext = 'i'
    ) and proc.proname !~ '^(md5|sha\d{3}|crc32c?|starts_with|(bpchar|bytea|text)_(larger|smaller))$')
) as built_in (replaced)
-- A GRANT writes the row too. initdb revokes EXECUTE on no IMMUTABLE function.
where built_in.replaced or proc.proacl is null
  or proc.provolatile = 'i' and proc.oid in (select initial.objoid from pg_init_privs as initial where initial.classoid = 'pg_proc'::regclass)
union all
-- pg_shdepend has no entries for what belongs to the bootstrap superuser. 2200 is the schema public, which the administrator of a
-- database may own.
select 'built_in_owner', thing.type || ' ' || thing.identity, 'it belongs to ' || owner.rolname,
  format('alter %s %s owner to %I', thing.type, thing.identity, pg_get_userbyid(10)), owner.rolname
from pg_shdepend as owned
join pg_roles as owner on owner.oid = owned.refobjid
cross join lateral pg_identify_object(owned.classid, owned.objid, 0) as thing
where (owned.refclassid, owned.deptype) = ('pg_authid'::regclass, 'o') and owned.objid < 16384
  and owned.dbid = (select oid from pg_database where datname = current_database()) and (owned.classid, owned.objid) <> ('pg_namespace'::regclass, 2200)
  and owned.classid not in ('pg_proc'::regclass, 'pg_largeobject'::regclass, 'pg_extension'::regclass)
union all
select 'temporary_object', thing.type || ' ' || thing.identity, 'it is temporary', format('drop %s %s cascade', thing.type, audit.name_of(namespace.nspname, made.name)), null
from (
  select 'pg_class'::regclass, oid, relnamespace, relname from pg_class where relkind in ('r', 'p', 'f', 'v', 'S')
  union all
  select 'pg_proc'::regclass, oid, pronamespace, proname from pg_proc
) as made (catalog, oid, namespace, name)
join pg_namespace as namespace on namespace.oid = made.namespace and namespace.nspname ~ '^pg_temp_'
cross join lateral pg_identify_object(made.catalog, made.oid, 0) as thing
union all
select distinct 'referenced_elsewhere', thing.type || ' ' || thing.identity, 'it refers to ' || tables.relation,
  case when con.oid is null then format('drop materialized view %s', thing.identity)
    else format('alter table %s drop constraint %I', audit.name_of(namespace.nspname, class.relname), con.conname) end, null::name
from tables
join pg_depend as needs on (needs.refclassid, needs.refobjid) = ('pg_class'::regclass, tables.relid)
left join pg_rewrite as rule on (needs.classid, needs.objid) = ('pg_rewrite'::regclass, rule.oid)
left join pg_constraint as con on (needs.classid, needs.objid) = ('pg_constraint'::regclass, con.oid) and con.contype = 'f'
join pg_class as class on class.oid = con.conrelid or class.oid = rule.ev_class and class.relkind = 'm'
join pg_namespace as namespace on namespace.oid = class.relnamespace
cross join lateral pg_identify_object(coalesce(con.tableoid, class.tableoid), coalesce(con.oid, class.oid), 0) as thing
where tables.ours and (class.relnamespace, class.relowner) in (select schemaid, ownerid from audit.elsewhere())
union all
-- Of other applications too, which audit.functions leaves out.
select 'definer_elsewhere', 'function ' || audit.signature(proc.oid), format('it runs as %s (%s), for %s', proc.proowner::regrole, owner.reasons, caller.names),
  format('alter routine %s security invoker', audit.signature(proc.oid)), owner.role
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
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_proc'::regclass, proc.oid))
union all
select 'trigger_disabled', 'trigger ' || trigger, case when keeps_foreign_key then 'it enforces a foreign key' else 'it is a trigger of the service' end,
  format('alter table %s enable trigger %I', relation, name), null
from audit.triggers where ours and not enabled
union all
select 'index_invalid', 'index ' || audit.name_of(tables.schema, class.relname), 'it is on ' || tables.relation, format('reindex index %s', audit.name_of(tables.schema, class.relname)), null
from pg_index as index
join pg_class as class on class.oid = index.indexrelid
join tables on tables.relid = index.indrelid and tables.ours
where not (index.indisvalid and index.indisready and index.indislive)
union all
select case when risky then 'extension_risky' else 'extension_unknown' end, 'extension ' || quote_ident(extension), 'it belongs to ' || owner,
  audit.manual(format('If no application uses it: drop extension %I', extension)), (parse_ident(owner))[1]::name
from audit.extensions
where extension not in (select intended.extension from audit.intended_extensions as intended)
union all
select 'extension_reachable', 'extension ' || quote_ident(extensions.extension), string_agg(distinct role.role, ', ') || ' may execute it',
  audit.manual(format('If no application uses it: drop extension %I', extensions.extension)), null::name
from audit.extensions as extensions
join audit.extension_members as member on member.extension = extensions.extension and member.classid = 'pg_proc'::regclass
join roles as role on role.purpose in ('runtime', 'capability')
where extensions.risky and has_function_privilege(role.roleid, member.objid, 'execute')
  and has_schema_privilege(role.roleid, (select pronamespace from pg_proc where pg_proc.oid = member.objid), 'usage')
group by extensions.extension
union all
select 'extension_member_added', thing.type || ' ' || thing.identity, 'it was added to ' || member.extension,
  format('alter extension %I drop %s %s', member.extension, thing.type, thing.identity), null
from audit.extension_members as member
join audit.extensions as extension on extension.extension = member.extension
cross join lateral pg_identify_object(member.classid, member.objid, 0) as thing
where extension.extid < 16384 and member.objid >= 16384
  or coalesce(thing.schema, thing.name) in ('app', 'deploy', 'audit')
union all
-- The language of an extension is reported with the extension.
select case when lanpltrusted then 'extension_unknown' else 'language_untrusted' end, 'language ' || quote_ident(lanname), case when lanpltrusted then 'it is new' else 'it is not trusted' end,
  format('drop language %I', lanname), null
from pg_language as language
where lanname not in ('internal', 'c') and not (lanname in ('sql', 'plpgsql') and lanpltrusted)
  and (not lanpltrusted or not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_language'::regclass, language.oid)))
union all
select 'publication', 'publication ' || quote_ident(pubname), 'it contains ' || string_agg(carried.name, ', ' order by carried.name), format('drop publication %I', pubname), null
from pg_publication as publication
cross join lateral (
  select 'every table' where puballtables
  union
  select 'the schema ' || nspname from pg_publication_namespace join pg_namespace as namespace on namespace.oid = pnnspid where pnpubid = publication.oid and nspname in ('app', 'deploy', 'audit')
  union
  select relation from pg_get_publication_tables(pubname) as table_of join tables on tables.relid = table_of.relid where ours and not puballtables
) as carried (name)
group by pubname
union all
select 'subscription', 'subscription ' || quote_ident(subname), 'it writes as ' || subowner::regrole,
  format('alter subscription %I disable; alter subscription %1$I set (slot_name = none); drop subscription %1$I', subname), null
from pg_subscription
where subdbid = (select oid from pg_database where datname = current_database())
union all
select 'event_trigger', 'event trigger ' || quote_ident(evtname), format('at %s, as written by %s', evtevent, evtowner::regrole), format('drop event trigger %I', evtname),
  pg_get_userbyid(evtowner)
from pg_event_trigger as event
where not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_event_trigger'::regclass, event.oid))
union all
select 'version_vulnerable', 'PostgreSQL ' || current_setting('server_version'), why, audit.manual('Update the server to the newest version of its major release'), null
from audit.intended_versions
where major = current_setting('server_version_num')::integer / 10000 and current_setting('server_version_num')::integer < minimum;
comment on view audit.server_findings is 'The findings of the checks of the server.';

create view audit.notes (topic, object, detail) with (security_invoker) as
select 'beyond row-level security', role::text,
  concat_ws(', ', string_agg(power, ', ' order by array_position(array['superuser', 'BYPASSRLS', 'REPLICATION'], power), power), nullif(accepted, 'PostgreSQL'))
from audit.powers
where accepted is not null
group by role, accepted
union all
select 'approved', name, value from deploy.approvals where kind = 'object'
union all
-- What the server has, without the settings of roles and the database; setting_preset reports those.
select 'can lose data', name, format('it is %s for the whole server', reset_val)
-- Every login may lock the view pg_settings, but not its function.
from pg_show_all_settings()
where (name in ('fsync', 'full_page_writes') and reset_val = 'off' or name in ('zero_damaged_pages', 'ignore_checksum_failure') and reset_val = 'on'
    or name = 'synchronous_commit' and reset_val in ('off', 'local', 'remote_write'))
  and name not in (select setting.name from audit.role_settings as setting where setting.of_session)
union all
select 'contains every club', slot_name::text, format('the replication slot of %s', coalesce(database::text, 'the whole server'))
from pg_replication_slots;
comment on view audit.notes is 'Facts to know that are not findings: what was approved or cannot be taken away, replication slots, and the durability of the server.';
