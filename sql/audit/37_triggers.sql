-- Checks: triggers, and other objects that call functions: defaults, check constraints, indexes, operators.

create view audit.trigger_checks (code, severity, title, why) with (security_invoker) as values
  ('trigger_disabled', 'warning', 'A trigger is disabled', 'Internal triggers enforce the foreign keys, which keep references inside a club; the others enforce rules of the service.'),
  ('trigger_without_comment', 'warning', 'A trigger has no comment', 'A review needs to know its purpose.'),
  ('trigger_function', 'critical', 'A trigger calls a function that is not the service''s', 'It runs in the statements of other roles, with their privileges, and no chapter creates it.'),
  ('trigger_missing', 'warning', 'An intended trigger is missing or changed', 'Triggers enforce the workflow, the counter and the versions. See audit.intended_triggers.'),
  ('trigger_unintended', 'warning', 'A trigger is not intended', 'It may change rows or skip statements. The intended ones are in audit.intended_triggers.'),
  ('expression_calls_function', 'critical', 'A default, check or index calls an unexpected function', 'The function runs in the statements of other roles. Only the accessors and app.new_id are allowed.'),
  ('operator_outside_catalog', 'critical', 'An operator, cast, conversion or similar object is not PostgreSQL''s', 'Policies and keys compare with operators; a wrong one could report two different ids as equal.'),
  ('operator_outside_schema', 'warning', 'An operator, cast, conversion or similar object is outside the schemas of the service', 'No chapter creates it, so it was not reviewed. No name of the service resolves to it.');
comment on view audit.trigger_checks is 'The checks of triggers, expressions and operators.';
comment on column audit.trigger_checks.code is 'Its name, for audit.findings.';
comment on column audit.trigger_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.trigger_checks.title is 'What it finds.';
comment on column audit.trigger_checks.why is 'Why it matters.';

create view audit.trigger_findings (code, object, detail, fix) with (security_invoker) as
with tables as (select relid, relation, ours from audit.tables),
triggers as (select * from audit.triggers where ours and not (keeps_foreign_key and enabled)),
functions as (select funcid, ours from audit.functions),
other_schemas as (select schemaid from audit.other_schemas)
select 'trigger_without_comment', trigger, 'it has no comment', format('comment on trigger %I on %s is %L', name, relation, 'Write its purpose here.')
from triggers where ours and not keeps_foreign_key and coalesce(comment, '') = ''
union all
select 'trigger_disabled', trigger, case when keeps_foreign_key then 'it enforces a foreign key' else 'it is a trigger of the service' end,
  format('alter table %s enable trigger %I', relation, name)
from triggers where ours and not enabled
union all
select 'trigger_function', trigger, 'it calls ' || audit.signature(triggers.funcid), format('drop trigger %I on %s', name, relation)
from triggers
where ours and not keeps_foreign_key and not exists (select from functions as called where called.funcid = triggers.funcid and called.ours)
union all
select 'trigger_unintended', trigger, definition, format('drop trigger %I on %s', name, relation)
from triggers
where ours and not keeps_foreign_key and not exists (select from audit.intended_triggers as intended where intended.trigger = triggers.trigger)
union all
select 'trigger_missing', wanted.trigger, coalesce('it is ' || triggers.definition, 'it does not exist'),
  format('drop trigger if exists %s on %s; %s', wanted.name, wanted.relation, wanted.definition)
from (
  select intended.trigger, parts[2] as name, parts[1] as relation,
    format(case when deferred.trigger is null then 'CREATE TRIGGER %s %s ON %s FOR EACH ROW EXECUTE FUNCTION %s'
      else 'CREATE CONSTRAINT TRIGGER %s %s ON %s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION %s' end,
      parts[2], intended.event, parts[1], intended.function) as definition
  from audit.intended_triggers as intended
  left join audit.intended_deferrables as deferred using (trigger)
  cross join lateral regexp_match(intended.trigger, '^(.*)\.([^.]+)$') as parts
) as wanted
left join triggers on triggers.trigger = wanted.trigger
where triggers.definition is distinct from wanted.definition
union all
select 'expression_calls_function', thing.identity, 'it calls ' || called.function,
  case when thing.type = 'default value' then format('alter table %s alter column %I drop default', initial.adrelid::regclass, attribute.attname)
    when thing.type = 'index' then format('drop index %s', thing.identity)
    -- A partition key, which PostgreSQL cannot change.
    when con.oid is null then audit.manual(format('Create it again with another partition key: %s %s', thing.type, thing.identity))
    when con.contypid <> 0 then format('alter domain %s drop constraint %I', con.contypid::regtype, con.conname)
    else format('alter table %s drop constraint %I', con.conrelid::regclass, con.conname) end
from audit.calls as called
cross join lateral pg_identify_object(called.classid, called.objid, 0) as thing
left join pg_attrdef as initial on called.classid = 'pg_attrdef'::regclass and initial.oid = called.objid
left join pg_attribute as attribute on (attribute.attrelid, attribute.attnum) = (initial.adrelid, initial.adnum)
left join pg_constraint as con on called.classid = 'pg_constraint'::regclass and con.oid = called.objid
left join pg_class as class on class.oid = case called.classid when 'pg_class'::regclass then called.objid else coalesce(initial.adrelid, con.conrelid) end
left join pg_type as type on type.oid = con.contypid
where called.classid in ('pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass)
  and coalesce(class.relnamespace, type.typnamespace) in (select oid from audit.schemas where ours)
  and called.function not in (select accessor.function from audit.intended_accessors as accessor) and called.function <> 'app.new_id()'
union all
select 'expression_calls_function', fact.object, 'it calls ' || found[1],
  case fact.kind when 'd' then format('alter table %s alter column %I drop default', fact.relation, fact.name) else format('alter table %s drop constraint %I', fact.relation, fact.name) end
from (
  select 'd', tables.relation, attname, tables.relation || '.' || quote_ident(attname), audit.expression(adbin, adrelid)
  from pg_attrdef join pg_attribute on (attrelid, attnum) = (adrelid, adnum) join tables on tables.relid = adrelid and tables.ours
  union all
  select 'c', tables.relation, conname, tables.relation || '.' || quote_ident(conname), audit.definition('pg_constraint', pg_constraint.oid)
  from pg_constraint join tables on tables.relid = conrelid and tables.ours where contype = 'c'
) as fact (kind, relation, name, object, expression)
cross join lateral regexp_match(fact.expression, '\m(current_setting|set_config|pg_read_\w+|pg_ls_\w+|lo_\w+|query_to_xml\w*)\(') as found
where found is not null
union all
select
  case when coalesce(thing.schema, family_of.schema, cast_of.schema, 'pg_catalog') in ('pg_catalog', 'information_schema', 'app', 'deploy', 'audit') then 'operator_outside_catalog' else 'operator_outside_schema' end,
  thing.identity, 'a ' || thing.type,
  case thing.type when 'operator of access method' then regexp_replace(thing.identity, '^operator (\d+) \((.*)\) of (.*) USING (\w+)$', 'alter operator family \3 using \4 drop operator \1 (\2)')
    else format('drop %s %s%s', thing.type, thing.identity, case when thing.type = 'operator family' then ' cascade' end) end
from (
  select 'pg_operator'::regclass, oid from pg_operator
  union all
  select 'pg_cast'::regclass, oid from pg_cast
  union all
  select 'pg_opclass'::regclass, oid from pg_opclass
  union all
  select 'pg_opfamily'::regclass, oid from pg_opfamily
  union all
  select 'pg_amop'::regclass, oid from pg_amop
  union all
  select 'pg_am'::regclass, oid from pg_am
  union all
  select 'pg_transform'::regclass, oid from pg_transform
  union all
  select 'pg_conversion'::regclass, oid from pg_conversion
) as made (catalog, oid)
cross join lateral pg_identify_object(made.catalog, made.oid, 0) as thing
-- A cast has no schema; it affects only expressions with its types.
left join lateral (
  select min(namespace.nspname)
  from pg_cast
  join pg_type as type on type.oid in (castsource, casttarget)
  join pg_namespace as namespace on namespace.oid = type.typnamespace
  where pg_cast.oid = made.oid and made.catalog = 'pg_cast'::regclass and namespace.nspname not in ('pg_catalog', 'information_schema', 'app', 'deploy', 'audit')
) as cast_of (schema) on true
-- Nor has an operator of an access method: it belongs to its family.
left join lateral (
  select family.oid, namespace.nspname
  from pg_amop
  join pg_opfamily as family on family.oid = amopfamily
  join pg_namespace as namespace on namespace.oid = family.opfnamespace
  where pg_amop.oid = made.oid and made.catalog = 'pg_amop'::regclass
) as family_of (oid, schema) on true
where made.oid >= 16384 and coalesce(thing.schema, family_of.schema, '') not in (
    select nspname from pg_namespace join other_schemas as other on other.schemaid = pg_namespace.oid
  )
  -- Nor is a cast of another application's type a finding.
  and not (made.catalog = 'pg_cast'::regclass and exists (
    select from pg_cast
    join pg_type as type on type.oid in (castsource, casttarget)
    join other_schemas as other on other.schemaid = type.typnamespace
    where pg_cast.oid = made.oid
  ))
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) in ((made.catalog, made.oid), ('pg_opfamily'::regclass, family_of.oid)));
comment on view audit.trigger_findings is 'The findings of the checks of triggers, expressions and operators.';
comment on column audit.trigger_findings.code is 'The check.';
comment on column audit.trigger_findings.object is 'The object.';
comment on column audit.trigger_findings.detail is 'What is wrong with it.';
comment on column audit.trigger_findings.fix is 'SQL that repairs it.';
