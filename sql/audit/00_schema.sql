-- Audit: checks from inside the database that clubs are isolated.
--
--     select * from audit.findings;      -- no row: no check found a weakness
--
-- The schema has no data. A deploy drops it and creates it again if a chapter has changed or the database has drift, so an
-- object added by hand does not stay.
-- It is read by club_auditor, which sees no row of a club, and by the service for /readyz. Three layers:
--
--   facts    audit.tables, policies, privileges, roles, functions, …: views over the catalogs
--   intent   audit.intended_*: the intended objects and exceptions to the rules, each with a reason
--   checks   the rules of isolation (core), what others do to the server and the database, and drift: every other difference
--            from the last deploy
--
-- What only a commit can break, such as a missing comment, is in ../lint.sql.
--
-- All views run with the privileges of the role that reads them, and read only catalogs that every role may read.
-- So they work on a standby too.

set local role club_owner;

drop schema if exists audit cascade;
create schema audit;
comment on schema audit is 'Checks of the isolation of clubs. Begin with: select * from audit.findings.';
grant usage on schema audit to club_auditor, club_api;

-- PostgreSQL omits the schema of a name when it is in the search path, and prints times in the session's format. The
-- output of these functions does not depend on the session.

create function audit.name_of(schema name, object name) returns text
language sql immutable
return format('%I.%I', schema, object);
comment on function audit.name_of(name, name) is 'A qualified name, quoted where SQL needs it.';

create function audit.expression(expression pg_node_tree, relation oid) returns text
language sql stable set search_path = pg_catalog, pg_temp set intervalstyle = 'postgres' set datestyle = 'ISO, MDY'
return pg_get_expr(expression, relation);
comment on function audit.expression(pg_node_tree, oid) is 'An expression over a relation, with every name qualified.';

create function audit.signature(routine oid) returns text
language sql stable set search_path = pg_catalog, pg_temp
return routine::regprocedure::text;
comment on function audit.signature(oid) is 'A routine''s name and the types of its arguments, qualified.';

create function audit.type_name(type oid, modifier integer default null) returns text
language sql stable set search_path = pg_catalog, pg_temp
return format_type(type, modifier);
comment on function audit.type_name(oid, integer) is 'A type''s name, qualified where it is not PostgreSQL''s own.';

create function audit.definition(catalog regclass, object oid) returns text
language sql stable set search_path = pg_catalog, pg_temp set intervalstyle = 'postgres' set datestyle = 'ISO, MDY'
return case catalog
  when 'pg_catalog.pg_constraint'::regclass then pg_get_constraintdef(object)
  when 'pg_catalog.pg_trigger'::regclass then pg_get_triggerdef(object)
  when 'pg_catalog.pg_proc'::regclass then pg_get_functiondef(object)
  when 'pg_catalog.pg_index'::regclass then regexp_replace(pg_get_indexdef(object), '\s*\n\s*', ' ', 'g')
  when 'pg_catalog.pg_class'::regclass then pg_get_viewdef(object)
  when 'pg_catalog.pg_collation'::regclass then object::regcollation::text
end;
comment on function audit.definition(regclass, oid) is
  'The definition of a constraint, trigger, routine, index or view, or the name of a collation, by its catalog, with every name qualified.';

create function audit.body(routine oid) returns text
language sql stable set search_path = pg_catalog, pg_temp
return (select coalesce(pg_get_function_sqlbody(proc.oid), proc.prosrc) from pg_catalog.pg_proc as proc where proc.oid = routine);
comment on function audit.body(oid) is 'The body of a routine. Names that were resolved when it was created are qualified.';

create function audit.reads_outside(expression text) returns text
language sql stable
return (regexp_match(expression, '\m(pg_settings|(?:current_setting|set_config|pg_show_all_settings|pg_read_\w+|pg_ls_\w+|lo_\w+|\w+_to_xml\w*)(?=\())'))[1];
comment on function audit.reads_outside(text) is 'The first function of PostgreSQL in an expression that reads something else than rows, such as a setting or a file; null for none.';

create function audit.manual(step text) returns text
language sql stable
return '-- ' || translate(step, E'\n\r', '  ');
comment on function audit.manual(text) is 'A fix for an administrator to decide on, as an SQL comment. It is one line: a line break in a name would end the comment.';

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

create view audit.extension_members with (security_invoker) as
select member.classid, member.objid, extension.extname as extension
from pg_depend as member
join pg_extension as extension on extension.oid = member.refobjid
where member.refclassid = 'pg_extension'::regclass and member.deptype = 'e';
comment on view audit.extension_members is 'The objects of extensions. The checks skip them; a risky extension, and an object added by hand, are findings themselves.';

-- Not pg_has_role: asked for each pair of roles it takes a minute on a server with 20,000 of them.
create view audit.reaches with (security_invoker) as
with recursive reach (memberid, roleid) as (
  select member, roleid from pg_auth_members
  union
  select edge.member, reach.roleid from pg_auth_members as edge join reach on reach.memberid = edge.roleid
)
select memberid, roleid from reach;
comment on view audit.reaches is 'Which role is a member of which, directly or through others.';
