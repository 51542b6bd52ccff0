-- Findings: the results of all checks. And the matrix of privileges and policies, for people.

create view audit.checks with (security_invoker) as
select * from audit.table_checks
union all select * from audit.policy_checks
union all select * from audit.role_checks
union all select * from audit.grant_checks
union all select * from audit.function_checks
union all select * from audit.trigger_checks
union all select * from audit.constraint_checks
union all select * from audit.server_checks
union all select * from audit.drift_checks
-- Not in a chapter: audit.collect_findings reports it.
union all select 'audit_failed', 'critical', 'The checks of a view of findings cannot be run', 'What they would find is unknown. The findings of the other views are complete.';
comment on view audit.checks is 'All checks, each with its reason.';
comment on column audit.checks.code is 'Its name.';
comment on column audit.checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.checks.title is 'What it finds.';
comment on column audit.checks.why is 'Why it matters.';

-- The two settings change how PostgreSQL prints names and texts, and every login may set them for itself.
-- As one statement the chapters take twice the time and four times the memory: it is planned as a whole. As dynamic
-- statements they would be planned at each call.
create function audit.collect_findings() returns table (code text, object text, detail text, fix text)
language plpgsql stable set search_path = pg_catalog, pg_temp set quote_all_identifiers = off set standard_conforming_strings = on
as $$
declare
  chapter text;
begin
  foreach chapter in array array['table', 'policy', 'role', 'grant', 'function', 'trigger', 'constraint', 'server', 'drift'] loop
    begin
      case chapter
        when 'table' then return query select found.code, found.object, found.detail, found.fix from audit.table_findings as found;
        when 'policy' then return query select found.code, found.object, found.detail, found.fix from audit.policy_findings as found;
        when 'role' then return query select found.code, found.object, found.detail, found.fix from audit.role_findings as found;
        when 'grant' then return query select found.code, found.object, found.detail, found.fix from audit.grant_findings as found;
        when 'function' then return query select found.code, found.object, found.detail, found.fix from audit.function_findings as found;
        when 'trigger' then return query select found.code, found.object, found.detail, found.fix from audit.trigger_findings as found;
        when 'constraint' then return query select found.code, found.object, found.detail, found.fix from audit.constraint_findings as found;
        when 'server' then return query select found.code, found.object, found.detail, found.fix from audit.server_findings as found;
        when 'drift' then return query select found.code, found.object, found.detail, found.fix from audit.drift_findings as found;
      end case;
    exception
      -- The classes 40, 53, 55, 57 and 58 are temporary conditions, not weaknesses: a lock, memory, a cancelled statement.
      -- XX000 is the error of an object that another session drops meanwhile, such as a temporary table.
      when transaction_rollback or insufficient_resources or object_not_in_prerequisite_state or operator_intervention or system_error or internal_error then
        raise;
      when others then
        return query select 'audit_failed', 'audit.' || chapter || '_findings', sqlstate || ': ' || sqlerrm,
          audit.manual('Find the object that raises this error: table audit.' || chapter || '_findings');
    end;
  end loop;
end
$$;
comment on function audit.collect_findings() is
  'The findings of all chapters, which it queries one after the other in the snapshot of the calling statement. A chapter that raises an error is the finding audit_failed.';

create view audit.findings with (security_invoker) as
select
  found.code,
  coalesce(checks.severity, 'critical') as severity,
  found.object,
  coalesce(checks.title, 'The audit does not describe this check.') as title,
  found.detail,
  found.fix
from audit.collect_findings() as found
left join audit.checks as checks on checks.code = found.code
-- A comment needs its object, which another finding may restore.
order by severity, found.code, found.object ~ '^comment ', found.object, found.detail;
comment on view audit.findings is 'What weakens the isolation of clubs or differs from what is intended. Empty when no check finds anything.';
comment on column audit.findings.code is 'The check; audit.checks has its reason.';
comment on column audit.findings.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.findings.object is 'The object.';
comment on column audit.findings.title is 'What is wrong, in general.';
comment on column audit.findings.detail is 'What is wrong with this object.';
comment on column audit.findings.fix is 'SQL that repairs it. Read it first: it may drop an object that is in use.';

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
comment on column audit.access.relation is 'The table.';
comment on column audit.access.role is 'The role.';
comment on column audit.access.verb is 'select, insert, update or delete.';
comment on column audit.access.columns is 'The columns; null for all.';
comment on column audit.access.policies is 'The policies that apply, restrictive ones last. None on a reference table.';

revoke execute on all functions in schema audit from public;
grant select on all tables in schema audit to club_auditor, club_api;
grant execute on all functions in schema audit to club_auditor, club_api;
revoke execute on function audit.record_facts(jsonb), audit.approve(text[]), audit.record_provider(text) from club_auditor, club_api;

set local role none;
