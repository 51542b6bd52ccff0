-- Findings: the results of all checks, and what approves them. And the matrix of privileges and policies, for people.

create view audit.checks (code, severity, title, why) with (security_invoker) as
select code, 'critical', title, why from audit.core_checks
union all table audit.role_checks
union all table audit.grant_checks
union all table audit.server_checks
union all table audit.drift_checks
-- audit.collect_findings reports it.
union all select 'audit_failed', 'critical', 'The checks of a view of findings cannot be run', 'What they would find is unknown. The findings of the other views are complete.';
comment on view audit.checks is 'All checks, each with its reason. critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';

-- The two settings change how PostgreSQL prints names and texts, and every login may set them for itself.
-- As one statement the views take twice the time and four times the memory: it is planned as a whole. As dynamic
-- statements they would be planned at each call.
create function audit.collect_findings() returns table (code text, object text, detail text, fix text, role name)
language plpgsql stable set search_path = pg_catalog, pg_temp set quote_all_identifiers = off set standard_conforming_strings = on
as $$
declare
  chapter text;
begin
  foreach chapter in array array['core', 'role', 'grant', 'server', 'drift'] loop
    begin
      case chapter
        when 'core' then return query select found.code, found.object, found.detail, found.fix, null::name from audit.core_findings as found;
        when 'role' then return query select found.code, found.object, found.detail, found.fix, found.role from audit.role_findings as found;
        when 'grant' then return query select found.code, found.object, found.detail, found.fix, found.role from audit.grant_findings as found;
        when 'server' then return query select found.code, found.object, found.detail, found.fix, found.role from audit.server_findings as found;
        when 'drift' then return query select found.code, found.object, found.detail, found.fix, null::name from audit.drift_findings as found;
      end case;
    exception
      -- The classes 40, 53, 55, 57 and 58 are temporary conditions, not weaknesses: a lock, memory, a cancelled statement.
      -- XX000 is the error of an object that another session drops meanwhile, such as a temporary table.
      when transaction_rollback or insufficient_resources or object_not_in_prerequisite_state or operator_intervention or system_error or internal_error then
        raise;
      when others then
        return query select 'audit_failed', 'view audit.' || chapter || '_findings', sqlstate || ': ' || sqlerrm,
          audit.manual('Find the object that raises this error: table audit.' || chapter || '_findings'), null::name;
    end;
  end loop;
end
$$;
comment on function audit.collect_findings() is
  'The findings of all views, approved ones too, which it queries one after the other in the snapshot of the calling statement. A view that raises an error is the finding audit_failed.';

create function audit.approval(code text, object text, detail text) returns text
language sql stable
return format('%s %s: %s', code, object, detail);
comment on function audit.approval(text, text, text) is 'A finding as deploy.approvals has it.';

create view audit.findings with (security_invoker) as
with found as materialized (select * from audit.collect_findings()),
named as (
  select found.*, coalesce(checks.severity, 'critical') as severity, coalesce(checks.title, 'The audit does not describe this check.') as title,
    found.code in (select drift.code from audit.drift_checks as drift) as is_drift
  from found left join audit.checks as checks on checks.code = found.code
)
select code, severity, object, title, detail, coalesce(fix, '-- Deploy again: node dist/migrate.js') as fix
from named
-- Drift leaves out what a rule of the same severity names.
where not (is_drift and exists (select from named as rule where not rule.is_drift and rule.object = named.object and rule.severity <= named.severity))
  and not exists (select from deploy.approvals as approved where (approved.kind, approved.name, approved.value) = ('object', named.role, audit.approval(named.code, named.object, named.detail)))
-- A comment needs its object, which another finding may restore.
order by severity, code, object ~ '^comment ', object, detail;
comment on view audit.findings is 'What weakens the isolation of clubs or differs from what is intended. Empty when no check finds anything. fix is SQL that repairs it. Read it first: it may drop an object that is in use.';

create function audit.assert_clean() returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  found text;
begin
  select pg_catalog.string_agg(pg_catalog.format('%s: %s %s (%s)', finding.severity, finding.code, finding.object, finding.detail), E'\n')
  into found
  from audit.findings as finding;
  if found is not null then
    raise exception using errcode = 'AU001', message = 'the audit has findings', detail = found, hint = 'select * from audit.findings';
  end if;
end
$$;
comment on function audit.assert_clean() is 'Raises AU001 with all findings; returns when there is none. For scripts.';

create function audit.approve(roles text[]) returns table (role text, approved text)
language sql volatile
begin atomic
  delete from deploy.approvals;
  insert into deploy.approvals (kind, name, value)
  select 'power', powers.role, powers.power from audit.powers as powers where powers.role = any (roles)
  union
  select 'object', found.role, audit.approval(found.code, found.object, found.detail)
  from audit.collect_findings() as found
  where found.role = any (roles) and found.code <> 'beyond_row_level_security';
  select name, value from deploy.approvals order by name, kind desc, value;
end;
comment on function audit.approve(text[]) is
  'Approves these roles with the powers and the objects that they have now, and no other role. Returns what it approved. A deploy with APPROVE calls it.';

create view audit.access with (security_invoker) as
select
  tables.relation,
  role.role,
  verb.verb,
  case when bool_or(held.column_name is null) then null else array_agg(distinct held.column_name::text order by held.column_name::text) end as columns,
  coalesce((
    select array_agg(policy.name::text order by policy.restrictive, policy.name)
    from audit.policies as policy
    where policy.relation = tables.relation and policy.command in (verb.verb, 'all') and policy.roles && array['public'::name, role.role]
  ), '{}') as policies
from audit.tables as tables
cross join audit.intended_roles as role
cross join unnest(array['select', 'insert', 'update', 'delete']) as verb (verb)
join audit.privileges as held
  on held.kind = 'table' and held.object = tables.relation and held.privilege = verb.verb and held.grantee in (role.role, 'public')
where tables.ours
group by tables.relation, tables.relid, role.role, verb.verb;
comment on view audit.access is 'The privileges of each role on each table, and the policies that apply to it.';

revoke execute on all functions in schema audit from public;
grant select on all tables in schema audit to club_auditor, club_api;
grant execute on all functions in schema audit to club_auditor, club_api;
revoke execute on function audit.record_facts(jsonb), audit.approve(text[]) from club_auditor, club_api;

set local role none;
