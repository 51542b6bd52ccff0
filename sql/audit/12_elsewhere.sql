-- Other applications in the same database: roles with their own objects, which cannot become a role of the service.

create view audit.other_applications (roleid) with (security_invoker) as
select role.oid
from pg_roles as role
where role.oid <> (select datdba from pg_database where datname = current_database())
  and not role.rolsuper and not role.rolbypassrls and role.rolname !~ '^pg_'
  and role.rolname not in (select intended.role from audit.intended_roles as intended)
  and role.oid not in (
    select reach.memberid
    from audit.reaches as reach
    join pg_roles as ours on ours.oid = reach.roleid
    join audit.intended_roles as intended on intended.role = ours.rolname
  );
comment on view audit.other_applications is 'The OIDs of the roles that may own schemas of another application in this database. Objects that only they use are not findings.';

create view audit.other_schemas (schemaid) with (security_invoker) as
select namespace.oid
from pg_namespace as namespace
where namespace.nspname not in ('app', 'deploy', 'audit')
  and namespace.nspowner in (select other.roleid from audit.other_applications as other);
comment on view audit.other_schemas is 'The OIDs of the schemas of other applications. A privilege of a role of the service on one is a warning.';

-- A function, because planning this query at each use takes longer than all checks together. It returns a set, so that a
-- view calls it once and not for each object.
create function audit.elsewhere() returns table (schemaid oid, ownerid oid)
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select schema.schemaid, owner.roleid from audit.other_schemas as schema cross join audit.other_applications as owner;
end;
comment on function audit.elsewhere() is 'The schemas and owners of other applications. An object is theirs when both its schema and its owner are.';
