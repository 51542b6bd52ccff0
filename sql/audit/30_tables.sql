-- Checks: tables and views.
--
-- A fix that would delete rows is a comment: whether they are needed is an administrator's decision.

create view audit.table_checks (code, severity, title, why) with (security_invoker) as values
  ('rls_disabled', 'critical', 'A table is not under row-level security', 'Its policies have no effect: every role that may read the table reads the rows of every club.'),
  ('rls_not_forced', 'critical', 'Row-level security does not apply to the owner', 'A function or a deploy that runs as the owner reads the rows of every club.'),
  ('tenant_column_missing', 'critical', 'A table has no tenant column', 'No policy can separate its rows by club. Reference data is listed in audit.intended_reference_tables.'),
  ('tenant_column_nullable', 'warning', 'The tenant column may be null', 'A row without a tenant belongs to no club: no floor selects it, and foreign keys do not check it.'),
  ('tenant_column_type', 'critical', 'A tenant column is not a uuid', 'Another type compares in another way: one id may have two spellings, or two ids may be equal.'),
  ('tenant_column_default', 'warning', 'The default of a tenant column is not the context', 'The default decides to which club a new row belongs, because club_api may not write the column.'),
  ('no_policy', 'warning', 'A table has no permissive policy', 'No role can use the table: it is not finished, or its policies were dropped.'),
  ('table_outside_schema', 'warning', 'A table is outside the schemas of the service', 'The checks of tenants and policies apply to the schema app; a copy of rows in another schema escapes them.'),
  ('inheritance_child', 'critical', 'A table inherits from another, or is a partition', 'The policies of the parent do not apply when the child is read by its own name.'),
  ('foreign_table', 'critical', 'There is a foreign table in a schema of the service', 'PostgreSQL has no row-level security for foreign tables.'),
  ('materialized_view', 'critical', 'There is a materialized view in a schema of the service', 'It can store rows of every club, and PostgreSQL has no row-level security for it.'),
  ('referenced_elsewhere', 'warning', 'An object of another application depends on a table of the service', 'A stored copy and a foreign key stay when the privilege that created them is revoked: the one keeps rows of clubs, the other shows which exist.'),
  ('sequence_shared', 'warning', 'All clubs share a sequence', 'Its numbers show one club how many rows the others write. Use app.new_id() for ids.'),
  ('table_owner', 'critical', 'A table does not belong to club_owner', 'Its owner may disable row-level security.'),
  ('table_unlogged', 'warning', 'A table is unlogged', 'Its rows are lost after a crash, and a standby never has them.'),
  ('temporary_object', 'warning', 'There is a temporary object', 'A temporary table has no policies, and its name may be resolved before a table of the service.'),
  ('table_rule', 'critical', 'A table or view has a rewrite rule', 'A rule replaces the caller''s statement by others, which run with the privileges of the owner of the table.'),
  ('table_without_comment', 'warning', 'A table or view has no comment', 'A review needs to know its purpose.'),
  ('view_reads_as_owner', 'critical', 'A view in a schema of the service reads as its owner', 'The policies of the caller do not apply to the tables behind it. Set security_invoker.'),
  ('view_outside_schema', 'warning', 'A view is outside the schemas of the service', 'No chapter creates it, so it was not reviewed.'),
  ('view_owner', 'warning', 'A view does not belong to club_owner', 'Its owner can replace it until a deploy drops it.');
comment on view audit.table_checks is 'The checks of tables and views.';
comment on column audit.table_checks.code is 'Its name, for audit.findings.';
comment on column audit.table_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.table_checks.title is 'What it finds.';
comment on column audit.table_checks.why is 'Why it matters.';

create view audit.table_findings (code, object, detail, fix) with (security_invoker) as
with tables as (select * from audit.tables),
views as (select relid, relation, schema, ours, owner, security_invoker, comment from audit.views),
deployed as (select object as relation from deploy.facts where kind in ('table', 'partitioned table')),
tenant_table as (
  select * from tables where schema = 'app' and kind in ('table', 'partitioned table') and not is_reference
)
select 'rls_disabled', relation, 'row-level security is disabled',
  format('alter table %s enable row level security, force row level security', relation)
from tenant_table where not row_security
union all
select 'rls_not_forced', relation, 'row-level security does not bind ' || owner,
  format('alter table %s force row level security', relation)
from tenant_table where not row_security_forced
union all
select 'tenant_column_missing', relation, 'there is no column tenant_id',
  -- It fails on a table with rows: the administrator has to choose the club of each row.
  format('alter table %s add column tenant_id uuid not null references app.clubs (id) on delete restrict; alter table %1$s alter column tenant_id set default app.tenant_id()', relation)
from tenant_table where tenant_column is null
union all
select 'tenant_column_nullable', relation, format('%I may be null', tenant_column),
  format('alter table %s alter column %I set not null', relation, tenant_column)
from tenant_table where not tenant_not_null
union all
select 'tenant_column_type', relation, format('%I is %s', tenant_column, tenant_type),
  format('alter table %s alter column %I drop default, alter column %2$I type uuid using %2$I::text::uuid', relation, tenant_column)
from tenant_table where tenant_type <> 'uuid'
union all
select 'tenant_column_default', tenant_table.relation,
  case when attribute.attgenerated <> '' then 'it is generated: ' else 'it is ' end
    || coalesce(audit.expression(initial.adbin, initial.adrelid), 'nothing'),
  case when attribute.attgenerated = '' then format('alter table %s alter column %I set default app.tenant_id()', tenant_table.relation, tenant_column)
    when attribute.attgenerated = 's' then
      format('alter table %s alter column %I drop expression; alter table %1$s alter column %2$I set default app.tenant_id()', tenant_table.relation, tenant_column)
    -- A virtual generated column has to be dropped and added again.
    else '-- Drop the column, add it again, and set the club of each row.' end
from tenant_table
join pg_attribute as attribute on (attribute.attrelid, attribute.attname) = (tenant_table.relid, tenant_table.tenant_column)
left join pg_attrdef as initial on (initial.adrelid, initial.adnum) = (attribute.attrelid, attribute.attnum)
where tenant_column = 'tenant_id' and tenant_type = 'uuid'
  and (attribute.attgenerated <> '' or audit.expression(initial.adbin, initial.adrelid) is distinct from 'app.tenant_id()')
union all
select 'no_policy', relation, 'there is no permissive policy',
  case when relation in (select deployed.relation from deployed) then '-- Deploy again: node dist/migrate.js'
    else audit.manual(format('Create its policies in a chapter. Or, if its rows are not needed: drop table %s', relation)) end
from tenant_table
where not exists (
  select from audit.policies as policy where policy.relation = tenant_table.relation and not policy.restrictive
)
union all
select 'table_outside_schema', relation, format('a %s in the schema %s', kind, schema),
  case when home.name in (select deployed.relation from deployed) and home.name not in (select tables.relation from tables) then format('alter table %s set schema app', relation)
    else audit.manual(format('If its rows are not needed: drop %s %s', replace(kind, 'partitioned ', ''), relation)) end
from tables
join pg_class as class on class.oid = relid
cross join lateral (select audit.name_of('app', class.relname)) as home (name)
where kind <> 'sequence' and (
  not ours or (schema in ('deploy', 'audit') and not is_reference)
)
union all
select 'table_outside_schema', thing.identity, 'among the objects of PostgreSQL', audit.manual(format('If its rows are not needed: drop %s %s', thing.type, thing.identity))
from pg_class as class
cross join lateral pg_identify_object('pg_class'::regclass, class.oid, 0) as thing
where class.oid >= 16384 and class.relkind in ('r', 'p', 'f', 'm', 'v')
  and class.relnamespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_class'::regclass, class.oid))
union all
select 'temporary_object', thing.identity, 'a temporary ' || thing.type, format('drop %s %s cascade', thing.type, audit.name_of(namespace.nspname, made.name))
from (
  select 'pg_class'::regclass, oid, relnamespace, relname from pg_class where relkind in ('r', 'p', 'f', 'v', 'S')
  union all
  select 'pg_proc'::regclass, oid, pronamespace, proname from pg_proc
) as made (catalog, oid, namespace, name)
join pg_namespace as namespace on namespace.oid = made.namespace and namespace.nspname ~ '^pg_temp_'
cross join lateral pg_identify_object(made.catalog, made.oid, 0) as thing
union all
select 'inheritance_child', child.identity, 'it is a child of ' || parent.identity,
  case when class.relispartition then format('alter table %s detach partition %s', parent.identity, child.identity)
    else format('alter table %s no inherit %s', child.identity, parent.identity) end
from pg_inherits as inherits
join pg_class as class on class.oid = inherits.inhrelid and class.relkind in ('r', 'p', 'f')
cross join lateral pg_identify_object('pg_class'::regclass, inherits.inhparent, 0) as parent
cross join lateral pg_identify_object('pg_class'::regclass, inherits.inhrelid, 0) as child
where exists (select from tables where ours and relid in (inherits.inhrelid, inherits.inhparent))
union all
select 'foreign_table', relation, 'it reads rows of another server', format('drop foreign table %s', relation)
from tables where ours and kind = 'foreign table'
union all
select 'materialized_view', relation, 'its rows are under no policy', format('drop materialized view %s', relation)
from tables where ours and kind = 'materialized view'
union all
select distinct 'referenced_elsewhere', thing.identity, format('a %s that refers to %s', thing.type, tables.relation),
  case when con.oid is null then format('drop materialized view %s', thing.identity)
    else format('alter table %s drop constraint %I', audit.name_of(namespace.nspname, class.relname), con.conname) end
from tables
join pg_depend as needs on (needs.refclassid, needs.refobjid) = ('pg_class'::regclass, tables.relid)
left join pg_rewrite as rule on (needs.classid, needs.objid) = ('pg_rewrite'::regclass, rule.oid)
left join pg_constraint as con on (needs.classid, needs.objid) = ('pg_constraint'::regclass, con.oid) and con.contype = 'f'
join pg_class as class on class.oid = con.conrelid or class.oid = rule.ev_class and class.relkind = 'm'
join pg_namespace as namespace on namespace.oid = class.relnamespace
cross join lateral pg_identify_object(coalesce(con.tableoid, class.tableoid), coalesce(con.oid, class.oid), 0) as thing
where tables.ours and (class.relnamespace, class.relowner) in (select schemaid, ownerid from audit.elsewhere())
union all
select 'sequence_shared', tables.relation, 'all clubs share it',
  case when attribute.attname is null then format('drop sequence %s cascade', tables.relation)
    else format('alter table %s alter column %I drop identity', owner.relation, attribute.attname) end
from tables
left join pg_depend as identity on (identity.classid, identity.objid, identity.deptype) = ('pg_class'::regclass, tables.relid, 'i')
left join tables as owner on owner.relid = identity.refobjid
left join pg_attribute as attribute on (attribute.attrelid, attribute.attnum) = (identity.refobjid, identity.refobjsubid)
where tables.kind = 'sequence' and tables.schema = 'app'
union all
select 'table_owner', relation, 'it belongs to ' || owner, format('alter table %s owner to club_owner', relation)
from tables where ours and owner <> 'club_owner'
union all
select 'table_unlogged', relation, 'it is unlogged', format('alter table %s set logged', relation)
from tables where ours and kind <> 'sequence' and not logged
union all
select 'table_rule', relation, 'the rule ' || quote_ident(rule.rulename), format('drop rule %I on %s', rule.rulename, relation)
from pg_rewrite as rule
join (select relid, relation, ours from tables union all select relid, relation, ours from views) as ruled on ruled.relid = rule.ev_class
where ours and rule.rulename <> '_RETURN'
union all
select 'table_without_comment', relation, 'it has no comment', format('comment on %s %s is %L', kind, relation, 'Write its purpose here.')
from (
  select replace(kind, 'partitioned ', '') as kind, relation, comment from tables where ours and kind <> 'sequence'
  union all
  select 'view', relation, comment from views where ours
) as described
where comment is null
union all
select 'view_reads_as_owner', relation, 'it reads as ' || owner, format('alter view %s set (security_invoker = true)', relation)
from views where ours and not security_invoker
union all
select 'view_outside_schema', relation, 'a view in the schema ' || schema || case when security_invoker then '' else ' that reads as ' || owner end, format('drop view %s', relation)
from views where not ours
union all
select 'view_owner', relation, 'it belongs to ' || owner, format('alter view %s owner to club_owner', relation)
from views where ours and owner <> 'club_owner';
comment on view audit.table_findings is 'The findings of the checks of tables and views.';
comment on column audit.table_findings.code is 'The check.';
comment on column audit.table_findings.object is 'The object.';
comment on column audit.table_findings.detail is 'What is wrong with it.';
comment on column audit.table_findings.fix is 'SQL that repairs it.';
