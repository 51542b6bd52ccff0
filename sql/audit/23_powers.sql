-- Powers: what puts a role outside the service beyond row-level security.

create view audit.powers with (security_invoker) as
with outside as (
  select * from audit.roles where purpose is null
), edges as (
  select * from audit.memberships
), parameters as (
  select
    grantee, privilege, object, revoke,
    -- Every session may set these for itself. ALTER SYSTEM presets them for all.
    object in ('search_path', 'local_preload_libraries', 'row_security', 'role', 'synchronous_commit', 'check_function_bodies',
      'transform_null_equals', 'standard_conforming_strings', 'backslash_quote', 'default_table_access_method') or object ~ '^app\.' as for_all
  from audit.privileges
  where kind = 'parameter'
), direct (role, power, revoke) as (
  select outside.role, attribute.power, format('alter role %I no%s', outside.role, lower(attribute.power))
  from outside
  cross join lateral (values (superuser, 'superuser'), (bypass_row_security, 'BYPASSRLS'), (replication, 'REPLICATION')) as attribute (held, power)
  where attribute.held
  union all
  -- From PostgreSQL 16 on CREATEROLE alone grants only the roles that it created.
  select role, 'may grant every role (CREATEROLE)', format('alter role %I nocreaterole', role)
  from outside where create_role and not superuser and current_setting('server_version_num')::integer < 160000
  union all
  select outside.role, 'owns the database', format('alter database %I owner to %I', database.datname, pg_get_userbyid(10))
  from pg_database as database
  join outside on outside.roleid = database.datdba and not outside.superuser
  where database.datname = current_database()
  union all
  select edge.member, 'may grant ' || edge.role,
    string_agg(regexp_replace(edge.revoke, '^revoke ', 'revoke admin option for '), '; ')
    -- That also revokes what it granted to the roles of the service.
    || coalesce((
      select string_agg(format('; grant %I to %I', granted.role, granted.member), '')
      from edges as granted
      where (granted.role, granted.grantor, granted.member) = (edge.role, quote_ident(edge.member), 'club_migrator')
    ), '')
  from edges as edge
  join audit.intended_roles as ours on ours.role = edge.role
  join outside on outside.role = edge.member and not outside.superuser
  where edge.may_grant
  group by edge.member, edge.role
  union all
  -- What runs a program, loads code, names a file, or disables triggers, policies, checks or durability.
  select grantee, format('may %s %s', privilege, object), revoke
  from parameters
  where (privilege = 'alter system' or not for_all)
    and (for_all or object ~ '_(command|library|libraries|path|file|keyfile|filename|directory|directories|dir|destdir)$|^recovery_target|\.on_\w*init$|\.start_proc$'
      or object in ('jit_provider', 'archive_mode', 'primary_conninfo', 'allow_system_table_mods', 'allow_in_place_tablespaces',
        'session_replication_role', 'event_triggers', 'lo_compat_privileges', 'zero_damaged_pages', 'ignore_checksum_failure',
        'ignore_invalid_pages', 'ignore_system_indexes', 'fsync', 'full_page_writes', 'wal_level', 'wal_sync_method', 'data_sync_retry', 'recovery_init_sync_method',
        'synchronous_standby_names', 'synchronized_standby_slots', 'krb_caseins_users', 'db_user_namespace', 'ssl'))
    and (grantee = 'public' or grantee in (select role from outside where not superuser))
), powerful as (
  select roleid, role from outside
  where role in (select direct.role from direct) or role in (select known.role from audit.powerful_roles as known)
), held as (
  select role, power, revoke from direct
  union all
  -- Directly or not; revokes the first membership on the way.
  select member.role, 'member of ' || powerful.role,
    (select string_agg(edge.revoke, '; ') from edges as edge where edge.member = member.role and pg_has_role(edge.role, powerful.roleid, 'member'))
  from powerful
  join audit.reaches as reach on reach.roleid = powerful.roleid
  join outside as member on member.roleid = reach.memberid and not member.superuser
)
select
  held.role,
  held.power,
  case when outside.roleid = 10 then null else held.revoke end as revoke,
  case when outside.roleid = 10 then 'PostgreSQL' when approved.name is not null then 'approved' end as accepted
from held
left join outside on outside.role = held.role
left join deploy.approvals as approved on (approved.kind, approved.name, approved.value) = ('power', held.role, held.power);
comment on view audit.powers is 'What puts a role outside the service beyond row-level security, or lets it put itself there: one row for each role and power. revoke is SQL that takes it away; accepted is the reason why it is not a finding.';
