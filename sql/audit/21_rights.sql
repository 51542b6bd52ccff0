-- Facts: roles, memberships, settings, privileges and policies.

create view audit.roles with (security_invoker) as
select
  role.oid as roleid,
  role.rolname as role,
  intended.purpose,
  role.rolcanlogin as can_login,
  role.rolsuper as superuser,
  role.rolbypassrls as bypass_row_security,
  role.rolcreaterole as create_role,
  role.rolcreatedb as create_database,
  role.rolreplication as replication,
  role.rolinherit as inherits,
  role.rolvaliduntil as password_valid_until,
  role.rolconnlimit as connection_limit,
  shobj_description(role.oid, 'pg_authid') as comment
from pg_roles as role
left join audit.intended_roles as intended on intended.role = role.rolname;
comment on view audit.roles is 'All roles of the server, and their purpose as in audit.intended_roles: null for a role outside the service.';

create view audit.memberships with (security_invoker) as
select
  member.rolname as member,
  role.rolname as role,
  edge.admin_option as may_grant,
  -- From PostgreSQL 16 on a membership may have only ADMIN OPTION: the member cannot use the role but may grant it.
  coalesce((to_jsonb(edge) ->> 'inherit_option')::boolean, true) as inherits,
  coalesce((to_jsonb(edge) ->> 'set_option')::boolean, true) as may_become,
  edge.grantor::regrole::text as grantor,
  -- From PostgreSQL 16 on a superuser revokes what another role granted only in the name of that role.
  format('revoke %I from %I%s cascade', role.rolname, member.rolname,
    case when edge.grantor <> 10 and current_setting('server_version_num')::integer >= 160000 then ' granted by ' || edge.grantor::regrole end) as revoke
from pg_auth_members as edge
join pg_roles as member on member.oid = edge.member
join pg_roles as role on role.oid = edge.roleid;
comment on view audit.memberships is 'Direct memberships between roles.';

create view audit.role_settings with (security_invoker) as
select
  case setting.setrole when 0 then null else setting.setrole::regrole::text end as role,
  database.datname as database,
  lower(split_part(item, '=', 1)) as name,
  substr(item, strpos(item, '=') + 1) as value,
  setting.setrole in (0, (select login.oid from pg_roles as login where login.rolname = session_user)) as of_session,
  format(case when setting.setrole = 0 then 'alter %s reset %s' when database.datname is null then 'alter role %3$s reset %2$s' else 'alter role %3$s in %1$s reset %2$s' end,
    coalesce('database ' || quote_ident(database.datname), 'role all'), split_part(item, '=', 1), nullif(setting.setrole, 0)::regrole) as reset
from pg_db_role_setting as setting
cross join lateral unnest(setting.setconfig) as item
left join pg_database as database on database.oid = setting.setdatabase
where setting.setdatabase = 0 or database.datname = current_database();
comment on view audit.role_settings is 'The settings by ALTER ROLE … SET and ALTER DATABASE … SET for sessions of this database. Without a role they are for all; of_session says that this session has them, reset is SQL that removes one.';

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
  -- Before PostgreSQL 18 a dropped column keeps its privileges.
  where attribute.attacl is not null and not attribute.attisdropped
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
),
-- One row also for a privilege that several roles have granted.
held as (
  select kind, name, column_name, ours, is_reference, owner, acl.grantee, lower(acl.privilege_type) as privilege, bool_or(acl.is_grantable) as may_grant,
    array_agg(acl.grantor::regrole) filter (where acl.grantor <> object.owner) as handed_on_by
  from object
  cross join lateral aclexplode(object.acl) as acl
  where acl.grantee <> object.owner
  group by kind, name, column_name, ours, is_reference, owner, acl.grantee, acl.privilege_type
)
select
  held.kind,
  held.name as object,
  held.column_name,
  held.ours,
  held.is_reference,
  held.owner::regrole::text as owner,
  case held.grantee when 0 then 'public' else coalesce(grantee.rolname, held.grantee::text) end as grantee,
  held.privilege,
  held.may_grant,
  concat_ws('; ',
    format('revoke %s from %s cascade', what.it, case held.grantee when 0 then 'public' else held.grantee::regrole::text end),
    -- The owner cannot revoke what another role granted, but the GRANT OPTION of that role and what depends on it.
    (select string_agg(format('revoke grant option for %s from %s cascade', what.it, grantor), '; ' order by grantor::text) from unnest(held.handed_on_by) as grantor)
  ) as revoke
from held
cross join lateral (
  select format('%s%s on %s %s', held.privilege, ' (' || quote_ident(held.column_name) || ')', held.kind, held.name)
) as what (it)
left join pg_roles as grantee on grantee.oid = held.grantee;
comment on view audit.privileges is 'The granted privileges, without those of owners: on the database, its schemas, relations, columns, routines, types, large objects and foreign servers, and on parameters.';

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
comment on view audit.policies is 'Policies. A restrictive policy limits what all permissive policies allow. A floor is a restrictive policy that allows only rows of the tenant of the transaction.';
