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
  ('reference_table_writable', 'critical', 'Reference data may be written', 'It is the same for every club: one could change the rules of the others.'),
  ('schema_create', 'critical', 'A role may create in a schema', 'What it puts there may be found before the service''s own objects.'),
  ('database_create', 'warning', 'A role may create schemas', 'Only the owner of the objects needs that.'),
  ('database_temporary', 'critical', 'A role may make temporary tables', 'They are under no policy, and their names come before the service''s own unless the search path says otherwise.'),
  ('database_connect_public', 'warning', 'Everybody may connect', 'Only the logins of the service need to.'),
  ('default_privileges', 'critical', 'What is made tomorrow is granted today', 'A new table or function would be open before anybody looked at it.'),
  ('system_object_granted', 'critical', 'A role of the service holds a privilege on an object of PostgreSQL', 'Statistics, files, passwords and other sessions are behind them.'),
  ('parameter_granted', 'critical', 'A role may set a parameter that only superusers set', 'session_replication_role switches triggers and foreign keys off.'),
  ('foreign_server_granted', 'critical', 'A role of the service may use a foreign server', 'What comes and goes there is under no policy.');
comment on view audit.grant_checks is 'The checks of grants.';
comment on column audit.grant_checks.code is 'Its name, for audit.findings.';
comment on column audit.grant_checks.severity is 'critical: a club can reach another; warning: anything else.';
comment on column audit.grant_checks.title is 'What it finds.';
comment on column audit.grant_checks.why is 'Why that matters.';

create view audit.grant_findings (code, object, detail, fix) with (security_invoker) as
with held as (
  select privilege.*, role.purpose, role.provider,
    privilege.object || coalesce('.' || quote_ident(privilege.column_name), '') as what,
    format('%s to %s', privilege.privilege, privilege.grantee) as says,
    format(
      'revoke %s%s on %s %s from %s', privilege.privilege, coalesce(' (' || quote_ident(privilege.column_name) || ')', ''),
      privilege.kind, privilege.object, case privilege.grantee when 'public' then 'public' else quote_ident(privilege.grantee) end
    ) as revoke_it,
    tables.tenant_column
  from audit.privileges as privilege
  left join audit.roles as role on role.role = privilege.grantee
  left join audit.tables as tables on privilege.kind = 'table' and tables.relation = privilege.object and tables.schema = 'app' and not tables.is_reference
  where privilege.ours
)
select 'granted_to_public', what, says, revoke_it
from held where grantee = 'public' and kind not in ('database', 'parameter', 'routine')
union all
select 'granted_to_stranger', what, says, revoke_it
from held where grantee <> 'public' and purpose is null and provider is null and kind <> 'parameter'
  and not (kind = 'database' and privilege = 'connect')
union all
select 'granted_to_auditor', what, says, revoke_it
from held where purpose = 'auditor' and kind in ('schema', 'table', 'sequence', 'routine') and object ~ '^app(\.|$)'
union all
select 'grant_' || privilege, what, says, revoke_it
from held where kind = 'table' and privilege in ('truncate', 'references', 'trigger', 'maintain')
union all
select 'grant_table_wide', what, says, revoke_it
from held where kind = 'table' and column_name is null and privilege in ('insert', 'update')
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
from audit.privileges where kind = 'schema' and privilege = 'create' and grantee not in ('pg_database_owner')
union all
select case privilege when 'create' then 'database_create' else 'database_temporary' end, what, says, revoke_it
from held where kind = 'database' and privilege in ('create', 'temporary') and purpose is distinct from 'owner' and provider is null
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
left join audit.roles as maker on maker.roleid = initial.defaclrole
left join audit.roles as holder on holder.roleid = given.grantee
where given.grantee <> initial.defaclrole and maker.provider is null and holder.provider is null
union all
select 'default_privileges', role.role, 'execute on new functions to public',
  format('alter default privileges for role %I revoke execute on functions from public', role.role)
from audit.roles as role
where role.purpose in ('owner', 'capability') and not exists (
  select from pg_default_acl as initial
  where initial.defaclrole = role.roleid and initial.defaclnamespace = 0 and initial.defaclobjtype = 'f'
)
union all
select 'system_object_granted', thing.identity, format('%s to %s', lower(given.privilege_type), holder.role),
  format('revoke %s on %s %s from %I', lower(given.privilege_type), object.kind, thing.identity, holder.role)
from (
  select 'table', 'pg_class'::regclass, oid, relacl, relnamespace from pg_class
  union all
  select 'routine', 'pg_proc'::regclass, oid, proacl, pronamespace from pg_proc
  union all
  select 'language', 'pg_language'::regclass, oid, lanacl, 'pg_catalog'::regnamespace from pg_language
) as object (kind, catalog, oid, acl, namespace)
cross join lateral aclexplode(object.acl) as given
join audit.roles as holder on holder.roleid = given.grantee and holder.purpose is not null
cross join lateral pg_identify_object(object.catalog, object.oid, 0) as thing
where object.namespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
union all
select 'parameter_granted', object, says, format('revoke %s on parameter %s from %s', privilege, object, case grantee when 'public' then 'public' else quote_ident(grantee) end)
from held where kind = 'parameter' and (purpose is not null or grantee = 'public')
union all
select 'foreign_server_granted', what, says, revoke_it
from held where kind in ('foreign server', 'foreign data wrapper') and purpose is not null;
comment on view audit.grant_findings is 'What the checks of grants find.';
comment on column audit.grant_findings.code is 'The check.';
comment on column audit.grant_findings.object is 'What it found.';
comment on column audit.grant_findings.detail is 'What is wrong with it.';
comment on column audit.grant_findings.fix is 'SQL that mends it.';
