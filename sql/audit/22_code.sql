-- Facts: routines, and the triggers that call them.

create view audit.functions with (security_invoker) as
select
  proc.oid as funcid,
  audit.signature(proc.oid) as function,
  schema.name as schema,
  schema.ours,
  proc.proowner::regrole::text as owner,
  language.lanname as language,
  case proc.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end as volatility,
  proc.prosecdef as security_definer,
  proc.proleakproof as leakproof,
  proc.prokind in ('f', 'p') as is_function,
  proc.prosqlbody is not null as parsed,
  coalesce(proc.proconfig, '{}') as settings,
  audit.body(proc.oid) as body,
  obj_description(proc.oid, 'pg_proc') as comment
from pg_proc as proc
join audit.schemas as schema on schema.oid = proc.pronamespace
join pg_language as language on language.oid = proc.prolang
where not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_proc'::regclass, proc.oid))
  and (schema.ours or (proc.pronamespace, proc.proowner) not in (select schemaid, ownerid from audit.elsewhere()));
comment on view audit.functions is 'Functions, procedures and aggregates that are neither PostgreSQL''s nor an extension''s, excluding other applications (audit.elsewhere).';

create view audit.altered_built_ins (funcid) with (security_invoker) as
select proc.oid
from pg_proc as proc
where proc.oid < 16384 and proc.pronamespace = 'pg_catalog'::regnamespace
  -- The functions of information_schema are the last that initdb makes. A row keeps its xmin when it is frozen or copied.
  and proc.xmin::text::bigint > (
    select min(made.xmin::text::bigint) from pg_proc as made where made.pronamespace = 'information_schema'::regnamespace and made.oid < 16384
  )
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_proc'::regclass, proc.oid));
comment on view audit.altered_built_ins is 'The built-in functions whose row in pg_proc was written after initdb: by ALTER, CREATE OR REPLACE, GRANT or REVOKE.';

create view audit.calls with (security_invoker) as
select
  needs.classid,
  needs.objid,
  audit.signature(proc.oid) as function,
  proc.provolatile = 'i' as immutable
from pg_depend as needs
left join pg_operator as operator on needs.refclassid = 'pg_operator'::regclass and operator.oid = needs.refobjid
join pg_proc as proc on proc.oid = coalesce(operator.oprcode, needs.refobjid)
where needs.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass) and proc.oid >= 16384
  and not exists (select from audit.extension_members as member where (member.classid, member.objid) = ('pg_proc'::regclass, proc.oid));
comment on view audit.calls is 'The functions that policies, defaults, constraints and indexes call, directly or by an operator: of the service and of other applications, not of PostgreSQL and of extensions.';

create view audit.triggers with (security_invoker) as
select
  trigger.oid as tgid,
  tables.relation || '.' || quote_ident(trigger.tgname) as trigger,
  trigger.tgname as name,
  tables.relation,
  tables.ours,
  trigger.tgfoid as funcid,
  trigger.tgisinternal as keeps_foreign_key,
  trigger.tgenabled = 'O' as enabled,
  audit.definition('pg_trigger', trigger.oid) as definition,
  obj_description(trigger.oid, 'pg_trigger') as comment
from pg_trigger as trigger
join (
  select relid, relation, ours from audit.tables
  union all
  select relid, relation, ours from audit.views
) as tables on tables.relid = trigger.tgrelid;
comment on view audit.triggers is 'Triggers, including the internal ones of foreign keys.';
