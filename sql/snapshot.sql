-- Every fact of the deployed database that isolation rests on, a line each, as PostgreSQL itself prints it.
--
-- sql/snapshot.txt is what this prints after a fresh deploy. For any other database:
--
--     PGOPTIONS="-c search_path=" psql "$DATABASE_URL" --tuples-only --no-align --file sql/snapshot.sql

with ours as (
  select oid, nspname from pg_namespace where nspname in ('app', 'deploy')
),
relation as (
  select class.oid::regclass::text as name, class.*
  from pg_class as class
  where class.relnamespace in (select oid from ours)
),
routine as (
  select proc.oid::regprocedure::text as name, proc.*
  from pg_proc as proc
  where proc.pronamespace in (select oid from ours)
),
grantee as (
  select acl.*, coalesce(role.rolname, 'public') as name
  from (
    select 'schema ' || nspname as object, nspowner as owner, (aclexplode(nspacl)).*
    from pg_namespace where oid in (select oid from ours)
    union all
    select 'relation ' || relation.name, relation.relowner, (aclexplode(relation.relacl)).* from relation
    union all
    select format('column %s.%s', relation.name, attribute.attname), relation.relowner, (aclexplode(attribute.attacl)).*
    from pg_attribute as attribute join relation on relation.oid = attribute.attrelid
    where attribute.attacl is not null
    union all
    select 'routine ' || routine.name, routine.proowner, (aclexplode(routine.proacl)).* from routine
  ) as acl
  left join pg_roles as role on role.oid = acl.grantee
  where acl.grantee <> acl.owner
)
select fact from (
  select format('role %s%s%s%s%s', rolname,
    case when rolcanlogin then ' login' else '' end, case when rolsuper then ' superuser' else '' end,
    case when rolbypassrls then ' bypassrls' else '' end, case when rolcreaterole then ' createrole' else '' end) as fact
  from pg_roles where rolname like 'club\_%'
  union all
  select format('role %s may become %s', member.rolname, role.rolname)
  from pg_auth_members
  join pg_roles as member on member.oid = pg_auth_members.member
  join pg_roles as role on role.oid = pg_auth_members.roleid
  where role.rolname like 'club\_%' and member.rolname like 'club\_%'
  union all
  select format('role %s set %s', role.rolname, unnest(setting.setconfig))
  from pg_db_role_setting as setting join pg_roles as role on role.oid = setting.setrole
  where role.rolname like 'club\_%' and setting.setdatabase = 0
  union all
  select format('table %s owner %s%s%s', name, relowner::regrole,
    case when relrowsecurity then ' rls' else '' end, case when relforcerowsecurity then ' forced' else '' end)
  from relation where relkind in ('r', 'p')
  union all
  select format('view %s owner %s%s body %s', name, relowner::regrole,
    coalesce(' with ' || array_to_string(reloptions, ', '), ''), md5(pg_get_viewdef(oid)))
  from relation where relkind in ('v', 'm')
  union all
  select format('column %s.%s %s%s%s%s', relation.name, attribute.attname, format_type(attribute.atttypid, attribute.atttypmod),
    case when attribute.attcollation not in (0, 100) then ' collate ' || attribute.attcollation::regcollation else '' end,
    case when attribute.attnotnull then ' not null' else '' end,
    coalesce(' default ' || pg_get_expr(initial.adbin, initial.adrelid), ''))
  from pg_attribute as attribute
  join relation on relation.oid = attribute.attrelid and relation.relkind in ('r', 'p')
  left join pg_attrdef as initial on initial.adrelid = attribute.attrelid and initial.adnum = attribute.attnum
  where attribute.attnum > 0 and not attribute.attisdropped
  union all
  select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(pg_constraint.oid))
  from pg_constraint where connamespace in (select oid from ours) and contype <> 'n'
  union all
  select 'index ' || pg_get_indexdef(relation.oid) from relation where relkind = 'i'
  union all
  select format('policy %s %s %s %s to %s using %s check %s', polrelid::regclass, polname,
    case when polpermissive then 'permissive' else 'restrictive' end,
    case polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end,
    (select string_agg(coalesce(role.rolname, 'public'), ', ' order by role.rolname)
     from unnest(polroles) as id left join pg_roles as role on role.oid = id),
    coalesce(pg_get_expr(polqual, polrelid), '-'), coalesce(pg_get_expr(polwithcheck, polrelid), '-'))
  from pg_policy where polrelid in (select oid from relation)
  union all
  select format('trigger %s %s%s', tgrelid::regclass, pg_get_triggerdef(pg_trigger.oid),
    case when tgenabled = 'O' then '' else ' disabled' end)
  from pg_trigger where tgrelid in (select oid from relation) and not tgisinternal
  union all
  select format('function %s returns %s owner %s %s%s %s%s body %s', name, pg_get_function_result(oid), proowner::regrole,
    case provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
    case when prosecdef then ' security definer' else '' end,
    (select lanname from pg_language where oid = prolang),
    coalesce(' set ' || array_to_string(proconfig, ', '), ''),
    md5(coalesce(pg_get_function_sqlbody(oid), prosrc)))
  from routine
  union all
  select format('grant %s on %s to %s%s', lower(privilege_type), object, name,
    case when is_grantable then ' with grant option' else '' end)
  from grantee
  union all
  select format('default privileges of %s on functions %s', defaclrole::regrole, defaclacl)
  from pg_default_acl where defaclrole in (select oid from pg_roles where rolname like 'club\_%') and defaclobjtype = 'f'
) as facts
order by fact collate "C";
