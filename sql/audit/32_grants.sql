-- Grants to others than the roles of the service, and privileges of the service outside of its schemas.

create view audit.grant_checks (code, severity, title, why) with (security_invoker) as values
  ('granted_to_public', 'critical', 'PUBLIC has a privilege in the schema app', 'Every role has it, including roles that are created later. EXECUTE is PostgreSQL''s default for new functions.'),
  ('granted_to_stranger', 'critical', 'A role outside the service has a privilege in the schema app', 'The roles of the service are in audit.intended_roles.'),
  ('granted_to_auditor', 'critical', 'The auditor has a privilege on tenant data', 'It must read the schema audit only, and no row of a club.'),
  ('granted_outside_app', 'warning', 'PUBLIC or a role outside the service has a privilege in the schema deploy or audit', 'These schemas have no row of a club. They show how the clubs are isolated.'),
  ('default_privileges', 'warning', 'Default privileges grant new objects', 'A new object of the service, or of its roles, would be accessible before a review.'),
  ('schema_create_outside', 'warning', 'A role may create in a schema of no application', 'No chapter creates such objects. The search path of the service does not have that schema; the default of other logins has public.'),
  ('schema_shared', 'warning', 'A role of the service has a privilege on a schema of another application', 'The objects there are not checked. The search path of the service does not have that schema, so no name resolves to them by mistake.'),
  ('database_privilege', 'warning', 'A role may create schemas or temporary tables, or PUBLIC may connect', 'Only club_owner needs CREATE on the database, and only the logins of the service CONNECT. Temporary tables have no policies, and their names are resolved first unless the search path has pg_temp last.'),
  ('hand_on_outside_schema', 'warning', 'A role of the service has a privilege with GRANT OPTION outside of its schemas', 'It needs none: only the chapters may grant privileges.'),
  ('system_object_granted', 'critical', 'A role of the service or PUBLIC has a privilege on an object of PostgreSQL that it does not have by default', 'Such objects give access to statistics, files, passwords, other sessions and, in pg_toast, the long values of all rows.'),
  ('system_object_lent', 'warning', 'A role outside the service has a privilege on an object of PostgreSQL with rows, passwords or files', 'Statistics and pg_toast have values of the rows of every club. No policy applies to them.'),
  ('parameter_granted', 'critical', 'A role of the service or PUBLIC may set a superuser parameter', 'session_replication_role, for example, disables triggers and foreign keys.'),
  ('tablespace_granted', 'warning', 'A role of the service or PUBLIC may create in a tablespace', 'The service needs none but the default of the database.'),
  ('large_object_shared', 'warning', 'A large object belongs to a role of the service, or can be read or written by others than its owner', 'PostgreSQL has no row-level security for large objects, and what one contains is not known.'),
  ('foreign_server_granted', 'warning', 'A role of the service may use a foreign server', 'Row-level security does not apply to data that is read or written there.');
comment on view audit.grant_checks is 'The checks of grants.';

create view audit.grant_findings (code, object, detail, fix, role) with (security_invoker) as
with roles as (select * from audit.roles),
held as (
  select privilege.*, holder.purpose, holder.superuser is true as superuser, case when holder.purpose is null then holder.role end as outsider,
    format('grant %s on %s %s to %s', privilege, kind, object || coalesce('.' || quote_ident(column_name), ''), grantee) as name
  from audit.privileges as privilege
  left join roles as holder on holder.role = privilege.grantee
), other_schema as (
  select schemaid::regnamespace::text as name from audit.other_schemas
)
select case when object !~ '^app(\.|$)' then 'granted_outside_app' when grantee = 'public' then 'granted_to_public' else 'granted_to_stranger' end,
  name, 'it is not a role of the service', revoke, null::name
from held
where ours and kind in ('schema', 'table', 'sequence', 'routine', 'type') and purpose is null
  -- PUBLIC may use every type by default.
  and not (grantee = 'public' and kind = 'type')
union all
select 'granted_to_auditor', name, 'the auditor reads no row of a club', revoke, null
from held
where ours and purpose = 'auditor'
  and (kind in ('schema', 'table', 'sequence', 'routine') and object ~ '^app(\.|$)' and not (is_reference and privilege = 'select')
    or kind in ('table', 'type') and object !~ '^audit\.' and privilege <> 'select')
union all
select 'schema_create_outside', name, 'a role may create there', revoke, (parse_ident(owner))[1]::name
from held
where kind = 'schema' and privilege = 'create' and not ours and grantee <> 'pg_database_owner' and object not in (select other_schema.name from other_schema)
union all
select 'schema_shared', name, 'it is a schema of another application', revoke, null
from held
where kind = 'schema' and object in (select other_schema.name from other_schema) and (grantee = 'public' or purpose is not null)
  -- As initdb grants it, even where a provider owns the schema.
  and (object, grantee, privilege) <> ('public', 'public', 'usage')
union all
select 'database_privilege', format('grant %s on database to %s', privilege, grantee), 'the service grants it to its own roles only', revoke, outsider
from held
where kind = 'database' and (privilege = 'create' and purpose is distinct from 'owner'
  -- A temporary table of another application affects only its own sessions.
  or privilege = 'temporary' and grantee not in (select other.role from audit.other_applications join roles as other using (roleid))
  or privilege = 'connect' and grantee = 'public')
union all
select 'hand_on_outside_schema', name, 'it may be handed on', regexp_replace(revoke, '^revoke ', 'revoke grant option for '), null
from held where may_grant and purpose is not null and kind not in ('schema', 'table', 'sequence', 'routine', 'type', 'large object')
union all
select 'parameter_granted', name, 'only a superuser may', revoke, null
from held where kind = 'parameter' and (purpose is not null or grantee = 'public')
union all
select 'foreign_server_granted', name, 'no policy applies there', revoke, null
from held where kind in ('foreign server', 'foreign data wrapper') and (purpose is not null or grantee = 'public')
union all
select 'foreign_server_granted', 'user mapping for public server ' || quote_ident(srvname), 'it is for every role', format('drop user mapping for public server %I', srvname), null
from pg_user_mappings where umuser = 0
union all
select 'large_object_shared', 'large objects of ' || owner, format('others have %s of %s, such as %s: %s', string_agg(distinct privilege, ' and '), count(distinct object),
    min(object::bigint), string_agg(distinct grantee, ', ')), string_agg(revoke, '; ' order by object::bigint, name), null
from held where kind = 'large object' and not superuser
group by owner
union all
select 'large_object_shared', 'large objects of ' || owner.role, format('it owns %s, such as %s', count(*), min(large.objid::bigint)),
  string_agg(format('alter large object %s owner to club_owner', large.objid), '; ' order by large.objid), null
from roles as owner
join pg_shdepend as large on (large.refclassid, large.refobjid, large.classid, large.deptype) = ('pg_authid'::regclass, owner.roleid, 'pg_largeobject'::regclass, 'o')
  and large.dbid = (select oid from pg_database where datname = current_database())
where owner.purpose <> 'owner'
group by owner.role
union all
-- Other applications may have them for their own objects and roles, but not for large objects, which have no schema.
select 'default_privileges', format('default privileges of %s on %s%s', quote_ident(maker.role), kind.name, coalesce(' in ' || quote_ident(nspname), '')),
  string_agg(format('%s to %s', lower(given.privilege_type), coalesce(quote_ident(holder.role), 'public')), ', ' order by holder.role, given.privilege_type),
  string_agg(distinct format('alter default privileges for role %I%s revoke all on %s from %s', maker.role, ' in schema ' || quote_ident(nspname), kind.name,
    coalesce(quote_ident(holder.role), 'public')), '; '), case when maker.purpose is null then maker.role end
from pg_default_acl as initial
join roles as maker on maker.roleid = initial.defaclrole
left join pg_namespace as namespace on namespace.oid = initial.defaclnamespace
cross join lateral (
  select case initial.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types' when 'n' then 'schemas' else 'large objects' end
) as kind (name)
cross join lateral aclexplode(initial.defaclacl) as given
left join roles as holder on holder.roleid = given.grantee
where given.grantee <> initial.defaclrole
  and (maker.purpose is not null or holder.purpose is not null or initial.defaclobjtype = 'L' or nspname in ('app', 'deploy', 'audit')
    or nspname is null and maker.roleid not in (select other.roleid from audit.other_applications as other))
group by maker.role, maker.purpose, kind.name, nspname
union all
select 'default_privileges', format('default privileges of %s on functions', role), 'execute to public',
  format('alter default privileges for role %I revoke execute on functions from public', role), null
from roles
where purpose in ('owner', 'capability') and roleid not in (
  select initial.defaclrole from pg_default_acl as initial where initial.defaclnamespace = 0 and initial.defaclobjtype = 'f'
)
union all
select
  case when object.kind = 'tablespace' then 'tablespace_granted' when given.grantee <> 0 and holder.purpose is null then 'system_object_lent' else 'system_object_granted' end,
  object.kind || ' ' || thing.identity, string_agg(distinct format('%s to %s', lower(given.privilege_type), coalesce(quote_ident(holder.role), 'public')), ', '),
  string_agg(distinct format('revoke %s%s on %s %s from %s cascade', lower(given.privilege_type), ' (' || quote_ident(object.column_name) || ')', object.kind,
    thing.identity, coalesce(quote_ident(holder.role), 'public')), '; '),
  case when object.kind = 'tablespace' then pg_get_userbyid(object.owner) when holder.purpose is null then holder.role end
from (
  select 'table', 'pg_class'::regclass, oid, 0, relname, null::name, relacl, relnamespace, relowner from pg_class where relacl is not null
  union all
  select 'table', 'pg_class'::regclass, class.oid, attnum, relname, attname, attacl, relnamespace, relowner
  from pg_attribute join pg_class as class on class.oid = attrelid where attacl is not null and not attisdropped
  union all
  select 'routine', 'pg_proc'::regclass, oid, 0, proname, null, proacl, pronamespace, proowner from pg_proc where proacl is not null
  union all
  select 'language', 'pg_language'::regclass, oid, 0, lanname, null, lanacl, 'pg_catalog'::regnamespace, lanowner from pg_language where lanacl is not null
  union all
  select 'schema', 'pg_namespace'::regclass, oid, 0, nspname, null, nspacl, oid, nspowner from pg_namespace where nspacl is not null
  union all
  select 'tablespace', 'pg_tablespace'::regclass, oid, 0, spcname, null, spcacl, 'pg_catalog'::regnamespace, spcowner from pg_tablespace where spcacl is not null
) as object (kind, catalog, oid, number, name, column_name, acl, namespace, owner)
cross join lateral aclexplode(object.acl) as given
left join roles as holder on holder.roleid = given.grantee
cross join lateral pg_identify_object(object.catalog, object.oid, 0) as thing
where object.namespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
  and given.grantee <> object.owner
  and (given.grantee = 0 or holder.purpose is not null
    -- For every role: values of all rows, passwords, files and names that are looked up first. Other privileges of other
    -- applications, such as to list files or to begin a backup, are not findings.
    or object.namespace = 'pg_toast'::regnamespace or object.kind = 'schema' and given.privilege_type = 'CREATE'
    or object.name in ('pg_statistic', 'pg_statistic_ext_data', 'pg_largeobject', 'pg_authid', 'pg_shadow', 'pg_read_file', 'pg_read_binary_file',
      'lo_import', 'lo_export'))
  and not (given.grantee = 0 and object.namespace = 'information_schema'::regnamespace and lower(given.privilege_type) in ('select', 'usage'))
  -- Privileges that initdb and extensions grant.
  and not exists (
    select from pg_init_privs as initial
    cross join lateral aclexplode(initial.initprivs) as given_at_first
    where (initial.classoid, initial.objoid, initial.objsubid) = (object.catalog, object.oid, object.number)
      and (given_at_first.grantee, given_at_first.privilege_type) = (given.grantee, given.privilege_type)
  )
  and not (given.grantee = 0 and object.kind in ('routine', 'language') and not exists (
    select from pg_init_privs as initial where (initial.classoid, initial.objoid, initial.objsubid) = (object.catalog, object.oid, object.number)
  ))
group by 1, 2, 5;
comment on view audit.grant_findings is 'The findings of the checks of grants.';
