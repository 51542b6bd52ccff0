-- Checks: grants.

create view audit.grant_checks (code, severity, title, why) with (security_invoker) as values
  ('granted_to_public', 'critical', 'Everybody holds a privilege', 'A role that is made tomorrow holds it too.'),
  ('granted_to_stranger', 'critical', 'A role that the service does not know holds a privilege', 'See audit.intended_roles.'),
  ('granted_to_auditor', 'critical', 'The auditor holds a privilege on tenant data', 'It reads the schema audit, and no row of a club.'),
  ('grant_truncate', 'critical', 'TRUNCATE is granted', 'Row-level security does not apply to it: it empties every club.'),
  ('grant_references', 'critical', 'REFERENCES is granted', 'A foreign key looks past row-level security and tells whether another club''s row exists.'),
  ('grant_trigger', 'critical', 'TRIGGER is granted', 'A trigger runs inside other people''s statements.'),
  ('grant_maintain', 'warning', 'MAINTAIN is granted', 'It locks whole tables, for every club.'),
  ('grant_table_wide', 'warning', 'INSERT or UPDATE is granted on a whole table', 'It includes the columns that only the server writes, and those of tomorrow.'),
  ('grant_tenant_column', 'critical', 'The tenant of a row may be written', 'The floor alone keeps a row from being handed to another club.'),
  ('grant_hand_on', 'critical', 'A privilege may be handed on', 'Who holds what is decided in the chapters.'),
  ('grant_without_policy', 'warning', 'A privilege is held that no policy lets anybody use', 'It waits for a policy that somebody adds one day.'),
  ('grant_server_column', 'critical', 'The running service may write what only the server writes', 'A column that is filled in by default, an id, an author or a counter, could be made up. What requests change all the same is in audit.intended_updates.'),
  ('operator_function_granted', 'critical', 'A role other than the deploy may call what operators call', 'It makes, closes and changes clubs, or says what the audit compares with.'),
  ('reference_table_writable', 'critical', 'Reference data may be written', 'It is the same for every club: one could change the rules of the others.'),
  ('schema_create', 'critical', 'A role may create in a schema', 'What it puts there may be found before the service''s own objects.'),
  ('database_create', 'warning', 'A role may create schemas', 'Only the owner of the objects needs that.'),
  ('database_temporary', 'critical', 'A role may make temporary tables', 'They are under no policy, and their names come before the service''s own unless the search path says otherwise.'),
  ('database_connect_public', 'warning', 'Everybody may connect', 'Only the logins of the service need to.'),
  ('default_privileges', 'critical', 'What is made tomorrow is granted today', 'A new table or function would be open before anybody looked at it.'),
  ('system_object_granted', 'critical', 'A role of the service holds a privilege on an object of PostgreSQL', 'Statistics, files, passwords and other sessions are behind them.'),
  ('large_object_granted', 'critical', 'A large object is open', 'It holds data of any club, and row-level security does not exist for it.'),
  ('parameter_granted', 'critical', 'A role may set a parameter that only superusers set', 'session_replication_role switches triggers and foreign keys off.'),
  ('foreign_server_granted', 'critical', 'A role of the service may use a foreign server', 'What comes and goes there is under no policy.');
comment on view audit.grant_checks is 'The checks of grants.';
comment on column audit.grant_checks.code is 'Its name, for audit.findings.';
comment on column audit.grant_checks.severity is 'critical: a club can reach another; warning: anything else.';
comment on column audit.grant_checks.title is 'What it finds.';
comment on column audit.grant_checks.why is 'Why that matters.';

create view audit.grant_findings (code, object, detail, fix) with (security_invoker) as
with privileges as (select * from audit.privileges),
roles as (select * from audit.roles),
held as (
  select privilege.*, role.purpose, role.provider,
    privilege.object || coalesce('.' || quote_ident(privilege.column_name), '') as what,
    format('%s to %s', privilege.privilege, privilege.grantee) as says,
    format(
      'revoke %s%s on %s %s from %s', privilege.privilege, coalesce(' (' || quote_ident(privilege.column_name) || ')', ''),
      privilege.kind, privilege.object, case privilege.grantee when 'public' then 'public' else quote_ident(privilege.grantee) end
    ) as revoke_it,
    tables.tenant_column, tables.relid
  from privileges as privilege
  left join roles as role on role.role = privilege.grantee
  left join audit.tables as tables on privilege.kind = 'table' and tables.relation = privilege.object and tables.schema = 'app' and not tables.is_reference
  where privilege.ours
)
select 'granted_to_public', what, says, revoke_it
from held where grantee = 'public' and kind not in ('database', 'parameter', 'routine', 'type', 'large object')
union all
select 'granted_to_stranger', what, says, revoke_it
from held where grantee <> 'public' and purpose is null and provider is null and kind not in ('parameter', 'database', 'large object', 'foreign server', 'foreign data wrapper')
union all
select 'granted_to_auditor', what, says, revoke_it
from held where purpose = 'auditor' and (kind in ('schema', 'table', 'sequence', 'routine') and object ~ '^app(\.|$)' or kind in ('table', 'type') and object !~ '^audit\.' and privilege <> 'select')
union all
select 'grant_' || privilege, what, says, revoke_it
from held where kind = 'table' and privilege in ('truncate', 'references', 'trigger', 'maintain')
union all
select 'grant_table_wide', what, says, revoke_it
from held where kind = 'table' and column_name is null and privilege in ('insert', 'update')
union all
select 'grant_without_policy', what, says, revoke_it
from held
where tenant_column is not null and provider is null and privilege in ('select', 'insert', 'update', 'delete') and not exists (
  select from audit.policies as policy
  where policy.relation = held.object and not policy.restrictive and policy.command in (held.privilege, 'all')
    and policy.roles && array['public'::name, held.grantee]
)
union all
select 'grant_server_column', what, says, revoke_it
from held
join pg_attribute as attribute on attribute.attrelid = held.relid and attribute.attname = held.column_name
where held.purpose = 'runtime' and held.privilege in ('insert', 'update')
  and (attribute.atthasdef or held.privilege = 'update' and held.column_name = 'id')
  and not (held.privilege = 'update' and held.what in (select intended.column from audit.intended_updates as intended))
union all
select 'operator_function_granted', what, says, revoke_it
from held
where kind = 'routine' and grantee <> 'club_owner' and (owner = 'club_operator' or object = 'audit.record_facts(jsonb)')
union all
select 'grant_tenant_column', what, says, revoke_it
from held where column_name = tenant_column and privilege in ('insert', 'update')
  -- An operator makes clubs, under a floor that lets it make the one of its own context.
  and not (object = 'app.clubs' and privilege = 'insert' and grantee = 'club_operator')
union all
select 'grant_hand_on', what, says || ' with grant option', replace(revoke_it, 'revoke ', 'revoke grant option for ')
from held where may_grant
union all
select 'reference_table_writable', what, says, revoke_it
from held where is_reference and privilege in ('insert', 'update', 'delete')
union all
select 'schema_create', object, format('%s to %s', privilege, grantee),
  format('revoke %s on schema %s from %s', privilege, object, case grantee when 'public' then 'public' else quote_ident(grantee) end)
from privileges where kind = 'schema' and privilege = 'create' and grantee not in ('pg_database_owner')
union all
select case privilege when 'create' then 'database_create' else 'database_temporary' end, what, says, revoke_it
from held where kind = 'database' and privilege in ('create', 'temporary') and provider is null and (privilege = 'temporary' or purpose is distinct from 'owner')
union all
select 'database_connect_public', what, says, revoke_it
from held where kind = 'database' and privilege = 'connect' and grantee = 'public'
union all
select 'default_privileges',
  initial.defaclrole::regrole::text || coalesce(' in ' || namespace.nspname, ''),
  format('%s on new %s to %s', lower(given.privilege_type), kind.name, grantee.name),
  format('alter default privileges for role %s%s revoke %s on %s from %s',
    initial.defaclrole::regrole, coalesce(' in schema ' || quote_ident(namespace.nspname), ''), lower(given.privilege_type), kind.name,
    case given.grantee when 0 then 'public' else quote_ident(grantee.name) end)
from pg_default_acl as initial
left join pg_namespace as namespace on namespace.oid = initial.defaclnamespace
cross join lateral (
  select case initial.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types' when 'n' then 'schemas' else 'large objects' end
) as kind (name)
cross join lateral aclexplode(initial.defaclacl) as given
cross join lateral (
  select case given.grantee when 0 then 'public' else coalesce((select rolname from pg_roles where oid = given.grantee)::text, given.grantee::text) end
) as grantee (name)
left join roles as maker on maker.roleid = initial.defaclrole
left join roles as holder on holder.roleid = given.grantee
where given.grantee <> initial.defaclrole and maker.provider is null and holder.provider is null
  and not (initial.defaclrole in (select roleid from audit.other_applications) and holder.purpose is null
    and coalesce(namespace.nspname, '') not in ('app', 'deploy', 'audit'))
union all
select 'default_privileges', role.role, 'execute on new functions to public',
  format('alter default privileges for role %I revoke execute on functions from public', role.role)
from roles as role
where role.purpose in ('owner', 'capability') and not exists (
  select from pg_default_acl as initial
  where initial.defaclrole = role.roleid and initial.defaclnamespace = 0 and initial.defaclobjtype = 'f'
)
union all
select distinct 'system_object_granted', thing.identity, format('%s to %s', lower(given.privilege_type), holder.name),
  format('revoke %s%s on %s %s from %s', lower(given.privilege_type), coalesce(' (' || quote_ident(object.column_name) || ')', ''), object.kind, thing.identity, holder.name)
from (
  select 'table', 'pg_class'::regclass, oid, 0, null::name, relacl, relnamespace from pg_class where relacl is not null
  union all
  select 'table', 'pg_class'::regclass, class.oid, attnum, attname, attacl, relnamespace
  from pg_attribute join pg_class as class on class.oid = attrelid where attacl is not null
  union all
  select 'routine', 'pg_proc'::regclass, oid, 0, null, proacl, pronamespace from pg_proc where proacl is not null
  union all
  select 'language', 'pg_language'::regclass, oid, 0, null, lanacl, 'pg_catalog'::regnamespace from pg_language where lanacl is not null
  union all
  select 'schema', 'pg_namespace'::regclass, oid, 0, null, nspacl, oid from pg_namespace where nspacl is not null
  union all
  select 'tablespace', 'pg_tablespace'::regclass, oid, 0, null, spcacl, 'pg_catalog'::regnamespace from pg_tablespace where spcacl is not null
) as object (kind, catalog, oid, number, column_name, acl, namespace)
cross join lateral aclexplode(object.acl) as given
left join roles as held_by on held_by.roleid = given.grantee
cross join lateral (select case given.grantee when 0 then 'public' else quote_ident(held_by.role) end) as holder (name)
cross join lateral pg_identify_object(object.catalog, object.oid, 0) as thing
where object.namespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  and (given.grantee = 0 or held_by.purpose is not null)
  and not (given.grantee = 0 and object.namespace = 'information_schema'::regnamespace and lower(given.privilege_type) in ('select', 'usage'))
  -- What initdb and extensions give everybody.
  and not exists (
    select from pg_init_privs as initial
    cross join lateral aclexplode(initial.initprivs) as given_at_first
    where (initial.classoid, initial.objoid, initial.objsubid) = (object.catalog, object.oid, object.number)
      and (given_at_first.grantee, given_at_first.privilege_type) = (given.grantee, given.privilege_type)
  )
  and not (given.grantee = 0 and object.kind in ('routine', 'language') and not exists (
    select from pg_init_privs as initial where (initial.classoid, initial.objoid, initial.objsubid) = (object.catalog, object.oid, object.number)
  ))
union all
select 'parameter_granted', object, says, format('revoke %s on parameter %s from %s', privilege, object, case grantee when 'public' then 'public' else quote_ident(grantee) end)
from held where kind = 'parameter' and (purpose is not null or grantee = 'public')
union all
select 'foreign_server_granted', what, says, revoke_it
from held where kind in ('foreign server', 'foreign data wrapper') and (purpose is not null or grantee = 'public')
union all
select 'foreign_server_granted', quote_ident(srvname), 'everybody has a user there', format('drop user mapping for public server %I', srvname)
from pg_user_mappings where umuser = 0
union all
select 'large_object_granted', what, says, revoke_it
from held where kind = 'large object' and (purpose is not null or grantee = 'public');
comment on view audit.grant_findings is 'What the checks of grants find.';
comment on column audit.grant_findings.code is 'The check.';
comment on column audit.grant_findings.object is 'What it found.';
comment on column audit.grant_findings.detail is 'What is wrong with it.';
comment on column audit.grant_findings.fix is 'SQL that mends it.';
