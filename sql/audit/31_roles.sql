-- Roles: those of the service, who may become them, what is beyond row-level security, and settings.
--
-- `role` in the findings of this file and the next two is a role outside of the service: a deploy with APPROVE can approve the finding.

create view audit.role_checks (code, severity, title, why) with (security_invoker) as values
  ('role_beyond_rls', 'critical', 'A role of the service is beyond row-level security', 'Policies do not apply to SUPERUSER and BYPASSRLS; REPLICATION receives the rows of every club; CREATEROLE may, before PostgreSQL 16, grant itself any role; and a member of a role beyond row-level security has its rights.'),
  ('role_login', 'critical', 'The owner or a capability role may log in', 'Such a login can do more than the functions of that role allow.'),
  ('role_reachable', 'critical', 'A role of the service is a member of another by mistake', 'As the owner it may change policies; as a capability role it can do more than the functions of that role allow.'),
  ('role_hands_on', 'critical', 'A role of the service may grant one of its roles', 'Only an administrator may grant memberships.'),
  ('role_unusable', 'warning', 'A role of the service does not exist, may not log in or lacks a membership', 'The service, the deploy or the audit cannot work. Run sql/roles.sql again, then deploy.'),
  ('role_creates_databases', 'warning', 'A role of the service has CREATEDB', 'It needs no other database, and this audit does not see a copy in another database.'),
  ('role_lent', 'warning', 'A role outside the service is a member of one of its roles', 'It can act as the service, the deploy or the owner. Grant people club_auditor instead.'),
  ('role_belongs_elsewhere', 'warning', 'A role of the service is a member of a role that it does not need', 'It has all present and future privileges of that role. Every role with ADMIN OPTION on a role can grant it.'),
  ('role_owns_outside_schema', 'warning', 'A role of the service owns an object outside of its schemas', 'No chapter creates it, so it was not reviewed. The roles of the service need none.'),
  ('beyond_row_level_security', 'warning', 'A role outside the service is beyond row-level security, or can put itself there', 'Policies and grants do not limit it. To approve it with the powers that it has, deploy with APPROVE and all roles to approve; sql/audit/README.md explains it.'),
  ('context_preset', 'warning', 'A setting of the context has a preset value', 'A transaction that did not call app.enter reads the rows of that club instead of raising TN001. Requests always call it.'),
  ('setting_preset', 'warning', 'A setting that isolation or durability depends on is preset', 'It disables triggers, foreign keys or policies, loads code into sessions, changes what a name means, or lets a crash lose what was acknowledged.');
comment on view audit.role_checks is 'The checks of roles, memberships and settings.';

create function audit.preset_context() returns table (setting text, value text)
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  entered text;
begin
  for setting in select accessor.setting from audit.intended_accessors as accessor loop
    entered := current_setting(setting, true);
    -- Null resets it to the value that the session began with.
    value := set_config(setting, null, true);
    entered := set_config(setting, coalesce(entered, ''), true);
    return next;
  end loop;
end
$$;
comment on function audit.preset_context() is
  'The settings of the context with the value that this session began with. What the transaction has entered stays.';

create view audit.role_findings (code, object, detail, fix, role) with (security_invoker) as
with memberships as (select * from audit.memberships), role_settings as (select * from audit.role_settings),
roles as (select * from audit.roles), powers as (select * from audit.powers),
ours as (select * from roles where purpose is not null),
intended_memberships as (
  -- A deploy creates the objects of each role as that role.
  select 'club_migrator'::name as member, role from audit.intended_roles where purpose in ('owner', 'capability')
), second_login as (
  -- During a change of password there is a second login next to club_api, with the same settings and no other.
  select login.roleid
  from roles as login
  where login.purpose is null and login.can_login and not (login.create_role or login.bypass_row_security or login.replication)
    and array(select format('%s=%s', name, value) from role_settings as setting where setting.role = quote_ident(login.role) order by 1)
      = array(select format('%s=%s', name, value) from role_settings as setting where setting.role = 'club_api' order by 1)
    and array(select format('%s %s', edge.role, edge.may_grant) from memberships as edge where edge.member = login.role) = array['club_api f']
), administrator as (
  -- From PostgreSQL 16 on the creator of a role may grant it without using it: audit.powers lists these roles.
  select edge.member, edge.role
  from memberships as edge
  join roles as member on member.role = edge.member and member.purpose is null
  group by edge.member, edge.role
  having bool_and(edge.may_grant and not edge.inherits and not edge.may_become)
), reach as (
  -- Roles that are direct or indirect members of a role of the service without being intended or superuser.
  select ours.role, ours.purpose, member.role as member, member.purpose as member_purpose
  from ours
  join audit.reaches as to_ours on to_ours.roleid = ours.roleid
  join roles as member on member.roleid = to_ours.memberid and not member.superuser
  where (member.role, ours.role) not in (select intended.member, intended.role from intended_memberships as intended)
    and not exists (
      select from administrator where (administrator.member, administrator.role) = (member.role, ours.role)
        -- None of its other memberships leads to that role.
        and not exists (
          select from memberships as edge
          where edge.member = member.role and edge.role <> ours.role and pg_has_role(edge.role, ours.roleid, 'member')
            and not exists (select from administrator as also where (also.member, also.role) = (edge.member, edge.role))
        )
    )
    and not (ours.purpose = 'runtime' and member.roleid in (select roleid from second_login))
), lent as materialized (
  select member, role from reach where member_purpose is null and purpose <> 'auditor'
), paths as materialized (
  select member.role as member, role.role
  from audit.reaches as reaches
  join roles as member on member.roleid = reaches.memberid
  join roles as role on role.roleid = reaches.roleid
), entering as (
  -- The memberships by which roles outside the service enter its roles: that of a group, not those of its members.
  select edge.member, edge.role, edge.revoke, lent.role as reached
  from lent
  join memberships as edge on edge.member = lent.member
  where (edge.role = lent.role or (edge.role, lent.role) in (select paths.member, paths.role from paths))
    and (edge.role, lent.role) not in (select further.member, further.role from lent as further)
    and (edge.member, edge.role) not in (select administrator.member, administrator.role from administrator)
), can_become as (
  -- Roles outside the service that may become one of its roles, other than the auditor, or may grant one to themselves.
  select role from roles where purpose is null and (superuser or create_role and current_setting('server_version_num')::integer < 160000)
  union
  select outside.role
  from audit.reaches as to_ours
  join ours on ours.roleid = to_ours.roleid and ours.purpose <> 'auditor'
  join roles as outside on outside.roleid = to_ours.memberid and outside.purpose is null
)
select code, 'role ' || role, detail, format('alter role %I %s', role, fix), null::name
from ours
cross join lateral (values
  (superuser, 'role_beyond_rls', 'it is a superuser', 'nosuperuser'),
  (bypass_row_security, 'role_beyond_rls', 'it has BYPASSRLS', 'nobypassrls'),
  (create_role, 'role_beyond_rls', 'it has CREATEROLE', 'nocreaterole'),
  (replication, 'role_beyond_rls', 'it has REPLICATION', 'noreplication'),
  (create_database, 'role_creates_databases', 'it has CREATEDB', 'nocreatedb'),
  (can_login and purpose in ('owner', 'capability'), 'role_login', 'it may log in', 'nologin'),
  (not can_login and purpose not in ('owner', 'capability'), 'role_unusable', 'it may not log in', 'login'),
  (not inherits, 'role_unusable', 'it does not inherit', 'inherit'),
  (can_login and password_valid_until <= now(), 'role_unusable', 'its password has expired', 'valid until ''infinity'''),
  (can_login and connection_limit = 0, 'role_unusable', 'it may have no connection', 'connection limit -1')
) as attribute (is_so, code, detail, fix)
where is_so
union all
select 'role_unusable', 'role ' || role, 'it does not exist', format('create role %I %s', role, case when can_login then 'login' else 'nologin' end), null
from audit.intended_roles where role not in (select ours.role from ours)
union all
select 'role_unusable', 'role ' || intended.member, 'it is not a member of ' || intended.role, format('revoke %I from %I; grant %1$I to %2$I', intended.role, intended.member), null
from intended_memberships as intended
where not exists (select from memberships as edge where (edge.member, edge.role) = (intended.member, intended.role) and edge.may_become)
union all
select 'role_lent', 'role ' || member,
  concat('it is a member of ' || role, ', and so of ' || string_agg(distinct reached, ', ') filter (where reached <> role),
    '; its members are ' || (
      select string_agg(distinct paths.member, ', ') from paths
      where paths.role = entering.member and paths.member in (select lent.member from lent)
    )),
  string_agg(distinct revoke, '; '), null
from entering
group by member, role
union all
select case when purpose = 'auditor' then 'role_belongs_elsewhere' else 'role_reachable' end, 'role ' || member, 'it is a member of ' || role,
  -- Revokes the first membership on the way to that role.
  (select string_agg(edge.revoke, '; ') from memberships as edge where edge.member = reach.member and pg_has_role(edge.role, reach.role, 'member')), null
from reach
where member_purpose is not null
union all
select case when edge.role in (select known.role from audit.powerful_roles as known) or edge.role in (select powers.role from powers where power <> 'owns the database')
    then 'role_beyond_rls' else 'role_belongs_elsewhere' end,
  'role ' || edge.member, 'it is a member of ' || edge.role, edge.revoke, null
from memberships as edge
where edge.member in (select role from ours) and edge.role not in (select role from ours)
union all
select 'role_hands_on', 'role ' || edge.member, 'it may grant ' || edge.role, regexp_replace(edge.revoke, '^revoke ', 'revoke admin option for '), null
from memberships as edge
where edge.may_grant and edge.member in (select role from ours) and edge.role in (select role from ours)
union all
-- PUBLIC includes the service: parameter_granted.
select 'beyond_row_level_security', 'role ' || role, string_agg(power, ', ' order by array_position(array['superuser', 'BYPASSRLS', 'REPLICATION'], power), power),
  string_agg(distinct revoke, '; '), role
from powers
where accepted is null and role <> 'public'
group by role
union all
-- Every login may have default privileges and large objects: default_privileges and large_object_shared report them.
select 'role_owns_outside_schema', thing.type || ' ' || thing.identity, 'it belongs to ' || ours.role,
  coalesce((select format('drop user mapping for %I server %I', ours.role, srvname) from pg_user_mappings where owned.classid = 'pg_user_mapping'::regclass and umid = owned.objid),
    format('reassign owned by %I to club_owner', ours.role)), null
from ours
join pg_shdepend as owned on (owned.refclassid, owned.refobjid, owned.deptype) = ('pg_authid'::regclass, ours.roleid, 'o')
  and owned.dbid in (0, (select oid from pg_database where datname = current_database()))
cross join lateral pg_identify_object(owned.classid, owned.objid, 0) as thing
where ours.purpose <> 'owner' and owned.classid not in ('pg_default_acl'::regclass, 'pg_largeobject'::regclass)
  and coalesce(thing.schema, case thing.type when 'schema' then thing.identity end, '') not in ('app', 'deploy', 'audit')
  and not (thing.schema is null and thing.identity ~ ' on (app|deploy|audit)\.')
union all
-- A setting of a role of the service is drift. One of others counts where it affects the isolation: when it is for all roles, or
-- for one that may become a role of the service. Every login may set some settings of its own role, such as local_preload_libraries.
select case when name in (select accessor.setting from audit.intended_accessors as accessor) then 'context_preset' else 'setting_preset' end,
  'setting ' || coalesce(setting.role, 'of all roles') || ' ' || name, 'it is ' || value, setting.reset, null
from role_settings as setting
where (setting.role is null or setting.role in (select quote_ident(can_become.role) from can_become))
    and name in (select accessor.setting from audit.intended_accessors as accessor)
  or setting.role in (select quote_ident(reach.member) from reach where member_purpose is null and purpose <> 'auditor')
    and (name ~ '_preload_libraries$' or name in ('session_replication_role', 'row_security'))
  or setting.role is null and case name
    when 'synchronous_commit' then lower(value) in ('local', 'remote_write', 'off', 'false', 'no', '0')
    when 'zero_damaged_pages' then value::boolean
    when 'ignore_checksum_failure' then value::boolean
    when 'lo_compat_privileges' then value::boolean
    else name ~ '_preload_libraries$' or name in ('session_replication_role', 'row_security', 'search_path', 'role', 'dynamic_library_path',
      'allow_system_table_mods', 'transform_null_equals', 'standard_conforming_strings', 'quote_all_identifiers', 'check_function_bodies',
      'default_tablespace', 'default_table_access_method')
  end
union all
-- For the whole server: postgresql.conf, ALTER SYSTEM or the command line. The value that a session begins with shows it, unless a
-- setting of the role or the database does.
select 'context_preset', 'setting of the server ' || preset.setting, 'it is ' || preset.value,
  audit.manual(format('Remove it from postgresql.conf and the command line; or alter system reset %s; then select pg_reload_conf()', preset.setting)), null
from audit.preset_context() as preset
where preset.value <> '' and preset.setting not in (select name from role_settings where of_session)
union all
select 'setting_preset', 'setting of the server ' || name, 'it is ' || current_setting(name), format('set %s = %s; -- and take it out of the configuration', name, meant), null
from (values ('lo_compat_privileges', 'off'), ('allow_system_table_mods', 'off'), ('session_replication_role', 'origin')) as preset (name, meant)
where current_setting(name) <> meant and not exists (select from role_settings as setting where setting.name = preset.name and setting.role is null);
comment on view audit.role_findings is 'The findings of the checks of roles.';
