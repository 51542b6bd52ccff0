-- Checks: grants.

create view audit.grant_checks (code, severity, title, why) with (security_invoker) as values
  ('granted_to_public', 'critical', 'PUBLIC has a privilege in the schema app', 'Every role has it, including roles that are created later.'),
  ('granted_to_stranger', 'critical', 'A role outside the service has a privilege in the schema app', 'The roles of the service are in audit.intended_roles.'),
  ('granted_outside_app', 'warning', 'PUBLIC or a role outside the service has a privilege in the schema deploy or audit', 'These schemas have no row of a club. They show how the clubs are isolated.'),
  ('granted_to_auditor', 'critical', 'The auditor has a privilege on tenant data', 'It must read the schema audit only, and no row of a club.'),
  ('grant_truncate', 'critical', 'TRUNCATE is granted', 'Row-level security does not apply to TRUNCATE: it deletes the rows of every club.'),
  ('grant_references', 'critical', 'REFERENCES is granted', 'Row-level security does not apply to the check of a foreign key, which shows whether a row of another club exists.'),
  ('grant_trigger', 'critical', 'TRIGGER is granted', 'A trigger runs in the statements of other roles, with their privileges.'),
  ('grant_maintain', 'warning', 'MAINTAIN is granted', 'It allows locking a whole table, for every club.'),
  ('grant_table_wide', 'warning', 'INSERT or UPDATE is granted on a whole table', 'It includes columns that only the server may write, and columns that are added later.'),
  ('grant_tenant_column', 'critical', 'The tenant column may be written', 'Then only the floor prevents moving a row to another club.'),
  ('grant_hand_on', 'critical', 'A privilege in a schema of the service has GRANT OPTION', 'Only the chapters may grant privileges.'),
  ('hand_on_outside_schema', 'warning', 'A role of the service has a privilege with GRANT OPTION outside of its schemas', 'It needs none: only the chapters may grant privileges.'),
  ('grant_without_policy', 'warning', 'A role has a privilege without a policy', 'It has no effect now, but a later policy would make it effective without a review.'),
  ('grant_server_column', 'warning', 'The running service may write a column with a default', 'Requests could forge an id, an author or a counter. The exceptions are in audit.intended_updates.'),
  ('operator_function_granted', 'critical', 'A role other than the owner may execute a function for operators', 'Such a function lists, creates, closes or changes clubs, or changes the facts that audit.drift compares with, or approves a role.'),
  ('reference_table_writable', 'critical', 'Reference data may be written', 'All clubs share it: a request in one club could change the rules of the others.'),
  ('schema_create', 'critical', 'A role may create in a schema of the service', 'A name may resolve to an object of that role instead of the service''s.'),
  ('schema_create_outside', 'warning', 'A role may create in a schema of no application', 'No chapter creates such objects. The search path of the service does not have that schema; the default of other logins has public.'),
  ('schema_shared', 'warning', 'A role of the service has a privilege on a schema of another application', 'The objects there are not checked. The search path of the service does not have that schema, so no name resolves to them by mistake.'),
  ('database_create', 'warning', 'A role may create schemas', 'Only club_owner needs CREATE on the database.'),
  ('database_temporary', 'warning', 'A role may create temporary tables', 'They have no policies, and their names are resolved first unless the search path has pg_temp last.'),
  ('database_connect_public', 'warning', 'PUBLIC may connect', 'Only the logins of the service need CONNECT.'),
  ('default_privileges', 'warning', 'Default privileges grant new objects', 'A new table or function would be accessible before a review.'),
  ('system_object_granted', 'critical', 'A role of the service or PUBLIC has a privilege on an object of PostgreSQL that it does not have by default', 'Such objects give access to statistics, files, passwords, other sessions and, in pg_toast, the long values of all rows.'),
  ('system_object_lent', 'warning', 'A role outside the service has a privilege on an object of PostgreSQL with rows, passwords or files', 'Statistics and pg_toast have values of the rows of every club. No policy applies to them.'),
  ('tablespace_granted', 'warning', 'A role of the service or PUBLIC may create in a tablespace', 'The service needs none but the default of the database.'),
  ('large_object_granted', 'warning', 'A large object can be read or written by others than its owner', 'PostgreSQL has no row-level security for large objects, and what one contains is not known.'),
  ('large_object_owned', 'warning', 'A role of the service owns a large object', 'The service needs none. Every login may create one, and store rows of a club in it.'),
  ('parameter_granted', 'critical', 'A role may set a superuser parameter', 'session_replication_role, for example, disables triggers and foreign keys.'),
  ('foreign_server_granted', 'warning', 'A role of the service may use a foreign server', 'Row-level security does not apply to data that is read or written there.');
comment on view audit.grant_checks is 'The checks of grants.';
comment on column audit.grant_checks.code is 'Its name, for audit.findings.';
comment on column audit.grant_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.grant_checks.title is 'What it finds.';
comment on column audit.grant_checks.why is 'Why it matters.';

create view audit.grant_findings (code, object, detail, fix) with (security_invoker) as
with privileges as (select * from audit.privileges),
roles as (select * from audit.roles),
held as (
  select privilege.*, role.purpose, role.provider,
    privilege.object || coalesce('.' || quote_ident(privilege.column_name), '') as what,
    format('%s to %s', privilege.privilege, privilege.grantee) as says,
    privilege.revoke as revoke_it,
    tables.tenant_column, tables.relid
  from privileges as privilege
  left join roles as role on role.role = privilege.grantee
  left join audit.tables as tables on privilege.kind = 'table' and tables.relation = privilege.object and tables.schema = 'app' and not tables.is_reference
  where privilege.ours
), other as (
  select roleid, role from audit.other_applications join roles using (roleid)
), other_schema as (
  select schemaid::regnamespace::text as name from audit.other_schemas
)
select case when object !~ '^app(\.|$)' then 'granted_outside_app' when grantee = 'public' then 'granted_to_public' else 'granted_to_stranger' end, what, says, revoke_it
from held
where kind in ('schema', 'table', 'sequence', 'routine', 'type') and purpose is null
  -- PUBLIC may use every type by default; a function of app is function_public_execute.
  and not (grantee = 'public' and (kind = 'type' or kind = 'routine' and object ~ '^app\.'))
union all
select 'granted_to_auditor', what, says, revoke_it
from held where purpose = 'auditor' and (kind in ('schema', 'table', 'sequence', 'routine') and object ~ '^app(\.|$)' and not (is_reference and privilege = 'select') or kind in ('table', 'type') and object !~ '^audit\.' and privilege <> 'select')
union all
select 'grant_' || privilege, what, says, revoke_it
from held where kind = 'table' and privilege in ('truncate', 'references', 'trigger', 'maintain')
union all
select 'grant_table_wide', what, says, revoke_it
from held where kind = 'table' and column_name is null and privilege in ('insert', 'update')
union all
select 'grant_without_policy', what, says,
  -- Of a privilege of the last deploy the policy is what is missing.
  case when exists (
    select from deploy.facts as meant
    where (meant.kind, meant.object) = ('grant', format('%s on %s %s to %s', held.privilege, held.kind, held.what, held.grantee))
  ) then audit.manual('Deploy again: node dist/migrate.js') else revoke_it end
from held
where tenant_column is not null and privilege in ('select', 'insert', 'update', 'delete') and not exists (
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
where kind = 'routine' and grantee <> 'club_owner' and (owner in ('club_operator', 'club_registry')
  or object in ('audit.record_facts(jsonb)', 'audit.approve(text[])', 'audit.record_provider(text)'))
union all
select 'grant_tenant_column', what, says, revoke_it
from held where column_name = tenant_column and privilege in ('insert', 'update')
  -- An operator creates clubs; the floor allows only the club of its context. The recorder writes the club of the changed row;
  -- the floor allows only rows of its transaction.
  and not (privilege = 'insert' and (object, grantee) in (('app.clubs', 'club_operator'), ('app.events', 'club_recorder')))
union all
select case when kind in ('schema', 'table', 'sequence', 'routine', 'type') then 'grant_hand_on' else 'hand_on_outside_schema' end,
  what, says || ' with grant option', regexp_replace(revoke_it, '^revoke ', 'revoke grant option for ')
from held where may_grant and (kind in ('schema', 'table', 'sequence', 'routine', 'type') or purpose is not null and kind <> 'large object')
union all
select 'reference_table_writable', what, says, revoke_it
from held where is_reference and privilege in ('insert', 'update', 'delete')
union all
select case when ours then 'schema_create' else 'schema_create_outside' end, object, format('%s to %s', privilege, grantee), revoke
from privileges where kind = 'schema' and privilege = 'create' and grantee not in ('pg_database_owner')
  and object not in (select name from other_schema)
union all
select 'schema_shared', object, format('%s to %s', privilege, grantee), revoke
from privileges where kind = 'schema' and object in (select name from other_schema)
  and (grantee = 'public' or grantee in (select role from roles where purpose is not null))
  -- As initdb grants it, even where a provider owns the schema.
  and (object, grantee, privilege) <> ('public', 'public', 'usage')
union all
select case privilege when 'create' then 'database_create' else 'database_temporary' end, what, says, revoke_it
from held
where kind = 'database' and provider is null and (privilege = 'create' and purpose is distinct from 'owner'
  -- A temporary table of another application affects only its own sessions.
  or privilege = 'temporary' and grantee not in (select role from other))
union all
select 'database_connect_public', what, says, revoke_it
from held where kind = 'database' and privilege = 'connect' and grantee = 'public'
union all
select case when initial.defaclobjtype = 'L' then 'large_object_granted' else 'default_privileges' end,
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
where given.grantee <> initial.defaclrole and (maker.purpose is not null or maker.provider is null and holder.provider is null)
  and not (initial.defaclrole in (select roleid from other) and holder.purpose is null and initial.defaclobjtype <> 'L'
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
select distinct
  case when object.kind = 'tablespace' then 'tablespace_granted' when given.grantee <> 0 and held_by.purpose is null then 'system_object_lent' else 'system_object_granted' end,
  thing.identity, format('%s to %s', lower(given.privilege_type), holder.name),
  format('revoke %s%s on %s %s from %s cascade', lower(given.privilege_type), coalesce(' (' || quote_ident(object.column_name) || ')', ''), object.kind, thing.identity, holder.name)
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
left join roles as held_by on held_by.roleid = given.grantee
left join roles as owned_by on owned_by.roleid = object.owner
cross join lateral (select case given.grantee when 0 then 'public' else quote_ident(held_by.role) end) as holder (name)
cross join lateral pg_identify_object(object.catalog, object.oid, 0) as thing
where object.namespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
  and (given.grantee = 0 or held_by.purpose is not null and given.grantee <> object.owner
    -- For every role: values of all rows, passwords, files and names that are looked up first. Other privileges of other
    -- applications, such as to list files or to begin a backup, are not findings.
    -- A role of the provider that is beyond row-level security anyway needs no such privilege.
    or given.grantee <> object.owner and not (held_by.provider is not null and held_by.role in (select powers.role from audit.powers as powers)) and (
      object.namespace = 'pg_toast'::regnamespace or object.kind = 'schema' and given.privilege_type = 'CREATE'
      or object.name in ('pg_statistic', 'pg_statistic_ext_data', 'pg_largeobject', 'pg_authid', 'pg_shadow',
        'pg_read_file', 'pg_read_binary_file', 'lo_import', 'lo_export')
    ))
  -- Of a provider, for temporary files.
  and not (object.kind = 'tablespace' and owned_by.provider is not null)
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
union all
select 'parameter_granted', object, says, revoke_it
from held where kind = 'parameter' and (purpose is not null or grantee = 'public')
union all
select 'foreign_server_granted', what, says, revoke_it
from held where kind in ('foreign server', 'foreign data wrapper') and (purpose is not null or grantee = 'public')
union all
select 'foreign_server_granted', quote_ident(srvname), 'PUBLIC has a user mapping', format('drop user mapping for public server %I', srvname)
from pg_user_mappings where umuser = 0
union all
select 'large_object_granted', owner, format('others have %s of %s, such as %s: %s', string_agg(distinct privilege, ' and '), count(distinct object), min(object::bigint),
    string_agg(distinct grantee, ', ')), string_agg(revoke_it, '; ' order by object::bigint, says)
from held left join roles as holder on holder.role = grantee
where kind = 'large object' and held.provider is null and holder.superuser is not true
group by owner
union all
select 'large_object_owned', owner.role, format('it owns %s, such as %s', count(*), min(large.objid::bigint)),
  string_agg(format('alter large object %s owner to club_owner', large.objid), '; ' order by large.objid)
from roles as owner
join pg_shdepend as large on (large.refclassid, large.refobjid, large.classid, large.deptype) = ('pg_authid'::regclass, owner.roleid, 'pg_largeobject'::regclass, 'o')
  and large.dbid = (select oid from pg_database where datname = current_database())
where owner.purpose <> 'owner'
group by owner.role;
comment on view audit.grant_findings is 'The findings of the checks of grants.';
comment on column audit.grant_findings.code is 'The check.';
comment on column audit.grant_findings.object is 'The object.';
comment on column audit.grant_findings.detail is 'What is wrong with it.';
comment on column audit.grant_findings.fix is 'SQL that repairs it.';
