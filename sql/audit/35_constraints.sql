-- Checks: keys and other constraints.

create view audit.constraint_checks (code, severity, title, why) with (security_invoker) as values
  ('foreign_key_without_tenant', 'critical', 'A foreign key does not carry the tenant', 'A row may reference a row of another club, and an error shows whether an id exists there.'),
  ('unique_without_tenant', 'critical', 'A unique index spans the clubs', 'An error shows one club which values another one has. The exceptions are in audit.intended_uniques.'),
  ('cascade_across_tenants', 'critical', 'A cascade may affect another club', 'Deleting a row in one club could delete or change rows of another.'),
  ('cascade_unintended', 'warning', 'A foreign key deletes or changes rows', 'The policies of the table do not apply to this. The exceptions are in audit.intended_cascades.'),
  ('set_null_on_tenant', 'warning', 'A foreign key clears the tenant of rows', 'These rows would belong to no club.'),
  ('foreign_key_action_unstated', 'warning', 'A foreign key has no ON DELETE action', 'The default, NO ACTION, is checked at the end of the statement only. Use RESTRICT, or add a line to audit.intended_cascades.'),
  ('foreign_key_without_index', 'warning', 'A foreign key has no index', 'Each deletion of a referenced row reads the whole table, the rows of every club.'),
  ('constraint_not_valid', 'warning', 'A constraint is NOT VALID', 'Existing rows were not checked and may violate it.'),
  ('constraint_deferrable', 'warning', 'A constraint or a constraint trigger is DEFERRABLE', 'Until the transaction ends, statements may see rows that violate it, such as a reference to another club. What it locks at COMMIT can deadlock with the counter of events. The exception is in audit.intended_deferrables.'),
  ('constraint_not_enforced', 'warning', 'A constraint is NOT ENFORCED', 'PostgreSQL does not check it.'),
  ('tenant_without_club', 'warning', 'A table has no foreign key to app.clubs', 'A row may belong to a club that does not exist.'),
  ('primary_key_missing', 'warning', 'A table has no primary key', 'Duplicate rows are possible, and logical replication cannot replicate its updates and deletions.'),
  ('index_invalid', 'warning', 'An index is INVALID', 'Its creation failed: it slows down every write, serves no read, and a unique one may not prevent duplicates.');
comment on view audit.constraint_checks is 'The checks of keys and other constraints.';
comment on column audit.constraint_checks.code is 'Its name, for audit.findings.';
comment on column audit.constraint_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.constraint_checks.title is 'What it finds.';
comment on column audit.constraint_checks.why is 'Why it matters.';

create view audit.constraint_findings (code, object, detail, fix) with (security_invoker) as
with tables as (select * from audit.tables),
unique_indexes as (select * from audit.unique_indexes),
key as (
  select *, format('alter table %s drop constraint %I', relation, name) as drop_it
  from audit.foreign_keys
), tenant_table as (select * from tables where schema = 'app' and kind in ('table', 'partitioned table') and not is_reference),
con as (
  select pg_constraint.*, tables.relation
  from pg_constraint join tables on tables.relid = pg_constraint.conrelid and tables.ours
)
select 'foreign_key_without_tenant', foreign_key, definition, drop_it
from key where joins_tenants and not keeps_tenant
union all
-- In app.clubs the id is the tenant: a unique index that contains it is allowed.
select 'unique_without_tenant', index, definition,
  case when constraint_name is null then format('drop index %s', index)
    else format('alter table %s drop constraint %I', relation, constraint_name) end
from unique_indexes as uniques
where relation in (select relation from tenant_table)
  and tenant_column <> all (columns)
  and not exists (select from audit.intended_uniques as intended where (intended.index, intended.columns) = (uniques.index, uniques.columns))
union all
select 'unique_without_tenant', index, 'the table has no tenant column: ' || definition,
  case when constraint_name is null then format('drop index %s', index)
    else format('alter table %s drop constraint %I', relation, constraint_name) end
from unique_indexes as uniques
where relation in (select relation from tenant_table) and tenant_column is null
union all
select 'cascade_across_tenants', foreign_key, definition, drop_it
from key where joins_tenants and not keeps_tenant and (on_delete in ('cascade', 'set null', 'set default') or on_update in ('cascade', 'set null', 'set default'))
union all
select 'cascade_unintended', foreign_key, definition, drop_it
from key
where (on_delete in ('cascade', 'set null', 'set default') or on_update in ('cascade', 'set null', 'set default'))
  and not (on_update in ('no action', 'restrict')
    and exists (select from audit.intended_cascades as intended where intended.foreign_key = key.foreign_key))
union all
select 'set_null_on_tenant', foreign_key, definition, drop_it
from key where clears_tenant
union all
select 'foreign_key_action_unstated', foreign_key, definition,
  format('%s, add constraint %I %s', drop_it, name, regexp_replace(definition, '( DEFERRABLE.*| NOT VALID)?$', ' on delete restrict'))
from key where on_delete = 'no action'
union all
select 'foreign_key_without_index', foreign_key, 'no index begins with ' || array_to_string(columns, ', '),
  format('create index on %s (%s)', relation, (select string_agg(quote_ident(name), ', ' order by position) from unnest(columns) with ordinality as col (name, position)))
from key where not has_index and joins_tenants
union all
select 'constraint_not_valid', relation || '.' || quote_ident(conname), audit.definition('pg_constraint', con.oid),
  format('alter table %s validate constraint %I', relation, conname)
from con where not convalidated
union all
select 'constraint_deferrable', relation || '.' || quote_ident(conname), audit.definition('pg_constraint', con.oid),
  case contype when 't' then format('drop trigger %2$I on %1$s', relation, conname)
    when 'f' then format('alter table %s alter constraint %I not deferrable', relation, conname)
    else format('alter table %s drop constraint %I cascade, add constraint %2$I %s', relation, conname,
      regexp_replace(audit.definition('pg_constraint', con.oid), ' DEFERRABLE.*', '')) end
from con
where condeferrable and not exists (select from audit.intended_deferrables as intended where intended.trigger = con.relation || '.' || quote_ident(con.conname))
union all
select 'constraint_not_enforced', relation || '.' || quote_ident(conname), audit.definition('pg_constraint', con.oid),
  case contype when 'f' then format('alter table %s alter constraint %I enforced', relation, conname)
    else format('alter table %s drop constraint %I, add constraint %2$I %s', relation, conname,
      replace(audit.definition('pg_constraint', con.oid), ' NOT ENFORCED', '')) end
from con where (to_jsonb(con) ->> 'conenforced')::boolean is false
union all
select 'tenant_without_club', relation, format('%I does not reference app.clubs', tenant_column),
  format('alter table %s add foreign key (%I) references app.clubs (id) on delete restrict', relation, tenant_column)
from tenant_table
where relation <> 'app.clubs' and tenant_column is not null and not exists (
  select from key
  where key.relation = tenant_table.relation and key.referenced = 'app.clubs' and key.columns = array[tenant_table.tenant_column] and key.keeps_tenant
)
union all
select 'primary_key_missing', relation, 'it has no primary key',
  format('alter table %s add primary key (%s)', relation, (
    select string_agg(quote_ident(attname), ', ' order by attname = 'id', attnum)
    from pg_attribute where attrelid = tables.relid and attnum > 0 and attname in (tenant_column, 'id', 'kind', 'object')
  ))
from tables
where ours and kind in ('table', 'partitioned table')
  and not exists (select from pg_index where indrelid = tables.relid and indisprimary)
union all
select 'index_invalid', audit.name_of(tables.schema, class.relname), 'on ' || tables.relation, format('reindex index %s', audit.name_of(tables.schema, class.relname))
from pg_index as index
join pg_class as class on class.oid = index.indexrelid
join tables on tables.relid = index.indrelid
where tables.ours and not (index.indisvalid and index.indisready and index.indislive);
comment on view audit.constraint_findings is 'The findings of the checks of keys and other constraints.';
comment on column audit.constraint_findings.code is 'The check.';
comment on column audit.constraint_findings.object is 'The object.';
comment on column audit.constraint_findings.detail is 'What is wrong with it.';
comment on column audit.constraint_findings.fix is 'SQL that repairs it.';
