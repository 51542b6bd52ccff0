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
  and (schema.ours or not audit.is_elsewhere(proc.pronamespace, proc.proowner));
comment on view audit.functions is 'Functions, procedures and aggregates that are neither PostgreSQL''s nor an extension''s.';
comment on column audit.functions.funcid is 'Its number in pg_proc.';
comment on column audit.functions.function is 'Its signature.';
comment on column audit.functions.schema is 'Its schema.';
comment on column audit.functions.ours is 'Whether the schema belongs to the service.';
comment on column audit.functions.owner is 'Whose rights it has, when it is SECURITY DEFINER.';
comment on column audit.functions.language is 'Its language.';
comment on column audit.functions.volatility is 'immutable, stable or volatile.';
comment on column audit.functions.security_definer is 'Whether it runs with its owner''s rights.';
comment on column audit.functions.leakproof is 'Whether the planner may run it on rows before a policy hides them.';
comment on column audit.functions.is_function is 'Whether it is a function or procedure of its own, and neither an aggregate nor a window function.';
comment on column audit.functions.parsed is 'Whether its names were looked up when it was made, so that no search path matters.';
comment on column audit.functions.settings is 'What is set while it runs.';
comment on column audit.functions.body is 'What it does.';
comment on column audit.functions.comment is 'What it is for.';

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
comment on view audit.triggers is 'Triggers; PostgreSQL''s own, which keep the foreign keys, as well.';
comment on column audit.triggers.tgid is 'Its number in pg_trigger.';
comment on column audit.triggers.trigger is 'The table and the trigger.';
comment on column audit.triggers.name is 'The trigger''s name.';
comment on column audit.triggers.relation is 'The table.';
comment on column audit.triggers.ours is 'Whether the table is in a schema of the service.';
comment on column audit.triggers.funcid is 'The function that it calls, by its number in pg_proc.';
comment on column audit.triggers.keeps_foreign_key is 'Whether PostgreSQL made it for a foreign key.';
comment on column audit.triggers.enabled is 'Whether it runs as it should: for every session, and not for replicas.';
comment on column audit.triggers.definition is 'As SQL.';
comment on column audit.triggers.comment is 'What it is for.';
