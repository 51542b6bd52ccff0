-- Checks of the server. And notes: roles, extensions and slots of a provider or an administrator.

create view audit.server_checks (code, severity, title, why) with (security_invoker) as values
  ('extension_risky', 'warning', 'An extension bypasses row-level security', 'It reads pages, files, other servers or the write-ahead log, to which no policy applies.'),
  ('extension_reachable', 'critical', 'The running service may execute an extension that bypasses row-level security', 'An SQL injection could call it.'),
  ('extension_unknown', 'warning', 'An extension is not intended', 'Its functions were not reviewed. The intended ones are in audit.intended_extensions.'),
  ('extension_member_added', 'critical', 'An object was added to an extension by hand', 'The checks skip the objects of extensions, so it hides the object from them.'),
  ('language_untrusted', 'warning', 'A language is not trusted', 'Its functions have the rights of the operating system user of the server.'),
  ('language_unknown', 'warning', 'A language is not intended', 'The checks of this audit cannot read its functions.'),
  ('publication', 'warning', 'A publication carries tables of the service', 'A subscriber receives the rows of every club; policies do not apply to replication.'),
  ('subscription', 'warning', 'A subscription writes into this database', 'The triggers and policies of the service do not apply to its writes.'),
  ('event_trigger', 'warning', 'There is an event trigger', 'It runs at changes of the schema, with the privileges of the deploy.'),
  ('version_vulnerable', 'warning', 'The version of PostgreSQL has a known vulnerability in row-level security', 'Update it to at least the version in audit.intended_versions.'),
  ('built_in_owner', 'warning', 'An object of PostgreSQL belongs to another role', 'That role may change it, or create in it: names are looked up in pg_catalog first.'),
  ('system_tables_open', 'warning', 'allow_system_table_mods is on', 'A role that may write the catalogs can become a superuser.'),
  ('triggers_off', 'warning', 'session_replication_role is not origin', 'With replica, neither the triggers of the service nor the checks of foreign keys run. local runs both, but nothing in the service sets it.');
comment on view audit.server_checks is 'The checks of the server.';
comment on column audit.server_checks.code is 'Its name, for audit.findings.';
comment on column audit.server_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.server_checks.title is 'What it finds.';
comment on column audit.server_checks.why is 'Why it matters.';

create view audit.extensions with (security_invoker) as
select
  extension.oid as extid,
  extension.extname as extension,
  extension.extversion as version,
  extension.extowner::regrole::text as owner,
  extension.extname = any (array[
    'dblink', 'postgres_fdw', 'file_fdw', 'adminpack', 'pageinspect', 'pg_walinspect', 'pg_surgery', 'pg_visibility', 'pg_freespacemap',
    'pg_buffercache', 'pg_prewarm', 'amcheck', 'pgrowlocks', 'pgstattuple', 'xml2', 'old_snapshot', 'http', 'pg_net', 'pg_cron',
    'pg_background', 'plsh', 'aws_s3', 'aws_lambda', 'aws_commons', 'pglogical', 'pgaudit_analyze', 'orafce', 'dblink_plus'
  ]) or extension.extname ~ '(_fdw|u)$' and extension.extname ~ '^pl|_fdw$' as risky,
  provider.provider
from pg_extension as extension
left join audit.excused_roles as provider on provider.role = pg_get_userbyid(extension.extowner);
comment on view audit.extensions is 'The extensions of this database.';
comment on column audit.extensions.extid is 'Its number in pg_extension.';
comment on column audit.extensions.extension is 'Its name.';
comment on column audit.extensions.version is 'Its version.';
comment on column audit.extensions.owner is 'Its owner.';
comment on column audit.extensions.risky is 'Whether it reads or writes data to which no policy applies.';
comment on column audit.extensions.provider is 'The provider that created it; null for others.';

create view audit.server_findings (code, object, detail, fix) with (security_invoker) as
with own_table as (select relid, relation from audit.tables where ours)
select case when risky then 'extension_risky' else 'extension_unknown' end, extension::text, 'it belongs to ' || owner, format('drop extension %I cascade', extension)
from audit.extensions
where provider is null and extension not in (select intended.extension from audit.intended_extensions as intended)
union all
select distinct 'extension_reachable', extensions.extension::text, role.role || ' may execute it', format('drop extension %I cascade', extensions.extension)
from audit.extensions as extensions
join audit.extension_members as member on member.extension = extensions.extension and member.classid = 'pg_proc'::regclass
join audit.roles as role on role.purpose in ('runtime', 'capability')
where extensions.risky and has_function_privilege(role.roleid, member.objid, 'execute')
  and has_schema_privilege(role.roleid, (select pronamespace from pg_proc where pg_proc.oid = member.objid), 'usage')
union all
-- 16384 is the first number that PostgreSQL gives to an object made after initdb.
select 'extension_member_added', thing.identity, format('a %s, added to %s', thing.type, member.extension),
  format('alter extension %I drop %s %s', member.extension, thing.type, thing.identity)
from audit.extension_members as member
join audit.extensions as extension on extension.extension = member.extension
cross join lateral pg_identify_object(member.classid, member.objid, 0) as thing
where extension.extid < 16384 and member.objid >= 16384
  or coalesce(thing.schema, thing.name) in ('app', 'deploy', 'audit')
union all
select case when lanpltrusted then 'language_unknown' else 'language_untrusted' end, lanname::text, case when lanpltrusted then 'it is new' else 'it is not trusted' end,
  format('drop language %I cascade', lanname)
from pg_language as language
where lanname not in ('internal', 'c') and not (lanname in ('sql', 'plpgsql') and lanpltrusted)
  -- The language of an extension is reported with the extension.
  and (not lanpltrusted or not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_language'::regclass, language.oid)))
union all
select distinct 'publication', publication.pubname::text, 'it contains ' || own_table.relation,
  format('drop publication %I', publication.pubname)
from pg_publication as publication
join lateral pg_get_publication_tables(publication.pubname) as carried on true
join own_table on own_table.relid = carried.relid
union all
select 'publication', publication.pubname::text, 'it contains every table', format('drop publication %I', publication.pubname)
from pg_publication as publication where publication.puballtables
union all
select 'publication', publication.pubname::text, 'it contains the schema ' || namespace.nspname, format('drop publication %I', publication.pubname)
from pg_publication as publication
join pg_publication_namespace as carried on carried.pnpubid = publication.oid
join pg_namespace as namespace on namespace.oid = carried.pnnspid
where namespace.nspname in ('app', 'deploy', 'audit')
union all
select 'subscription', subname::text, 'it writes as ' || subowner::regrole,
  format('alter subscription %I disable; alter subscription %1$I set (slot_name = none); drop subscription %1$I', subname)
from pg_subscription
where subdbid = (select oid from pg_database where datname = current_database())
union all
select 'event_trigger', evtname::text, format('at %s, as written by %s', evtevent, evtowner::regrole), format('drop event trigger %I', evtname)
from pg_event_trigger as event
where pg_get_userbyid(evtowner) not in (select role from audit.excused_roles)
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_event_trigger'::regclass, event.oid))
union all
select 'version_vulnerable', 'PostgreSQL ' || current_setting('server_version'), why, '-- Update the server to the newest version of its major release.'
from audit.intended_versions
where major = current_setting('server_version_num')::integer / 10000 and current_setting('server_version_num')::integer < minimum
union all
-- pg_shdepend has no entries for what belongs to the bootstrap superuser. function_in_catalog reports functions.
select 'built_in_owner', thing.identity, format('the %s belongs to %s', thing.type, owner.rolname),
  format('alter %s %s owner to %I', thing.type, thing.identity, pg_get_userbyid(10))
from pg_shdepend as owned
join pg_roles as owner on owner.oid = owned.refobjid
cross join lateral pg_identify_object(owned.classid, owned.objid, 0) as thing
where (owned.refclassid, owned.deptype) = ('pg_authid'::regclass, 'o') and owned.objid < 16384
  and owned.dbid = (select oid from pg_database where datname = current_database())
  -- 2200 is the schema public, which the administrator of a database may own.
  and (owned.classid, owned.objid) <> ('pg_namespace'::regclass, 2200)
  and owned.classid not in ('pg_proc'::regclass, 'pg_largeobject'::regclass, 'pg_extension'::regclass)
  and owner.rolname not in (select role from audit.excused_roles)
union all
select 'system_tables_open', 'allow_system_table_mods', 'it is on', 'set allow_system_table_mods = off; -- and take it out of the configuration'
where current_setting('allow_system_table_mods')::boolean
union all
select 'triggers_off', 'session_replication_role', 'it is ' || current_setting('session_replication_role'), 'set session_replication_role = origin'
where current_setting('session_replication_role') <> 'origin';
comment on view audit.server_findings is 'The findings of the checks of the server.';
comment on column audit.server_findings.code is 'The check.';
comment on column audit.server_findings.object is 'The object.';
comment on column audit.server_findings.detail is 'What is wrong with it.';
comment on column audit.server_findings.fix is 'SQL that repairs it.';

create view audit.notes (topic, object, detail) with (security_invoker) as
select 'beyond row-level security', role::text,
  concat_ws(', ', string_agg(power, ', ' order by array_position(array['superuser', 'BYPASSRLS', 'REPLICATION'], power), power), nullif(accepted, 'PostgreSQL'))
from audit.powers
where accepted is not null
group by role, accepted
union all
select 'of the provider', role::text, format('a role of %s', provider)
from audit.roles where provider is not null
union all
select 'of the provider', extension::text, format('the extension belongs to %s', provider)
from audit.extensions where provider is not null
union all
-- What the server has, without the settings of roles and the database; setting_loses_data reports those.
select 'can lose data', name, format('it is %s for the whole server', reset_val)
-- Every login may lock the view pg_settings, but not its function.
from pg_show_all_settings()
where (name in ('fsync', 'full_page_writes') and reset_val = 'off' or name in ('zero_damaged_pages', 'ignore_checksum_failure') and reset_val = 'on'
    or name = 'synchronous_commit' and reset_val in ('off', 'local', 'remote_write'))
  and name not in (select setting.name from audit.role_settings as setting where setting.of_session)
union all
select 'contains every club', slot_name::text, format('the replication slot of %s', coalesce(database::text, 'the whole server'))
from pg_replication_slots;
comment on view audit.notes is 'Facts to know that are not findings: powers of roles outside the service (audit.powers) that were approved or cannot be taken away; extensions of a provider; replication slots; durability of the server.';
comment on column audit.notes.topic is 'The kind of note.';
comment on column audit.notes.object is 'The role or object.';
comment on column audit.notes.detail is 'What it may do or contains.';
