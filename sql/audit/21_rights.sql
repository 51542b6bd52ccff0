-- Facts: roles, what they hold, and the policies that bind them.

create view audit.roles with (security_invoker) as
select
  role.oid as roleid,
  role.rolname as role,
  intended.purpose,
  provider.provider,
  role.rolcanlogin as can_login,
  role.rolsuper as superuser,
  role.rolbypassrls as bypass_row_security,
  role.rolcreaterole as create_role,
  role.rolcreatedb as create_database,
  role.rolreplication as replication,
  shobj_description(role.oid, 'pg_authid') as comment
from pg_roles as role
left join audit.intended_roles as intended on intended.role = role.rolname
left join audit.provider_roles as provider on provider.role = role.rolname;
comment on view audit.roles is 'All roles of the server, and what they are to the service.';
comment on column audit.roles.roleid is 'Its number in pg_authid.';
comment on column audit.roles.role is 'Its name.';
comment on column audit.roles.purpose is 'What the service has it for; null when it is not the service''s.';
comment on column audit.roles.provider is 'Which provider''s it is; null when it is none''s.';
comment on column audit.roles.can_login is 'Whether it logs in.';
comment on column audit.roles.superuser is 'Whether nothing binds it.';
comment on column audit.roles.bypass_row_security is 'Whether policies do not bind it.';
comment on column audit.roles.create_role is 'Whether it makes roles and hands them on.';
comment on column audit.roles.create_database is 'Whether it makes databases.';
comment on column audit.roles.replication is 'Whether it may read the whole server as a replica.';
comment on column audit.roles.comment is 'What it is for.';

create view audit.memberships with (security_invoker) as
select
  member.rolname as member,
  role.rolname as role,
  edge.admin_option as may_grant,
  -- From PostgreSQL 16 a membership may be for the administrator alone, who cannot use it but may hand it on.
  coalesce((to_jsonb(edge) ->> 'inherit_option')::boolean, true) as inherits,
  coalesce((to_jsonb(edge) ->> 'set_option')::boolean, true) as may_become,
  edge.grantor::regrole::text as grantor
from pg_auth_members as edge
join pg_roles as member on member.oid = edge.member
join pg_roles as role on role.oid = edge.roleid;
comment on view audit.memberships is 'Who belongs to whom, directly.';
comment on column audit.memberships.member is 'The role that belongs to another.';
comment on column audit.memberships.role is 'The role that it belongs to.';
comment on column audit.memberships.may_grant is 'Whether it may hand the membership on.';
comment on column audit.memberships.inherits is 'Whether it has the other''s rights without further ado.';
comment on column audit.memberships.may_become is 'Whether SET ROLE is open to it.';
comment on column audit.memberships.grantor is 'Who gave it.';

create view audit.role_settings with (security_invoker) as
select
  case setting.setrole when 0 then null else setting.setrole::regrole::text end as role,
  database.datname as database,
  lower(split_part(item, '=', 1)) as name,
  substr(item, strpos(item, '=') + 1) as value
from pg_db_role_setting as setting
cross join lateral unnest(setting.setconfig) as item
left join pg_database as database on database.oid = setting.setdatabase
where setting.setdatabase = 0 or database.datname = current_database();
comment on view audit.role_settings is 'What ALTER ROLE … SET and ALTER DATABASE … SET hold for sessions of this database.';
comment on column audit.role_settings.role is 'The role; null for everybody.';
comment on column audit.role_settings.database is 'The database; null for all of them.';
comment on column audit.role_settings.name is 'The setting, in lower case.';
comment on column audit.role_settings.value is 'Its value.';

create view audit.privileges with (security_invoker) as
with object (kind, name, column_name, ours, is_reference, owner, acl) as (
  select 'database', quote_ident(datname), null::name, true, false, datdba, coalesce(datacl, acldefault('d', datdba))
  from pg_database where datname = current_database()
  union all
  select 'schema', quote_ident(schema.name), null, schema.ours, false, nspowner, coalesce(nspacl, acldefault('n', nspowner))
  from pg_namespace join audit.schemas as schema using (oid)
  union all
  select case class.relkind when 'S' then 'sequence' else 'table' end, audit.name_of(schema.name, class.relname), null,
    schema.ours, reference.relation is not null, class.relowner,
    coalesce(class.relacl, acldefault(case class.relkind when 'S' then 's' else 'r' end::"char", class.relowner))
  from pg_class as class
  join audit.schemas as schema on schema.oid = class.relnamespace
  left join audit.intended_reference_tables as reference on reference.relation = audit.name_of(schema.name, class.relname)
  where class.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  union all
  select 'table', audit.name_of(schema.name, class.relname), attribute.attname,
    schema.ours, reference.relation is not null, class.relowner, attribute.attacl
  from pg_attribute as attribute
  join pg_class as class on class.oid = attribute.attrelid
  join audit.schemas as schema on schema.oid = class.relnamespace
  left join audit.intended_reference_tables as reference on reference.relation = audit.name_of(schema.name, class.relname)
  where attribute.attacl is not null
  union all
  select 'routine', audit.signature(proc.oid), null, schema.ours, false, proc.proowner, coalesce(proc.proacl, acldefault('f', proc.proowner))
  from pg_proc as proc join audit.schemas as schema on schema.oid = proc.pronamespace
  union all
  select 'type', audit.type_name(type.oid), null, schema.ours, false, type.typowner, type.typacl
  from pg_type as type join audit.schemas as schema on schema.oid = type.typnamespace where type.typacl is not null
  union all
  select 'large object', oid::text, null, true, false, lomowner, lomacl from pg_largeobject_metadata where lomacl is not null
  union all
  select 'foreign server', quote_ident(srvname), null, true, false, srvowner, srvacl from pg_foreign_server
  union all
  select 'foreign data wrapper', quote_ident(fdwname), null, true, false, fdwowner, fdwacl from pg_foreign_data_wrapper
  union all
  select 'parameter', parname, null, true, false, 10::oid, paracl from pg_parameter_acl
)
select
  object.kind,
  object.name as object,
  object.column_name,
  object.ours,
  object.is_reference,
  object.owner::regrole::text as owner,
  case held.grantee when 0 then 'public' else coalesce(grantee.rolname, held.grantee::text) end as grantee,
  lower(held.privilege_type) as privilege,
  held.is_grantable as may_grant
from object
cross join lateral aclexplode(object.acl) as held
left join pg_roles as grantee on grantee.oid = held.grantee
where held.grantee <> object.owner;
comment on view audit.privileges is 'Who holds what, the owners aside: on the database, its schemas, relations, columns, routines, types, large objects and foreign servers, and on parameters.';
comment on column audit.privileges.kind is 'database, schema, table (a view as well), sequence, routine, type, large object, foreign server, foreign data wrapper or parameter.';
comment on column audit.privileges.object is 'Its qualified name.';
comment on column audit.privileges.column_name is 'The column, when the privilege is on a single one.';
comment on column audit.privileges.ours is 'Whether it is in a schema of the service, or outside of all schemas.';
comment on column audit.privileges.is_reference is 'Whether it is a table that is meant to have no tenant.';
comment on column audit.privileges.owner is 'Who owns the object.';
comment on column audit.privileges.grantee is 'Who holds the privilege; public is everybody.';
comment on column audit.privileges.privilege is 'What it allows.';
comment on column audit.privileges.may_grant is 'Whether the holder may hand it on.';

create view audit.policies with (security_invoker) as
select
  policy.oid as policyid,
  tables.relation || '.' || quote_ident(policy.polname) as policy,
  policy.polname as name,
  tables.relation,
  tables.ours,
  tables.tenant_column,
  not policy.polpermissive as restrictive,
  case policy.polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end as command,
  array(
    select coalesce(role.rolname, 'public') from unnest(policy.polroles) as id left join pg_roles as role on role.oid = id order by 1
  ) as roles,
  audit.expression(policy.polqual, policy.polrelid) as using_expression,
  audit.expression(policy.polwithcheck, policy.polrelid) as check_expression,
  obj_description(policy.oid, 'pg_policy') as comment
from pg_policy as policy
join audit.tables as tables on tables.relid = policy.polrelid;
comment on view audit.policies is 'Policies. A restrictive one holds whatever permissive ones say; a floor is one that keeps a row to its tenant.';
comment on column audit.policies.policyid is 'Its number in pg_policy.';
comment on column audit.policies.policy is 'The table and the policy.';
comment on column audit.policies.name is 'The policy''s name.';
comment on column audit.policies.relation is 'The table.';
comment on column audit.policies.ours is 'Whether the table is in a schema of the service.';
comment on column audit.policies.tenant_column is 'The column that says whose a row of the table is.';
comment on column audit.policies.restrictive is 'Whether it narrows what the others allow.';
comment on column audit.policies.command is 'all, select, insert, update or delete.';
comment on column audit.policies.roles is 'Whom it binds; public is everybody.';
comment on column audit.policies.using_expression is 'Which rows can be reached.';
comment on column audit.policies.check_expression is 'Which rows can be written; null when using_expression says that as well.';
comment on column audit.policies.comment is 'Why it is as it is.';
