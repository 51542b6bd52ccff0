-- Core: the rules of isolation. They do not depend on what was deployed or accepted, so they also hold where drift compares
-- with nothing: in a new database, after audit.record_facts(), and after an upgrade of PostgreSQL.
--
-- Each is critical. `object` is the name that the facts have for it, so that drift leaves out what a rule names. A fix of null
-- is a deploy, which creates the policies, grants, functions and views of the chapters again.

create view audit.core_checks (code, title, why) with (security_invoker) as values
  ('rls_disabled', 'A table is not under row-level security', 'Its policies have no effect: every role that may read the table reads the rows of every club.'),
  ('rls_not_forced', 'Row-level security does not apply to the owner', 'A function or a deploy that runs as the owner reads the rows of every club.'),
  ('floor_missing', 'A role has access to a table without a floor', 'Without a restrictive policy that allows only rows of the tenant, one permissive policy that is too broad shows the rows of every club.'),
  ('tenant_column', 'A table has no tenant column, or it is not a uuid', 'No policy can separate its rows by club. Another type compares in another way: one id may have two spellings. Reference data is listed in audit.intended_reference_tables.'),
  ('relation_unprotected', 'Policies do not apply to a relation', 'A foreign table or a materialized view has none. Those of a parent do not apply when a child is read by its own name. A rewrite rule replaces the caller''s statement by others, which run as the owner of the table.'),
  ('object_owner', 'An object of the service has the wrong owner', 'Its owner may change it, and disable its row-level security. The objects in app, deploy and audit belong to club_owner; a capability role owns only its functions.'),
  ('foreign_key_without_tenant', 'A foreign key does not carry the tenant', 'A row may refer to a row of another club, an error shows whether an id exists there, and a cascade deletes or changes its rows.'),
  ('unique_without_tenant', 'A unique index spans the clubs', 'An error shows one club which values another one has. The exceptions are in audit.intended_uniques.'),
  ('expression_calls_function', 'A default, check or index calls an unexpected function', 'The function runs in the statements of other roles. Only the accessors and app.new_id are allowed.'),
  ('trigger_function', 'A trigger calls a function that is not the service''s', 'It runs in the statements of other roles, with their privileges, and no chapter creates it.'),
  ('policy_calls_function', 'A policy calls a function that is not an accessor', 'A setting that is read without an accessor is null or empty where the context is missing; an accessor raises TN001. The result of an IMMUTABLE function may be used for the next club.'),
  ('policy_for_stranger', 'A policy is for the owner, or for a role outside the service', 'The owner must see no row: under FORCE it sees what a policy allows it. No other role may have rows of clubs.'),
  ('view_reads_as_owner', 'A view in a schema of the service reads as its owner', 'The policies of the caller do not apply to the tables behind it. Set security_invoker.'),
  ('definer_unintended', 'A SECURITY DEFINER function is not intended', 'The policies of the caller do not apply in it. The intended ones, and their owners, are in audit.intended_definers.'),
  ('function_unsafe', 'A function of the service runs in an unsafe way', 'A LEAKPROOF function may see rows before the policies filter them; the result of an IMMUTABLE one may be used for the next club; a SET clause such as row_security changes the isolation; a SECURITY DEFINER function without a search path, or any with another one, resolves names that others created; a language other than SQL and PL/pgSQL is not bound by privileges.'),
  ('accessor_changed', 'An accessor is missing or differs', 'Each is STABLE, has no overload, runs as its caller and raises TN001 when its setting is missing. With null a policy hides that; with a default it returns the rows of another club; an IMMUTABLE one may return the last club. The list is audit.intended_accessors.'),
  ('operator_function_granted', 'A role other than the owner may execute a function for operators', 'Such a function lists, creates, closes or changes clubs, or changes the facts that audit.drift compares with, or approves a role.'),
  ('grant_unlimited', 'A role has a privilege that no policy limits', 'TRUNCATE deletes the rows of every club; REFERENCES shows whether a row of another club exists; a trigger runs in the statements of other roles; a name may resolve to what a role creates in a schema of the service; only chapters may hand on privileges.'),
  ('grant_tenant_column', 'The tenant column may be written', 'Then only the floor prevents moving a row to another club.'),
  ('reference_table_writable', 'Reference data may be written', 'All clubs share it: a request in one club could change the rules of the others.');
comment on view audit.core_checks is 'The rules of isolation. Each is critical.';

-- The floor of a table is a restrictive policy for all commands that allows only rows of the transaction's tenant. It has exactly
-- one spelling, so a rule can compare it as text.
create view audit.floors with (security_invoker) as
select
  policy.relation,
  role.name as role,
  policy.using_expression,
  coalesce(policy.check_expression, policy.using_expression) as check_expression,
  coalesce(intended.using_expression, tenant.is_own) as meant_to_use,
  coalesce(intended.check_expression, tenant.is_own) as meant_to_check
from audit.policies as policy
cross join lateral unnest(policy.roles) as role (name)
cross join lateral (select '(' || quote_ident(policy.tenant_column) || ' = ( SELECT app.tenant_id() AS tenant_id))') as tenant (is_own)
left join audit.intended_floors as intended on (intended.relation, intended.role) = (policy.relation, role.name)
where policy.restrictive and policy.command = 'all';
comment on view audit.floors is 'The restrictive policies for all commands, for each role that they apply to, and what the floor of that role has to be.';

create view audit.core_findings (code, object, detail, fix) with (security_invoker) as
with tables as (select * from audit.tables),
views as (select relid, relation, ours, owner, security_invoker from audit.views),
roles as (select * from audit.roles),
privileges as (select * from audit.privileges where ours),
floors as (select * from audit.floors),
functions as materialized (select * from audit.functions),
calls as materialized (select * from audit.calls),
policies as (select *, concat_ws(' and ', using_expression, check_expression) as expressions from audit.policies where ours),
tenant_tables as (
  select * from tables where schema = 'app' and kind in ('table', 'partitioned table') and not is_reference
),
grants as (
  select privileges.*, tables.tenant_column, roles.purpose,
    format('grant %s on %s %s to %s', privilege, privileges.kind, object || coalesce('.' || quote_ident(column_name), ''), grantee) as name
  from privileges
  left join tables on privileges.kind = 'table' and tables.relation = privileges.object
  left join roles on roles.role = privileges.grantee
)
select case when row_security then 'rls_not_forced' else 'rls_disabled' end, kind || ' ' || relation,
  case when row_security then 'row-level security does not bind ' || owner else 'row-level security is disabled' end, null
from tenant_tables where not (row_security and row_security_forced)
union all
-- For each role with a privilege; for PUBLIC where no role has one yet.
select 'floor_missing', kind || ' ' || relation, 'no floor applies to ' || string_agg(role, ', ' order by role), null
from (
  select distinct tenant_tables.kind, relation, coalesce(grants.grantee, 'public') as role
  from tenant_tables left join grants on grants.kind = 'table' and grants.object = relation
) as reader
where not exists (
  select from floors as floor
  where floor.relation = reader.relation and floor.role in (reader.role, 'public')
    and (using_expression, check_expression) = (meant_to_use, meant_to_check)
)
group by kind, relation
union all
select 'tenant_column', kind || ' ' || relation, coalesce(quote_ident(tenant_column) || ' is ' || tenant_type, 'there is no column tenant_id'),
  -- The first one fails on a table with rows: the administrator has to choose the club of each row.
  case when tenant_column is null then format('alter table %s add column tenant_id uuid not null references app.clubs (id) on delete restrict', relation)
    else format('alter table %s alter column %I drop default, alter column %2$I type uuid using %2$I::text::uuid', relation, tenant_column) end
from tenant_tables where tenant_type is distinct from 'uuid'
union all
select 'relation_unprotected', kind || ' ' || relation, 'no policy applies to a ' || kind, format('drop %s %s', kind, relation)
from tables where ours and kind in ('foreign table', 'materialized view')
union all
select 'relation_unprotected', 'table ' || child.identity, 'it is a child of ' || parent.identity,
  case when class.relispartition then format('alter table %s detach partition %s', parent.identity, child.identity)
    else format('alter table %s no inherit %s', child.identity, parent.identity) end
from pg_inherits as inherits
join pg_class as class on class.oid = inherits.inhrelid and class.relkind in ('r', 'p', 'f')
cross join lateral pg_identify_object('pg_class'::regclass, inherits.inhparent, 0) as parent
cross join lateral pg_identify_object('pg_class'::regclass, inherits.inhrelid, 0) as child
where exists (select from tables where ours and relid in (inherits.inhrelid, inherits.inhparent))
union all
select 'relation_unprotected', 'rule ' || relation || '.' || quote_ident(rule.rulename), 'it replaces statements', format('drop rule %I on %s', rule.rulename, relation)
from pg_rewrite as rule
join (select relid, relation from tables where ours union all select relid, relation from views where ours) as ruled on ruled.relid = rule.ev_class
where rule.rulename <> '_RETURN'
union all
select 'object_owner', kind || ' ' || name, 'it belongs to ' || owner,
  format('alter %s %s owner to club_owner', regexp_replace(kind, '^composite | object$|partitioned ', ''), name)
from (
  select 'schema', quote_ident(name), owner from audit.schemas where ours
  union all
  select kind, relation, owner from tables where ours
  union all
  select 'view', relation, owner from views where ours
  union all
  select 'type', audit.type_name(type.oid), type.typowner::regrole::text
  from pg_type as type
  join audit.schemas as schema on schema.oid = type.typnamespace and schema.ours
  left join pg_class as class on class.oid = type.typrelid
  where type.typelem = 0 and type.typtype <> 'm' and coalesce(class.relkind, 'c') = 'c'
  union all
  -- Such as collations. pg_shdepend has no entry for what belongs to the bootstrap superuser.
  select thing.type, thing.identity, owned.refobjid::regrole::text
  from pg_shdepend as owned
  cross join lateral pg_identify_object(owned.classid, owned.objid, 0) as thing
  where (owned.refclassid, owned.deptype) = ('pg_authid'::regclass, 'o') and owned.dbid = (select oid from pg_database where datname = current_database())
    and owned.classid not in ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass, 'pg_namespace'::regclass, 'pg_default_acl'::regclass)
    and thing.schema in ('app', 'deploy', 'audit')
) as object (kind, name, owner)
where owner <> 'club_owner'
union all
-- A function of a capability role that no other role may execute does no harm.
select 'object_owner', 'function ' || function, 'it belongs to ' || functions.owner, format('alter routine %s owner to %I', function, coalesce(intended.owner, 'club_owner'))
from functions
left join audit.intended_definers as intended using (function)
where ours and functions.owner not in ('club_owner', coalesce(intended.owner, '')) and not (
  functions.owner in (select role from roles where purpose = 'capability') and not security_definer
    and funcid not in (select tgfoid from pg_trigger) and function not in (select object from grants where grants.kind = 'routine')
)
union all
select 'foreign_key_without_tenant', 'key ' || foreign_key, definition, format('alter table %s drop constraint %I', relation, name)
from audit.foreign_keys where joins_tenants and not keeps_tenant
union all
-- In app.clubs the id is the tenant: a unique index that contains it is allowed.
select 'unique_without_tenant', case when constraint_name is null then 'index ' || index else 'key ' || uniques.relation || '.' || quote_ident(constraint_name) end,
  uniques.definition,
  case when constraint_name is null then format('drop index %s', index) else format('alter table %s drop constraint %I', uniques.relation, constraint_name) end
from audit.unique_indexes as uniques
join tenant_tables on tenant_tables.relation = uniques.relation
where (uniques.tenant_column = any (uniques.columns)) is not true
  and not exists (select from audit.intended_uniques as intended where (intended.index, intended.columns) = (uniques.index, uniques.columns))
union all
select 'expression_calls_function', object, 'it calls ' || function, fix
from (
  select 'default ' || tables.relation || '.' || quote_ident(attname), coalesce(calls.function, reads.name),
    format('alter table %s alter column %I drop default', tables.relation, attname)
  from pg_attrdef as initial
  join tables on tables.relid = adrelid and tables.ours
  join pg_attribute on (attrelid, attnum) = (adrelid, adnum)
  left join calls on (calls.classid, calls.objid) = ('pg_attrdef'::regclass, initial.oid)
  cross join lateral (select audit.reads_outside(audit.expression(adbin, adrelid))) as reads (name)
  union all
  select case when conrelid = 0 then 'type ' || audit.type_name(contypid) else 'constraint ' || relation || '.' || quote_ident(conname) end,
    coalesce(calls.function, reads.name),
    case when conrelid = 0 then format('alter domain %s drop constraint %I', audit.type_name(contypid), conname) else format('alter table %s drop constraint %I', relation, conname) end
  from pg_constraint as con
  join audit.schemas as schema on schema.oid = con.connamespace and schema.ours
  left join tables on tables.relid = con.conrelid
  left join calls on (calls.classid, calls.objid) = ('pg_constraint'::regclass, con.oid)
  cross join lateral (select audit.reads_outside(audit.definition('pg_constraint', con.oid))) as reads (name)
  where con.contype = 'c'
  union all
  -- An index, or the key of a partitioned table, which PostgreSQL cannot change.
  select thing.type || ' ' || thing.identity, calls.function,
    case thing.type when 'index' then format('drop index %s', thing.identity) else audit.manual(format('Create it again with another partition key: %s', thing.identity)) end
  from calls
  join pg_class as class on (calls.classid, calls.objid) = ('pg_class'::regclass, class.oid)
  join audit.schemas as schema on schema.oid = class.relnamespace and schema.ours
  cross join lateral pg_identify_object(calls.classid, calls.objid, 0) as thing
) as called (object, function, fix)
where function not in (select accessor.function from audit.intended_accessors as accessor) and function <> 'app.new_id()'
union all
select 'trigger_function', 'trigger ' || trigger, 'it calls ' || audit.signature(triggers.funcid), null
from audit.triggers as triggers
where ours and not keeps_foreign_key and funcid not in (select called.funcid from functions as called where called.ours)
union all
select distinct 'policy_calls_function', 'policy ' || policy, 'it calls ' || function, null
from (
  select policy, calls.function, calls.immutable from policies join calls on (calls.classid, calls.objid) = ('pg_policy'::regclass, policyid)
  union all
  select policy, reads.name, false from policies cross join lateral (select audit.reads_outside(expressions)) as reads (name)
) as called
where immutable or function not in (select accessor.function from audit.intended_accessors as accessor)
union all
-- A role of the service that is beyond the policies is role_beyond_rls: its policies are right.
select 'policy_for_stranger', 'policy ' || policy, 'it is for ' || string_agg(roles.role, ', ' order by roles.role), null
from policies join roles on roles.role = any (policies.roles)
where coalesce(roles.purpose, 'none') not in ('runtime', 'capability')
group by policy
union all
select 'view_reads_as_owner', 'view ' || relation, 'it reads as ' || owner, null
from views where ours and not security_invoker
union all
select 'definer_unintended', 'function ' || function, 'it runs as ' || functions.owner,
  format('alter routine %s %s', function, coalesce('owner to ' || quote_ident(intended.owner), 'security invoker'))
from functions left join audit.intended_definers as intended using (function)
where security_definer and (ours or functions.owner in (select quote_ident(role) from roles where purpose is not null))
  and functions.owner is distinct from intended.owner
union all
select 'function_unsafe', 'function ' || function, 'it is ' || concat_ws(', ', case when leakproof then 'LEAKPROOF' end, case when volatility = 'immutable' then 'IMMUTABLE' end,
    'in ' || language, case when security_definer then 'SECURITY DEFINER' end, 'with ' || coalesce(nullif(array_to_string(settings, ', '), ''), 'no SET clause')), null
from functions
where ours and (leakproof or volatility = 'immutable' and function <> 'audit.name_of(name,name)' or is_function and language not in ('sql', 'plpgsql')
  or security_definer and 'search_path=pg_catalog, pg_temp' <> all (settings)
  or exists (
    select from unnest(settings) as setting
    where setting !~* '^(intervalstyle|datestyle|timezone|enable_seqscan|plan_cache_mode|quote_all_identifiers|standard_conforming_strings)='
      and setting <> 'search_path=pg_catalog, pg_temp'
  ))
union all
select 'accessor_changed', 'function ' || accessor.function,
  case when functions.function is null then 'it does not exist' else 'it is ' || concat_ws(', ', upper(volatility), case when security_definer then 'SECURITY DEFINER' end, body) end, null
from audit.intended_accessors as accessor left join functions using (function)
where (not security_definer and volatility = 'stable' and body ~*
  ('^RETURN \(?coalesce\(nullif\(current_setting\(''' || accessor.setting || '''(::text)?, true\), ''''(::text)?\), app\.missing_context\(''' || accessor.setting || '''(::text)?\)\)(\)::[\w.]+(\[\])?)?$')
  ) is not true
union all
select 'accessor_changed', 'function app.missing_context(text)', 'it does not exactly raise TN001', null
where not exists (
  select from functions
  where function = 'app.missing_context(text)' and language = 'plpgsql' and not security_definer
    and body ~* '^\s*begin\s+raise exception using\s+errcode = ''TN001'',[^;]*;\s*end\s*;?\s*$'
)
union all
select 'accessor_changed', 'function ' || functions.function, 'it is called by the name of ' || accessor.function, format('drop routine %s', functions.function)
from functions
join audit.intended_accessors as accessor on split_part(accessor.function, '(', 1) = split_part(functions.function, '(', 1) and accessor.function <> functions.function
union all
select 'operator_function_granted', name, 'only club_owner may execute it', revoke
from grants
where kind = 'routine' and grantee <> 'club_owner'
  and (owner in ('club_operator', 'club_registry') or object in ('audit.record_facts(jsonb)', 'audit.approve(text[])'))
union all
select 'grant_unlimited', name, concat_ws(', and ', case when unlimited then 'no policy limits it' end, case when may_grant then 'it may be handed on' end),
  -- The privilege itself may be intended; drift names it where it is not.
  case when unlimited then revoke else regexp_replace(revoke, '^revoke ', 'revoke grant option for ') end
from grants
cross join lateral (
  select kind = 'table' and privilege in ('truncate', 'references', 'trigger') or kind = 'schema' and privilege = 'create'
) as policies_leave (unlimited)
where purpose is not null and (unlimited or may_grant and kind in ('schema', 'table', 'sequence', 'routine', 'type'))
union all
-- An operator creates and imports clubs; the floor allows only the club of its context. The recorder writes the club of the changed row; its floor
-- allows only rows of its transaction.
select 'grant_tenant_column', name, 'the tenant column may be written', revoke
from grants
where column_name = tenant_column and privilege in ('insert', 'update')
  and not (privilege = 'insert' and (object, grantee) in (('app.clubs', 'club_operator'), ('app.clubs', 'club_import'), ('app.events', 'club_recorder')))
union all
select 'reference_table_writable', name, 'all clubs share its rows', revoke
from grants where is_reference and privilege in ('insert', 'update', 'delete');
comment on view audit.core_findings is 'What breaks a rule of isolation. A fix of null is a deploy.';
