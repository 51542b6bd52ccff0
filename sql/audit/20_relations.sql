-- Facts: relations, and the constraints between them.

create view audit.tables with (security_invoker) as
select
  class.oid as relid,
  audit.name_of(schema.name, class.relname) as relation,
  schema.name as schema,
  schema.ours,
  case class.relkind
    when 'r' then 'table' when 'p' then 'partitioned table' when 'f' then 'foreign table'
    when 'm' then 'materialized view' when 'S' then 'sequence'
  end as kind,
  class.relowner::regrole::text as owner,
  class.relrowsecurity as row_security,
  class.relforcerowsecurity as row_security_forced,
  class.relpersistence = 'p' as logged,
  reference.relation is not null as is_reference,
  tenant.attname as tenant_column,
  audit.type_name(tenant.atttypid) as tenant_type,
  obj_description(class.oid, 'pg_class') as comment
from pg_class as class
join audit.schemas as schema on schema.oid = class.relnamespace
left join audit.intended_reference_tables as reference on reference.relation = audit.name_of(schema.name, class.relname)
left join audit.intended_tenant_columns as keyed on keyed.relation = audit.name_of(schema.name, class.relname)
left join pg_attribute as tenant
  on tenant.attrelid = class.oid and tenant.attname = coalesce(keyed.tenant_column, 'tenant_id') and not tenant.attisdropped
where class.relkind in ('r', 'p', 'f', 'm', 'S')
  and (schema.ours or (class.relnamespace, class.relowner) not in (select schemaid, ownerid from audit.elsewhere()))
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_class'::regclass, class.oid));
comment on view audit.tables is 'Tables and other relations with rows, in every schema that is not PostgreSQL''s or an extension''s, excluding other applications (audit.elsewhere).';

create view audit.views with (security_invoker) as
select
  class.oid as relid,
  audit.name_of(schema.name, class.relname) as relation,
  schema.name as schema,
  schema.ours,
  class.relowner::regrole::text as owner,
  coalesce((
    select option.value::boolean from pg_options_to_table(class.reloptions) as option (name, value) where option.name = 'security_invoker'
  ), false) as security_invoker,
  audit.definition('pg_class', class.oid) as definition,
  obj_description(class.oid, 'pg_class') as comment
from pg_class as class
join audit.schemas as schema on schema.oid = class.relnamespace
where class.relkind = 'v'
  and (schema.ours or (class.relnamespace, class.relowner) not in (select schemaid, ownerid from audit.elsewhere()))
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_class'::regclass, class.oid));
comment on view audit.views is 'Views. A view without security_invoker reads as its owner, so the caller''s policies do not apply. Excludes other applications (audit.elsewhere).';

create view audit.foreign_keys with (security_invoker) as
select
  source.relation || '.' || quote_ident(con.conname) as foreign_key,
  con.conname as name,
  source.relation,
  target.relation as referenced,
  key.columns,
  exists (
    select from unnest(key.columns, key.referenced_columns) as pair (from_column, to_column)
    where (pair.from_column, pair.to_column) = (source.tenant_column, target.tenant_column)
  ) and not source.is_reference as keeps_tenant,
  source.ours and target.tenant_column is not null and not target.is_reference as joins_tenants,
  audit.definition('pg_constraint', con.oid) as definition
from pg_constraint as con
join audit.tables as source on source.relid = con.conrelid
join audit.tables as target on target.relid = con.confrelid
cross join lateral (
  select
    array_agg(from_column.attname order by pair.position) as columns,
    array_agg(to_column.attname order by pair.position) as referenced_columns
  from unnest(con.conkey, con.confkey) with ordinality as pair (from_number, to_number, position)
  join pg_attribute as from_column on (from_column.attrelid, from_column.attnum) = (con.conrelid, pair.from_number)
  join pg_attribute as to_column on (to_column.attrelid, to_column.attnum) = (con.confrelid, pair.to_number)
) as key
where con.contype = 'f';
comment on view audit.foreign_keys is 'Foreign keys. A key without the tenant allows a reference to a row of another club.';

create view audit.unique_indexes with (security_invoker) as
select
  index.indexrelid,
  audit.name_of(tables.schema, class.relname) as index,
  tables.relation,
  con.conname as constraint_name,
  coalesce((
    select array_agg(attribute.attname order by key.position)
    from unnest(index.indkey::smallint[]) with ordinality as key (number, position)
    join pg_attribute as attribute on (attribute.attrelid, attribute.attnum) = (index.indrelid, key.number)
    where key.position <= index.indnkeyatts
      -- In an exclusion constraint only a tenant compared with = separates clubs.
      and (con.conexclop is null or (select oprname from pg_operator where oid = con.conexclop[key.position]) = '=')
  ), '{}') as columns,
  tables.tenant_column,
  audit.definition('pg_index', index.indexrelid) as definition
from pg_index as index
join pg_class as class on class.oid = index.indexrelid
join audit.tables as tables on tables.relid = index.indrelid
left join pg_constraint as con on con.conindid = index.indexrelid and con.contype in ('p', 'u', 'x')
where index.indisunique or index.indisexclusion;
comment on view audit.unique_indexes is 'Unique indexes and exclusion constraints. Without the tenant, an error shows a club which values another one has.';
