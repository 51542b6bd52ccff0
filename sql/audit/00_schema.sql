-- Audit: the database says itself whether the isolation of clubs holds.
--
--     select * from audit.findings;      -- no row: it holds
--
-- The schema holds no data, so every deploy drops it and makes it anew; nothing that somebody put here stays.
-- It is read by club_auditor, who sees no row of a club, and by the service for /readyz. Three layers:
--
--   facts    audit.tables, policies, privileges, roles, functions, …: the catalogs, in the words of this project
--   intent   audit.intended_*: what is meant to exist beside the rule, and why; changing it is a reviewed change
--   checks   one view of findings for each class, and audit.drift, which compares everything with the last deploy
--
-- All views run with the rights of whoever reads them. Everything is read from catalogs that everybody may read,
-- so it works on a standby too.

set local role club_owner;

drop schema if exists audit cascade;
create schema audit;
comment on schema audit is 'Whether the isolation of clubs holds. Begin with: select * from audit.findings.';
grant usage on schema audit to club_auditor, club_api;

-- PostgreSQL prints a name with its schema unless the search path of the reader has it, and times as the reader likes
-- them. These print both always alike.

create function audit.name_of(schema name, object name) returns text
language sql immutable
return format('%I.%I', schema, object);
comment on function audit.name_of(name, name) is 'A qualified name, quoted where SQL needs it.';

create function audit.expression(expression pg_node_tree, relation oid) returns text
language sql stable set search_path = '' set intervalstyle = 'postgres' set datestyle = 'ISO, MDY'
return pg_get_expr(expression, relation);
comment on function audit.expression(pg_node_tree, oid) is 'An expression over a relation, with every name qualified.';

create function audit.signature(routine oid) returns text
language sql stable set search_path = ''
return routine::regprocedure::text;
comment on function audit.signature(oid) is 'A routine''s name and the types of its arguments, qualified.';

create function audit.type_name(type oid, modifier integer default null) returns text
language sql stable set search_path = ''
return format_type(type, modifier);
comment on function audit.type_name(oid, integer) is 'A type''s name, qualified where it is not PostgreSQL''s own.';

create function audit.definition(catalog regclass, object oid) returns text
language sql stable set search_path = '' set intervalstyle = 'postgres' set datestyle = 'ISO, MDY'
return case catalog
  when 'pg_catalog.pg_constraint'::regclass then pg_get_constraintdef(object)
  when 'pg_catalog.pg_trigger'::regclass then pg_get_triggerdef(object)
  when 'pg_catalog.pg_proc'::regclass then pg_get_functiondef(object)
  when 'pg_catalog.pg_index'::regclass then regexp_replace(pg_get_indexdef(object), '\s*\n\s*', ' ', 'g')
  when 'pg_catalog.pg_class'::regclass then pg_get_viewdef(object)
  when 'pg_catalog.pg_rewrite'::regclass then pg_get_ruledef(object)
  when 'pg_catalog.pg_collation'::regclass then object::regcollation::text
end;
comment on function audit.definition(regclass, oid) is
  'What makes a constraint, trigger, routine, index, view or rule, or names a collation, by the catalog that it is in, with every name qualified.';

create function audit.body(routine oid) returns text
language sql stable set search_path = ''
return (select coalesce(pg_get_function_sqlbody(proc.oid), proc.prosrc) from pg_catalog.pg_proc as proc where proc.oid = routine);
comment on function audit.body(oid) is 'What a routine does. Where its names were looked up when it was made, they are qualified.';

create view audit.schemas with (security_invoker) as
select
  namespace.oid,
  namespace.nspname as name,
  namespace.nspname in ('app', 'deploy', 'audit') as ours,
  namespace.nspowner::regrole::text as owner
from pg_namespace as namespace
where namespace.nspname not in ('pg_catalog', 'information_schema') and namespace.nspname !~ '^pg_(toast|temp)'
  and not exists (
    select from pg_depend as member
    where (member.classid, member.objid) = ('pg_namespace'::regclass, namespace.oid) and member.deptype = 'e'
  );
comment on view audit.schemas is 'The schemas that are neither PostgreSQL''s nor an extension''s.';
comment on column audit.schemas.oid is 'Its number in pg_namespace.';
comment on column audit.schemas.name is 'Its name.';
comment on column audit.schemas.ours is 'Whether it belongs to the service.';
comment on column audit.schemas.owner is 'The role that owns it.';

create view audit.extension_members with (security_invoker) as
select member.classid, member.objid, extension.extname as extension
from pg_depend as member
join pg_extension as extension on extension.oid = member.refobjid
where member.refclassid = 'pg_extension'::regclass and member.deptype = 'e';
comment on view audit.extension_members is 'What belongs to an extension, which answers for it: risky ones are a finding themselves.';
comment on column audit.extension_members.classid is 'The catalog that the object is in.';
comment on column audit.extension_members.objid is 'Its number in that catalog.';
comment on column audit.extension_members.extension is 'The extension''s name.';
