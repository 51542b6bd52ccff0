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
comment on column audit.functions.funcid is 'Its number in pg_proc.';
comment on column audit.functions.function is 'Its signature.';
comment on column audit.functions.schema is 'Its schema.';
comment on column audit.functions.ours is 'Whether the schema belongs to the service.';
comment on column audit.functions.owner is 'Its owner; a SECURITY DEFINER function has the owner''s privileges.';
comment on column audit.functions.language is 'Its language.';
comment on column audit.functions.volatility is 'immutable, stable or volatile.';
comment on column audit.functions.security_definer is 'Whether it is SECURITY DEFINER.';
comment on column audit.functions.leakproof is 'Whether it is LEAKPROOF: the planner may run it on rows before the policies filter them.';
comment on column audit.functions.is_function is 'Whether it is a function or a procedure, and not an aggregate or a window function.';
comment on column audit.functions.parsed is 'Whether its names were resolved when it was created, so the search path has no effect.';
comment on column audit.functions.settings is 'Its SET clauses.';
comment on column audit.functions.body is 'Its body.';
comment on column audit.functions.comment is 'What it is for.';

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
comment on column audit.altered_built_ins.funcid is 'The function''s number in pg_proc.';

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
comment on column audit.calls.classid is 'The catalog of the object that calls the function.';
comment on column audit.calls.objid is 'The object''s number in that catalog.';
comment on column audit.calls.function is 'The function.';
comment on column audit.calls.immutable is 'Whether the function is IMMUTABLE.';

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
comment on column audit.triggers.tgid is 'Its number in pg_trigger.';
comment on column audit.triggers.trigger is 'The table and the trigger.';
comment on column audit.triggers.name is 'The trigger''s name.';
comment on column audit.triggers.relation is 'The table.';
comment on column audit.triggers.ours is 'Whether the table is in a schema of the service.';
comment on column audit.triggers.funcid is 'The function that it calls, by its number in pg_proc.';
comment on column audit.triggers.keeps_foreign_key is 'Whether it is an internal trigger of a foreign key.';
comment on column audit.triggers.enabled is 'Whether it is enabled for normal sessions (tgenabled is O).';
comment on column audit.triggers.definition is 'As SQL.';
comment on column audit.triggers.comment is 'What it is for.';
