-- Checks: policies.
--
-- The floor of a table is a restrictive policy for all commands that allows only rows of the transaction's tenant.
-- It has exactly one spelling, so a check can compare it as text.

create view audit.policy_checks (code, severity, title, why) with (security_invoker) as values
  ('floor_missing', 'critical', 'A role has access to a table without a floor', 'Without a restrictive policy, one permissive policy that is too broad shows the rows of every club.'),
  ('floor_loose', 'critical', 'A restrictive policy for all commands is not the floor', 'It has the place of the floor but another expression.'),
  ('floor_without_check', 'warning', 'A floor has no WITH CHECK', 'PostgreSQL uses USING for both. A later change of USING would then change what may be written.'),
  ('policy_always_true', 'warning', 'A policy is always true', 'Every role of the club passes it. The floor still limits rows to the club.'),
  ('policy_form', 'warning', 'A policy is more than comparisons joined by AND', 'An OR, a negation or a function call may be true for every row in a way that no check detects.'),
  ('policy_without_context', 'warning', 'A policy calls no accessor', 'It gives every caller of the club the same rights.'),
  ('policy_reads_setting', 'critical', 'A policy reads a setting itself', 'current_setting returns null or an empty text when the context is missing; an accessor raises TN001.'),
  ('policy_calls_function', 'critical', 'A policy calls a function that is not an accessor', 'The function, and the role that it runs as, were not reviewed as part of the isolation.'),
  ('policy_calls_immutable', 'critical', 'A policy calls an IMMUTABLE function', 'The planner computes it once and may use the result for the next club.'),
  ('policy_reads_table', 'warning', 'A policy reads another table', 'Its result depends on the policies of that table and on the roles that may write it.'),
  ('accessor_not_wrapped', 'warning', 'A policy calls an accessor for every row', 'Write (select app.tenant_id()), which is called once per statement: 0.2 s instead of 8 s for a million rows.'),
  ('policy_for_public', 'warning', 'A permissive policy is for PUBLIC', 'It also applies to every role that is created later.'),
  ('policy_for_owner', 'critical', 'A policy is for the owner or a superuser', 'The owner must see no row. Under FORCE it sees the rows that a policy allows it.'),
  ('policy_for_stranger', 'critical', 'A policy is for a role that is not in audit.intended_roles', 'It may give that role access to rows of clubs.'),
  ('policy_without_comment', 'warning', 'A policy has no comment', 'A review needs to know its reason.'),
  ('policy_without_grant', 'warning', 'A policy is for a role without the privilege', 'It has no effect now, but a later grant would make it effective without a review.'),
  ('not_forgettable', 'warning', 'app.forget_club cannot delete from a table', 'It fails, so the rows of a closed club cannot be removed.'),
  ('policy_on_open_table', 'critical', 'A policy is on a table without row-level security', 'The policy has no effect.');
comment on view audit.policy_checks is 'The checks of policies.';
comment on column audit.policy_checks.code is 'Its name, for audit.findings.';
comment on column audit.policy_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.policy_checks.title is 'What it finds.';
comment on column audit.policy_checks.why is 'Why it matters.';

create view audit.floors with (security_invoker) as
select
  policy.policyid,
  policy.relation,
  role.name as role,
  coalesce(intended.using_expression, '(' || quote_ident(policy.tenant_column) || ' = ( SELECT app.tenant_id() AS tenant_id))') as meant_to_use,
  coalesce(intended.check_expression, intended.using_expression, '(' || quote_ident(policy.tenant_column) || ' = ( SELECT app.tenant_id() AS tenant_id))') as meant_to_check,
  policy.using_expression,
  policy.check_expression
from audit.policies as policy
cross join lateral unnest(policy.roles) as role (name)
left join audit.intended_floors as intended on (intended.relation, intended.role) = (policy.relation, role.name)
where policy.restrictive and policy.command = 'all';
comment on view audit.floors is 'The floors, for each role that they apply to, with their intended expressions.';
comment on column audit.floors.policyid is 'The policy''s number in pg_policy.';
comment on column audit.floors.relation is 'The table.';
comment on column audit.floors.role is 'The role; public is every role.';
comment on column audit.floors.meant_to_use is 'The intended USING expression.';
comment on column audit.floors.meant_to_check is 'The intended WITH CHECK expression.';
comment on column audit.floors.using_expression is 'The USING expression.';
comment on column audit.floors.check_expression is 'The WITH CHECK expression.';

create view audit.policy_findings (code, object, detail, fix) with (security_invoker) as
with tables as (select relid, relation, schema, kind, is_reference, tenant_column, row_security from audit.tables),
privileges as (select kind, object, grantee, privilege from audit.privileges),
floors as (select * from audit.floors),
roles as (select * from audit.roles),
calls as materialized (select objid, function, immutable from audit.calls where classid = 'pg_policy'::regclass),
policy as (
  select *,
    format('drop policy %I on %s', name, relation) as drop_it,
    concat_ws(' and ', using_expression, check_expression) as expressions
  from audit.policies where ours
), reader as (
  -- The roles with a privilege on a table with a tenant; public where no role has one yet.
  select tables.relation, tables.tenant_column, coalesce(held.grantee, 'public') as role
  from tables
  left join (
    select distinct object, grantee from privileges where kind = 'table'
  ) as held on held.object = tables.relation
  where tables.schema = 'app' and tables.kind in ('table', 'partitioned table') and not tables.is_reference
)
select 'floor_missing', reader.relation, 'no floor applies to ' || reader.role,
  -- A floor of the last deploy is restored as drift.
  case when exists (
    select from deploy.facts as meant
    where meant.kind = 'policy' and meant.fact ~ '^restrictive all ' and left(meant.object, length(reader.relation) + 1) = reader.relation || '.'
      and meant.object not in (select policy.policy from policy)
  ) then audit.manual('Deploy again: node dist/migrate.js') else format(
    'create policy %I on %s as restrictive for all to %s using (%s) with check (%s)',
    'floor_of_' || reader.role, reader.relation, case reader.role when 'public' then 'public' else quote_ident(reader.role) end,
    coalesce(intended.using_expression, format('%I = (select app.tenant_id())', coalesce(reader.tenant_column, 'tenant_id'))),
    coalesce(intended.check_expression, format('%I = (select app.tenant_id())', coalesce(reader.tenant_column, 'tenant_id')))
  ) end
from reader
left join audit.intended_floors as intended on (intended.relation, intended.role) = (reader.relation, reader.role)
where not exists (
  select from floors as floor
  where floor.relation = reader.relation and floor.role in (reader.role, 'public')
    and floor.using_expression = floor.meant_to_use
)
union all
select distinct 'floor_loose', policy.policy,
  format('using %s with check %s', floor.using_expression, coalesce(floor.check_expression, '-')),
  format('alter policy %I on %s using (%s) with check (%s)', policy.name, policy.relation, floor.meant_to_use, floor.meant_to_check)
from floors as floor
join policy on policy.policyid = floor.policyid
where floor.meant_to_use is not null
  and (floor.using_expression is distinct from floor.meant_to_use or floor.check_expression <> floor.meant_to_check)
  -- Next to a correct floor another restrictive policy can only exclude more rows.
  and not exists (
    select from floors as other
    where (other.relation, other.role) = (floor.relation, floor.role) and other.using_expression = other.meant_to_use
      and coalesce(other.check_expression, other.using_expression) = other.meant_to_check
  )
union all
select distinct 'floor_without_check', policy.policy, 'there is no WITH CHECK',
  format('alter policy %I on %s with check (%s)', policy.name, policy.relation, floor.meant_to_check)
from floors as floor
join policy on policy.policyid = floor.policyid
where floor.check_expression is null and floor.meant_to_check is not null
union all
select 'policy_always_true', policy, 'its expression is true', drop_it
from policy
where not exists (
  select from audit.intended_floors as intended
  where (intended.relation, array[intended.role], intended.using_expression)
    = (policy.relation, policy.roles, policy.using_expression)
    -- A permissive policy may only read: without a check of its own, a write is held to the expression for reading.
    and (policy.restrictive and policy.check_expression = intended.check_expression or policy.command = 'select')
) and exists (
  select from unnest(array[using_expression, check_expression]) as expression
  where expression ~* '\mor true\M|\mtrue or\M|^true$|\mnot false\M'
    -- An expression without a column is the same for every row; without an accessor, for every caller.
    or expression <> 'false' and regexp_replace(expression, '\(\s*SELECT app\.\w+\(\) AS \w+\)', '', 'g') = expression and not exists (
      select from pg_attribute
      join tables on tables.relid = pg_attribute.attrelid and tables.relation = policy.relation
      where attnum > 0 and not attisdropped and expression ~ ('(?<!\w)' || regexp_replace(quote_ident(attname), '\W', '\\\&', 'g') || '(?!\w)')
    )
    -- A comparison of a value with itself; and an accessor is never null, because it raises.
    or expression ~* '(\m\w+\M) (=|>=|<=|IS NOT DISTINCT FROM) (ANY \(ARRAY\[)?\1\M(?! *\()|(\( SELECT app\.\w+\(\) AS \w+\)) (=|>=|<=) \4'
    or expression ~* ' AS \w+\)(::\w+)? IS NOT NULL|NOT \(\w+ IS (DISTINCT FROM|NULL)'
    or expression ~* ('^\((' || quote_ident(coalesce(tenant_column, '')) || '|id) IS NOT NULL\)$')
)
union all
select 'policy_form', policy, expressions, drop_it
from policy
where exists (
  select from unnest(array[using_expression, check_expression]) as expression
  cross join lateral (select regexp_replace(expression, '\( SELECT app\.\w+\(\) AS \w+\)', '@', 'g')) as plain (text)
  where expression <> 'false' and not exists (
    select from audit.intended_floors as intended where (intended.relation, intended.using_expression) = (policy.relation, expression)
  ) and plain.text !~
    '^\(*(\w+ (= \(*@\)?(::\w+)?|= ANY \(@(::uuid\[\])?\)|IS (NOT )?NULL)|\(?@\)? >= ''\w+''::app\.club_role)\)*( AND \(*(\w+ (= \(*@\)?(::\w+)?|= ANY \(@(::uuid\[\])?\)|IS (NOT )?NULL)|\(?@\)? >= ''\w+''::app\.club_role)\)*)*$'
)
union all
select 'policy_without_context', policy, 'it calls no accessor: ' || expressions, drop_it
from policy
where exists (
  select from unnest(array[using_expression, check_expression]) as expression
  where expression !~ '\mapp\.(tenant_id|user_id|role|member_id|club_ids|closed_club_id|link_hash|shift_ids)\(\)' and expression not in ('true', 'false')
    and not exists (
      select from audit.intended_floors as intended where (intended.relation, intended.using_expression) = (policy.relation, expression)
    )
)
union all
select 'policy_reads_setting', policy, 'it calls current_setting', drop_it
from policy where expressions ~ '\m(current_setting|set_config|pg_settings|pg_show_all_settings)\M'
union all
select distinct case when called.immutable then 'policy_calls_immutable' else 'policy_calls_function' end,
  policy.policy, 'it calls ' || called.function, policy.drop_it
from policy
join calls as called on called.objid = policy.policyid
left join audit.intended_accessors as accessor on accessor.function = called.function
where accessor.function is null or called.immutable
union all
select distinct 'policy_reads_table', policy.policy, 'it reads ' || audit.name_of(namespace.nspname, class.relname), policy.drop_it
from policy
join pg_depend as needs on (needs.classid, needs.objid, needs.refclassid) = ('pg_policy'::regclass, policy.policyid, 'pg_class'::regclass)
join pg_class as class on class.oid = needs.refobjid
join pg_namespace as namespace on namespace.oid = class.relnamespace
where audit.name_of(namespace.nspname, class.relname) <> policy.relation
union all
select 'accessor_not_wrapped', policy, expressions,
  format(
    'alter policy %I on %s%s%s', name, relation,
    coalesce(' using (' || regexp_replace(using_expression, '(?<!SELECT )(app\.\w+\(\))', '(select \1)', 'g') || ')', ''),
    coalesce(' with check (' || regexp_replace(check_expression, '(?<!SELECT )(app\.\w+\(\))', '(select \1)', 'g') || ')', '')
  )
from policy where expressions ~ '(?<!SELECT )\mapp\.\w+\(\)'
union all
select 'policy_for_public', policy, 'it is permissive and for PUBLIC', format('alter policy %I on %s to club_api', name, relation)
from policy where not restrictive and 'public' = any (roles)
union all
select 'policy_for_owner', policy, 'it names ' || role.role, drop_it
from policy
join roles as role on role.role = any (policy.roles)
-- A role of the service that is beyond the policies is role_superuser or role_bypasses_rls: its policies are right.
where role.purpose in ('owner', 'deploy') or role.purpose is null and (role.superuser or role.bypass_row_security)
union all
select 'policy_for_stranger', policy, 'it names ' || role.role, drop_it
from policy
join roles as role on role.role = any (policy.roles)
where role.purpose is null or role.purpose = 'auditor'
union all
select 'policy_without_comment', policy, 'it has no comment', format('comment on policy %I on %s is %L', name, relation, 'Write its reason here.')
from policy where comment is null
union all
select 'policy_without_grant', policy.policy, format('%s has no %s', role.name, replace(policy.command, 'all', 'privilege')),
  -- Of a policy of the last deploy the privilege is what is missing.
  case when exists (select from deploy.facts as meant where (meant.kind, meant.object) = ('policy', policy.policy))
    then audit.manual('Deploy again: node dist/migrate.js') else policy.drop_it end
from policy
cross join lateral unnest(policy.roles) as role (name)
where not policy.restrictive and role.name <> 'public' and not exists (
  select from privileges as held
  where held.kind = 'table' and held.object = policy.relation and held.grantee = role.name and policy.command in (held.privilege, 'all')
)
union all
select 'not_forgettable', tables.relation, 'club_operator may not delete there',
  format('grant delete on %1$s to club_operator; create policy %2$I on %1$s for delete to club_operator using (%3$I = (select app.closed_club_id())); comment on policy %2$I on %1$s is %4$L',
    tables.relation, 'forget', coalesce(tables.tenant_column, 'tenant_id'), 'An operator removes the rows of a closed club.')
from tables
where tables.schema = 'app' and tables.kind in ('table', 'partitioned table') and not tables.is_reference and (
  not exists (
    select from policy where policy.relation = tables.relation and not policy.restrictive and policy.command in ('delete', 'all') and 'club_operator' = any (policy.roles)
  ) or not exists (
    select from privileges as held where (held.kind, held.object, held.grantee, held.privilege) = ('table', tables.relation, 'club_operator', 'delete')
  )
)
union all
select 'policy_on_open_table', policy, 'row-level security is disabled', format('alter table %s enable row level security', policy.relation)
from policy join tables on tables.relation = policy.relation
where not tables.row_security;
comment on view audit.policy_findings is 'The findings of the checks of policies.';
comment on column audit.policy_findings.code is 'The check.';
comment on column audit.policy_findings.object is 'The object.';
comment on column audit.policy_findings.detail is 'What is wrong with it.';
comment on column audit.policy_findings.fix is 'SQL that repairs it.';
