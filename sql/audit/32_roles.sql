-- Checks: roles, their attributes, memberships and settings.

create view audit.role_checks (code, severity, title, why) with (security_invoker) as values
  ('role_missing', 'warning', 'A role of the service does not exist', 'Its objects and privileges belong to another role or to none. Run sql/roles.sql again, then deploy.'),
  ('role_superuser', 'critical', 'A role of the service is a superuser', 'Policies do not apply to it.'),
  ('role_bypasses_rls', 'critical', 'A role of the service has BYPASSRLS', 'Policies do not apply to it.'),
  ('role_creates_roles', 'critical', 'A role of the service has CREATEROLE', 'Before PostgreSQL 16 it may grant itself any role that is not a superuser.'),
  ('role_creates_databases', 'warning', 'A role of the service has CREATEDB', 'It needs no other database, and this audit does not see a copy in another database.'),
  ('role_replicates', 'critical', 'A role of the service has REPLICATION', 'A replica receives the rows of every club.'),
  ('role_login', 'critical', 'The owner or a capability role may log in', 'Such a login can do more than the functions of that role allow.'),
  ('login_missing', 'warning', 'A login of the service may not log in', 'The service, the deploy or the audit cannot connect.'),
  ('role_reachable', 'critical', 'A role of the service is a member of another by mistake', 'As the owner it may change policies; as a capability role it can do more than the functions of that role allow.'),
  ('role_lent', 'warning', 'A role outside the service is a member of one of its roles', 'It can act as the service, the deploy or the owner. Grant people club_auditor instead.'),
  ('role_beyond_rls', 'critical', 'A role of the service is a member of a role beyond row-level security', 'Policies do not limit what that role reads and writes; pg_read_all_data, for example, reads every table.'),
  ('role_belongs_elsewhere', 'warning', 'A role of the service is a member of a role outside the service', 'It has all present and future privileges of that role. Every role with ADMIN OPTION on a role can grant it.'),
  ('role_hands_on', 'critical', 'A role of the service may grant one of its roles', 'Only an administrator may grant memberships.'),
  ('beyond_row_level_security', 'warning', 'A role outside the service is beyond row-level security, or can put itself there', 'Policies and grants do not limit it. To approve it with the powers that it has, deploy with APPROVE and all roles to approve; sql/audit/README.md explains it.'),
  ('approvals_edited', 'critical', 'deploy.approvals was edited by hand', 'Nothing in the edited list counts. Only a deploy with APPROVE or PROVIDER may write it.'),
  ('membership_missing', 'warning', 'club_migrator is not a member of a role that it needs', 'The next deploy fails.'),
  ('context_preset', 'warning', 'A setting of the context has a preset value', 'A transaction that did not call app.enter reads the rows of that club instead of raising TN001. Requests always call it.'),
  ('replication_role_preset', 'warning', 'session_replication_role is preset', 'It disables triggers and foreign keys, which keep references inside a club.'),
  ('row_security_preset', 'warning', 'row_security is preset', 'When it is off, every statement to which a policy applies fails.'),
  ('search_path_preset', 'warning', 'The search path of a role of the service was changed', 'A name may then resolve to an object of another role.'),
  ('library_preset', 'warning', 'A library is loaded into sessions of the service', 'Policies do not apply to its code.'),
  ('setting_loses_data', 'warning', 'A setting of all sessions can lose or corrupt data', 'A crash loses transactions that were acknowledged, or damaged pages are read as empty or valid ones.'),
  ('large_objects_open', 'warning', 'lo_compat_privileges is on', 'Every role may read and write every large object.'),
  ('setting_unintended', 'warning', 'A role of the service has a setting that is not intended', 'The intended ones are in audit.intended_settings.'),
  ('setting_missing', 'warning', 'A setting of a role of the service is missing', 'The intended ones, with reasons, are in audit.intended_settings.'),
  ('object_owner', 'critical', 'An object of the service has the wrong owner', 'Its owner may change it. The objects in app, deploy and audit belong to club_owner; a capability role owns only its functions.'),
  ('runtime_owns', 'critical', 'The running service, the deploy or the auditor owns an object of the service', 'An owner may change it and disable its row-level security.'),
  ('role_owns_outside_schema', 'warning', 'A role of the service owns an object outside of its schemas', 'No chapter creates it, so it was not reviewed. The roles of the service need none.');
comment on view audit.role_checks is 'The checks of roles.';
comment on column audit.role_checks.code is 'Its name, for audit.findings.';
comment on column audit.role_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.role_checks.title is 'What it finds.';
comment on column audit.role_checks.why is 'Why it matters.';

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

create view audit.role_findings (code, object, detail, fix) with (security_invoker) as
with memberships as (select * from audit.memberships), role_settings as (select * from audit.role_settings),
roles as (select * from audit.roles), schemas as (select * from audit.schemas), powers as (select * from audit.powers),
ours as (select * from roles where purpose is not null),
-- Materialized: otherwise the signature of every function of PostgreSQL is computed.
functions as materialized (select function, funcid, owner from audit.functions where ours),
second_login as (
  -- During a change of password there is a second login next to club_api, with the same settings and no other.
  select login.roleid
  from roles as login
  where login.purpose is null and login.can_login and not (login.create_role or login.bypass_row_security or login.replication)
    and array(select format('%s=%s', setting.name, setting.value) from role_settings as setting where setting.role = quote_ident(login.role) order by 1)
      = array(select format('%s=%s', meant.name, meant.value) from audit.intended_settings as meant where meant.role = 'club_api' order by 1)
    and array(select format('%s %s', edge.role, edge.may_grant) from memberships as edge where edge.member = login.role) = array['club_api f']
), can_become as (
  -- Roles outside the service that may become one of its roles, other than the auditor, or may grant one to themselves.
  select outside.role
  from roles as outside
  where outside.purpose is null and (outside.superuser
    or outside.create_role and current_setting('server_version_num')::integer < 160000
    or outside.roleid in (
      select to_ours.memberid from audit.reaches as to_ours join ours on ours.roleid = to_ours.roleid and ours.purpose <> 'auditor'
    ))
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
  where not exists (
    select from audit.intended_memberships as intended where (intended.member, intended.role) = (member.role, ours.role)
  )
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
)
select 'role_missing', intended.role::text, 'it does not exist', format('create role %I %s', intended.role, case when intended.can_login then 'login' else 'nologin' end)
from audit.intended_roles as intended
where not exists (select from ours where ours.role = intended.role)
union all
select 'role_superuser', role, 'it is a superuser', format('alter role %I nosuperuser', role) from ours where superuser
union all
select 'role_bypasses_rls', role, 'it has BYPASSRLS', format('alter role %I nobypassrls', role) from ours where bypass_row_security
union all
select 'role_creates_roles', role, 'it has CREATEROLE', format('alter role %I nocreaterole', role) from ours where create_role
union all
select 'role_creates_databases', role, 'it has CREATEDB', format('alter role %I nocreatedb', role) from ours where create_database
union all
select 'role_replicates', role, 'it has REPLICATION', format('alter role %I noreplication', role) from ours where replication
union all
select case when intended.can_login then 'login_missing' else 'role_login' end, ours.role, case when ours.can_login then 'it may log in' else 'it may not log in' end,
  format('alter role %I %s', ours.role, case when intended.can_login then 'login' else 'nologin' end)
from ours join audit.intended_roles as intended using (role)
where ours.can_login <> intended.can_login
union all
select 'login_missing', role, 'its password has expired', format('alter role %I valid until ''infinity''', role)
from ours where can_login and password_valid_until <= now()
union all
select 'login_missing', role, 'it may have no connection', format('alter role %I connection limit -1', role)
from ours where can_login and connection_limit = 0
union all
select case when reach.member_purpose is null then 'role_lent' else 'role_reachable' end,
  reach.member, 'it is a member of ' || reach.role,
  -- Revokes the first membership on the way to that role.
  coalesce((
    select string_agg(edge.revoke, '; ')
    from memberships as edge
    where edge.member = reach.member and pg_has_role(edge.role, reach.role, 'member')
  ), '')
from reach
where reach.purpose <> 'auditor'
union all
select case when beyond.rls then 'role_beyond_rls' else 'role_belongs_elsewhere' end, edge.member, 'it is a member of ' || edge.role, edge.revoke
from memberships as edge
join ours on ours.role = edge.member
left join ours as other on other.role = edge.role
cross join lateral (
  select edge.role in (select known.role from audit.powerful_roles as known)
    or edge.role in (select powers.role from powers where powers.power <> 'owns the database')
) as beyond (rls)
where other.role is null
union all
select 'role_hands_on', edge.member, 'it may grant ' || edge.role, regexp_replace(edge.revoke, '^revoke ', 'revoke admin option for ')
from memberships as edge
join ours on ours.role = edge.role
join ours as member on member.role = edge.member
where edge.may_grant
union all
-- PUBLIC includes the service: parameter_granted.
select 'beyond_row_level_security', role::text,
  string_agg(power, ', ' order by array_position(array['superuser', 'BYPASSRLS', 'REPLICATION'], power), power), string_agg(distinct revoke, '; ')
from powers
where accepted is null and role <> 'public'
group by role
union all
select distinct 'approvals_edited', 'deploy.approvals', format('its list of kind %s was edited', kind),
  audit.manual(case kind when 'power' then 'Deploy with APPROVE and the roles to approve, or APPROVE=none' else 'Deploy with PROVIDER and the provider, or PROVIDER=none' end)
from audit.approval_seals as found
full join (select name as kind, value as seal from deploy.approvals where kind = 'seal') as stored using (kind, seal)
where found is null or stored is null
union all
select 'membership_missing', intended.member::text, 'it is not a member of ' || intended.role,
  format('revoke %I from %I; grant %1$I to %2$I', intended.role, intended.member)
from audit.intended_memberships as intended
where not exists (select from memberships as edge where (edge.member, edge.role) = (intended.member, intended.role) and edge.may_become)
union all
select
  case
    when setting.name in (select accessor.setting from audit.intended_accessors as accessor) then 'context_preset'
    when setting.name = 'lo_compat_privileges' then 'large_objects_open'
    when setting.role is null and setting.name in ('synchronous_commit', 'zero_damaged_pages', 'ignore_checksum_failure') then 'setting_loses_data'
    when setting.name = 'session_replication_role' then 'replication_role_preset'
    when setting.name = 'row_security' then 'row_security_preset'
    when setting.name ~ '_preload_libraries$' then 'library_preset'
    when setting.name = 'search_path' then 'search_path_preset'
    else 'setting_unintended'
  end,
  coalesce(setting.role, 'everybody'), format('%s is %s', setting.name, setting.value),
  case
    when setting.role is null then format('alter %s reset %s', coalesce('database ' || quote_ident(setting.database), 'role all'), setting.name)
    when setting.database is null then format('alter role %s reset %s', setting.role, setting.name)
    else format('alter role %s in database %I reset %s', setting.role, setting.database, setting.name)
  end
  || coalesce((
    select format('; alter role %I set %s = %s', meant.role, meant.name,
      case meant.name when 'search_path' then meant.value else quote_literal(meant.value) end)
    from audit.intended_settings as meant where (meant.role, meant.name) = (setting.role, setting.name)
  ), '')
from role_settings as setting
where not exists (
    select from audit.intended_settings as meant
    where (meant.role, meant.name, meant.value) = (setting.role, setting.name, setting.value) and setting.database is null
  )
  -- A setting of other roles is a finding only when it affects the isolation: when it is for all of them, or for one that
  -- may become a role of the service. Every login may set some settings of its own role, such as local_preload_libraries.
  and (exists (select from ours where ours.role = setting.role)
    or (setting.role is null or setting.role in (select quote_ident(can_become.role) from can_become))
      and setting.name in (select accessor.setting from audit.intended_accessors as accessor)
    or (setting.role is null or setting.role in (select quote_ident(reach.member) from reach where reach.member_purpose is null and reach.purpose <> 'auditor'))
      and (setting.name ~ '_preload_libraries$' or setting.name in ('session_replication_role', 'row_security'))
    or setting.role is null and case setting.name
      when 'synchronous_commit' then lower(setting.value) in ('local', 'remote_write', 'off', 'false', 'no', '0')
      when 'zero_damaged_pages' then setting.value::boolean
      when 'ignore_checksum_failure' then setting.value::boolean
      when 'lo_compat_privileges' then setting.value::boolean
    end
    or setting.role is null and setting.name in ('search_path', 'role', 'dynamic_library_path', 'allow_system_table_mods', 'transform_null_equals',
      'standard_conforming_strings', 'quote_all_identifiers', 'check_function_bodies', 'default_tablespace', 'default_table_access_method'))
union all
-- For the whole server: postgresql.conf, ALTER SYSTEM or the command line. The value that a session begins with shows it, unless a
-- setting of the role or the database does.
select 'context_preset', 'the server', format('%s is %s', preset.setting, preset.value),
  audit.manual(format('Remove it from postgresql.conf and the command line; or alter system reset %s; then select pg_reload_conf()', preset.setting))
from audit.preset_context() as preset
where preset.value <> '' and preset.setting not in (select setting.name from role_settings as setting where setting.of_session)
union all
select 'large_objects_open', 'lo_compat_privileges', 'it is on', 'set lo_compat_privileges = off; -- and take it out of the configuration'
where current_setting('lo_compat_privileges')::boolean
  and not exists (select from role_settings as setting where setting.name = 'lo_compat_privileges' and setting.role is null)
union all
select 'setting_missing', meant.role::text, meant.name || ' is not set',
  format('alter role %I set %s = %s', meant.role, meant.name, case meant.name when 'search_path' then meant.value else quote_literal(meant.value) end)
from audit.intended_settings as meant
where not exists (
  select from role_settings as setting where (setting.role, setting.name) = (meant.role, meant.name) and setting.database is null
)
union all
select 'object_owner', 'schema ' || name, 'it belongs to ' || owner, format('alter schema %I owner to club_owner', name)
from schemas where ours and owner <> 'club_owner'
union all
select 'object_owner', function, 'it belongs to ' || functions.owner, format('alter routine %s owner to club_owner', function)
from functions
join ours on ours.role = functions.owner and ours.purpose = 'capability'
where not exists (select from audit.intended_definers as intended where intended.function = functions.function)
  -- A function that no other role may execute is not a finding.
  and (functions.funcid in (select tgfoid from pg_trigger)
    or functions.function in (select object from audit.privileges where kind = 'routine'))
union all
select distinct case when thing.schema in ('app', 'deploy', 'audit') then 'object_owner' else 'role_owns_outside_schema' end,
  thing.type || ' ' || thing.identity, 'it belongs to ' || owner.role,
  format('alter %s %s owner to club_owner', regexp_replace(thing.type, '^composite | object$', ''), thing.identity)
from pg_shdepend as owned
join roles as owner on owner.roleid = owned.refobjid
cross join lateral pg_identify_object(owned.classid, owned.objid, 0) as thing
where owned.refclassid = 'pg_authid'::regclass and owned.deptype = 'o'
  and owned.dbid in (0, (select oid from pg_database where datname = current_database()))
  -- A large object is large_object_owned.
  and owned.classid not in ('pg_proc'::regclass, 'pg_class'::regclass, 'pg_default_acl'::regclass, 'pg_namespace'::regclass, 'pg_largeobject'::regclass)
  and (owner.purpose = 'capability' or owner.purpose is null and thing.schema in ('app', 'deploy', 'audit'))
union all
-- pg_shdepend has no entries for the bootstrap superuser.
select 'object_owner', 'type ' || audit.type_name(type.oid), 'it belongs to ' || type.typowner::regrole, format('alter type %s owner to club_owner', audit.type_name(type.oid))
from pg_type as type
join schemas as schema on schema.oid = type.typnamespace and schema.ours
left join pg_class as class on class.oid = type.typrelid
where type.typowner = 10 and type.typelem = 0 and type.typtype <> 'm' and coalesce(class.relkind, 'c') = 'c'
union all
select 'role_owns_outside_schema', 'schema ' || schema.name, 'it belongs to ' || schema.owner, format('alter schema %I owner to club_owner', schema.name)
from schemas as schema join ours on ours.role = schema.owner and ours.purpose = 'capability'
where not schema.ours
union all
select distinct case when coalesce(thing.schema, case thing.type when 'schema' then thing.identity end) in ('app', 'deploy', 'audit') then 'runtime_owns' else 'role_owns_outside_schema' end,
  ours.role, 'it owns ' || thing.type || ' ' || thing.identity,
  coalesce(
    (select format('drop user mapping for %I server %I', ours.role, srvname) from pg_user_mappings where owned.classid = 'pg_user_mapping'::regclass and umid = owned.objid),
    format('reassign owned by %I to club_owner', ours.role))
from ours
join pg_shdepend as owned on owned.refclassid = 'pg_authid'::regclass and owned.refobjid = ours.roleid and owned.deptype = 'o'
  and owned.dbid in (0, (select oid from pg_database where datname = current_database()))
cross join lateral pg_identify_object(owned.classid, owned.objid, 0) as thing
where ours.purpose in ('runtime', 'deploy', 'auditor')
  -- Every login may have default privileges: default_privileges reports those that grant something.
  and owned.classid <> 'pg_default_acl'::regclass
  -- Every login may create a large object: large_object_owned.
  and owned.classid <> 'pg_largeobject'::regclass;
comment on view audit.role_findings is 'The findings of the checks of roles.';
comment on column audit.role_findings.code is 'The check.';
comment on column audit.role_findings.object is 'The object.';
comment on column audit.role_findings.detail is 'What is wrong with it.';
comment on column audit.role_findings.fix is 'SQL that repairs it.';
