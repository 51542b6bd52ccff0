-- Facts: one line for each property of the objects that the chapters and migrations create.
--
-- A deploy stores them in deploy.facts; audit.drift compares these with the catalogs. Sorted, they are
-- sql/snapshot.txt, where a review sees what a change does to the database; audit.fingerprint() is its SHA-256.
-- What a migration or roles.sql creates has the SQL that makes it and the SQL that removes it, to undo drift; a deploy undoes the rest.

create view audit.right_facts (kind, object, fact, make, unmake) with (security_invoker) as
select 'setting', concat_ws(' ', role, name, 'in ' || quote_ident(database)), value,
  format('alter role %s set %s = %s', role, name, case name when 'search_path' then value else quote_literal(value) end), reset
from audit.role_settings
where role in (select quote_ident(ours.role) from audit.intended_roles as ours)
union all
select 'grant', format('%s on %s %s to %s', privilege, kind, object || coalesce('.' || quote_ident(column_name), ''), grantee),
  case when may_grant then 'held, and may be handed on' else 'held' end, null, null
from audit.privileges
where ours and (kind in ('schema', 'table', 'sequence', 'routine')
  -- PUBLIC may use every type by default. The catalog has it explicitly once another role was granted something.
  or kind = 'type' and grantee <> 'public')
union all
select 'default privileges', format('of %s on functions', initial.defaclrole::regrole), initial.defaclacl::text, null, null
from pg_default_acl as initial
join audit.intended_roles as ours on ours.role = pg_get_userbyid(initial.defaclrole)
where initial.defaclnamespace = 0 and initial.defaclobjtype = 'f';
comment on view audit.right_facts is 'The facts of settings and privileges. Roles and memberships are checked by rules.';

create view audit.object_facts (kind, object, fact, make, unmake) with (security_invoker) as
with tables as (select * from audit.tables where ours),
schemas as (select * from audit.schemas where ours)
select 'schema', name::text, 'owner ' || owner, null, null
from schemas
union all
select kind, relation,
  concat_ws(' ', 'owner', owner, case when row_security then 'rls' end, case when row_security_forced then 'forced' end),
  null,
  -- A comment, as for a column: the table may be a renamed table of the last deploy.
  case when kind in ('table', 'partitioned table') then audit.manual(format('If its rows are not needed: drop table %s', relation))
    when kind = 'sequence' then audit.manual(format('Drop the column that uses it, or: drop sequence %s', relation))
    else format('drop %s %s', kind, relation) end
from tables
union all
select 'storage', relation,
  concat_ws(' ', array_to_string(reloptions, ', '), case when not logged then 'unlogged' end, case when relreplident <> 'd' then 'replica identity ' || relreplident::text end), null,
  concat_ws('; ', format('alter table %s replica identity default', relation), case when not logged then format('alter table %s set logged', relation) end,
    'alter table ' || relation || ' reset (' || (select string_agg(split_part(option, '=', 1), ', ') from unnest(reloptions) as option) || ')')
from tables join pg_class as class on class.oid = relid
where kind <> 'sequence' and (reloptions is not null or relreplident <> 'd' or not logged)
union all
select 'view', relation, concat_ws(' ', 'owner', owner, case when security_invoker then 'security invoker' end,
    nullif('with ' || array_to_string(array(select option from unnest(reloptions) as option where option !~ '^security_invoker='), ', '), 'with '), 'body', md5(definition)),
  null, null
from audit.views join pg_class as class on class.oid = relid where ours
union all
select written.kind, written.name, written.fact, format('alter table %s %s', tables.relation, written.make),
  case when written.kind = 'column' or attribute.attgenerated <> '' or attribute.attidentity <> '' then
      audit.manual(format('If its values are not needed: alter table %s drop column %s', tables.relation, col.name))
    else format('alter table %s %s', tables.relation, written.unmake) end
from pg_attribute as attribute
join tables on tables.relid = attribute.attrelid and tables.kind <> 'sequence'
join pg_type as type on type.oid = attribute.atttypid
left join pg_attrdef as initial on (initial.adrelid, initial.adnum) = (attribute.attrelid, attribute.attnum)
cross join lateral (
  select
    quote_ident(attribute.attname),
    audit.type_name(attribute.atttypid, attribute.atttypmod)
      || case when attribute.attcollation not in (0, 100) then ' collate ' || audit.definition('pg_collation', attribute.attcollation) else '' end,
    case when attribute.attstorage <> type.typstorage then ' storage ' || attribute.attstorage::text else '' end
      -- Some releases (15.20) store a number among the options, pg_attver, which differs for each created table.
      || coalesce(' with ' || (select string_agg(option, ', ') from unnest(attribute.attoptions) as option where option !~ '^pg_'), '')
      || case when attribute.attidentity <> '' then ' identity' when attribute.attgenerated <> '' then ' generated' else '' end,
    audit.expression(initial.adbin, initial.adrelid)
) as col (name, type, manner, initial)
cross join lateral (
  values
    ('column', tables.relation || '.' || col.name, col.type || col.manner,
      format('add column if not exists %s %s; alter table %s alter column %1$s type %2$s', col.name, col.type, tables.relation), 'drop column ' || col.name),
    ('not null', case when attribute.attnotnull then tables.relation || '.' || col.name end, 'every row has it',
      format('alter column %s set not null', col.name), format('alter column %s drop not null', col.name)),
    ('default', case when col.initial is not null then tables.relation || '.' || col.name end, col.initial,
      format('alter column %s set default %s', col.name, col.initial), format('alter column %s drop default', col.name))
) as written (kind, name, fact, make, unmake)
where attribute.attnum > 0 and not attribute.attisdropped and written.name is not null
union all
select case when con.contype = 'c' then 'constraint' else 'key' end, tables.relation || '.' || quote_ident(con.conname), audit.definition('pg_constraint', con.oid),
  format('alter table %s drop constraint if exists %I, add constraint %2$I %s', tables.relation, con.conname, audit.definition('pg_constraint', con.oid)),
  format('alter table %s drop constraint %I', tables.relation, con.conname)
from pg_constraint as con
join tables on tables.relid = con.conrelid
where con.contype in ('f', 'p', 'u', 'x', 'c')
union all
select 'index', audit.name_of(tables.schema, class.relname), audit.definition('pg_index', index.indexrelid),
  format('drop index if exists %s; %s', audit.name_of(tables.schema, class.relname), audit.definition('pg_index', index.indexrelid)),
  format('drop index %s', audit.name_of(tables.schema, class.relname))
from pg_index as index
join pg_class as class on class.oid = index.indexrelid
join tables on tables.relid = index.indrelid
where not exists (select from pg_constraint as con where con.conindid = index.indexrelid)
union all
select 'policy', policy,
  concat_ws(' ', case when restrictive then 'restrictive' else 'permissive' end, command, 'to', array_to_string(roles, ', '),
    'using', coalesce(using_expression, '-'), 'check', coalesce(check_expression, '-')), null, null
from audit.policies where ours
union all
select 'trigger', trigger, concat_ws(' ', definition, case when not enabled then 'disabled' end), null, null
from audit.triggers where ours and not keeps_foreign_key
union all
select 'function', function,
  concat_ws(' ', 'returns', audit.type_name(proc.prorettype), 'owner', owner, volatility, case when security_definer then 'security definer' end,
    case when leakproof then 'leakproof' end, case when proc.proisstrict then 'strict' end,
    'parallel ' || proc.proparallel::text, language, nullif('set ' || array_to_string(settings, ', '), 'set '), 'body', md5(case when is_function then audit.definition('pg_proc', proc.oid) else body end)),
  null, null
from audit.functions as functions
join pg_proc as proc on proc.oid = functions.funcid
where ours
union all
select 'type', audit.name_of(schema.name, type.typname), array_to_string(array(
    select quote_literal(label.enumlabel) from pg_enum as label where label.enumtypid = type.oid order by label.enumsortorder
  ), ' < '), null, format('drop type %s', audit.name_of(schema.name, type.typname))
from pg_type as type
join schemas as schema on schema.oid = type.typnamespace
where type.typtype in ('e', 'd', 'r', 'm') or type.typtype = 'b' and type.typelem = 0 or type.typtype = 'c' and (select relkind from pg_class where oid = type.typrelid) = 'c'
union all
select 'other', thing.type || ' ' || thing.identity, 'it exists', null, format('drop %s %s', replace(thing.type, 'statistics object', 'statistics'), thing.identity)
from pg_depend as within
join schemas as schema on within.refclassid = 'pg_namespace'::regclass and schema.oid = within.refobjid
cross join lateral pg_identify_object(within.classid, within.objid, 0) as thing
where within.classid in ('pg_collation'::regclass, 'pg_conversion'::regclass, 'pg_statistic_ext'::regclass, 'pg_ts_config'::regclass, 'pg_ts_dict'::regclass,
  'pg_ts_parser'::regclass, 'pg_ts_template'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass, 'pg_opfamily'::regclass)
union all
select 'comment', thing.type || ' ' || thing.identity, description, null,
  format('comment on %s %s is null', regexp_replace(thing.type, '^table (column|constraint)$', '\1'), thing.identity)
from pg_description as said
cross join lateral pg_identify_object(said.classoid, said.objoid, said.objsubid) as thing
-- Without the schema audit, which a deploy creates again with its comments.
where said.objoid >= 16384 and (thing.schema in ('app', 'deploy') or thing.type in ('policy', 'trigger') and thing.identity ~ ' on (app|deploy)\.'
  or thing.type = 'schema' and thing.identity in ('app', 'deploy'));
comment on view audit.object_facts is 'The facts of the schemas of the service and of their objects.';

-- A new table of audit.intended_reference_tables with rows that migrations write needs a line here, and SELECT for
-- club_auditor and club_api.
create view audit.reference_rows (relation, key, content) with (security_invoker) as
select 'app.task_states', array['state'], to_jsonb(states) from app.task_states as states
union all
select 'app.task_transitions', array['from_state', 'to_state'], to_jsonb(transitions) from app.task_transitions as transitions
union all
select 'deploy.migration_files', array['name'], to_jsonb(files) from deploy.migration_files as files
union all
select 'deploy.migrations', array['name'], jsonb_strip_nulls(jsonb_build_object('name', name, 'times', nullif(count(*), 1))) from deploy.migrations group by name;
comment on view audit.reference_rows is 'The rows that migrations write, without columns that differ between servers, such as the time at which a migration ran.';

create view audit.row_facts (kind, object, fact, make, unmake) with (security_invoker) as
select 'row', format('%s (%s)', rows.relation, written.identity), coalesce(written.fact, 'it exists'),
  case rows.relation
    -- node-pg-migrate reads the names in the order of run_on and id, and refuses another order than that of the files.
    when 'deploy.migrations' then format(
      'delete from %s where name = %L; insert into %1$s (id, name, run_on) select coalesce(max(ran.id), 0) + '
        || '(select count(*) from deploy.migration_files as file where file.name > coalesce(max(ran.name), '''') and file.name <= %2$L), '
        || '%2$L, coalesce(max(ran.run_on), (select min(run_on) from %1$s), now()) from %1$s as ran where ran.name < %2$L',
      rows.relation, rows.content ->> 'name')
    else format('insert into %s (%s) values (%s) on conflict (%s) do %s', rows.relation, written.columns, written.contents, array_to_string(rows.key, ', '),
      coalesce('update set ' || written.assignments, 'nothing'))
  end,
  format('delete from %s where %s', rows.relation, written.condition)
from audit.reference_rows as rows
cross join lateral (
  select
    string_agg(quote_nullable(field.value), ', ' order by array_position(rows.key, field.name)) filter (where field.name = any (rows.key)) as identity,
    string_agg(format('%s %s', field.name, field.value), ' ' order by field.name) filter (where field.name <> all (rows.key)) as fact,
    string_agg(quote_ident(field.name), ', ' order by field.name) as columns,
    string_agg(quote_nullable(field.value), ', ' order by field.name) as contents,
    string_agg(format('%I = excluded.%1$I', field.name), ', ' order by field.name) filter (where field.name <> all (rows.key)) as assignments,
    string_agg(format('%I = %L', field.name, field.value), ' and ' order by field.name) filter (where field.name = any (rows.key)) as condition
  from jsonb_each_text(rows.content) as field (name, value)
) as written;
comment on view audit.row_facts is 'The facts of the rows that migrations write.';
