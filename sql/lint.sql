-- The lint of the schema: rules for what a commit changes. `make verify` runs them on a new deploy and prints what they find. In a live
-- database a change by hand is drift, which the audit reports.
--
-- A rule has a name, a reason, statements that it finds, and a query that returns (object, detail). An exception is in the query, with
-- its reason. A test runs each statement on a new deploy; `finds from 18` is for PostgreSQL 18 and newer.

-- Tables

-- comment_missing: A review needs to know what an object is for.
-- finds: comment on table app.tasks is null
-- finds: comment on view audit.findings is null
-- finds: comment on policy tasks_floor on app.tasks is null
-- finds: comment on function app.sign_up(uuid) is null
-- finds: comment on trigger tasks_guard on app.tasks is null
select object, 'it has no comment'
from (
  select relation, comment from audit.tables where ours and kind <> 'sequence'
  union all select relation, comment from audit.views where ours
  union all select policy, comment from audit.policies where ours
  union all select function, comment from audit.functions where ours
  union all select trigger, comment from audit.triggers where ours and not keeps_foreign_key
) as described (object, comment)
where coalesce(comment, '') = '';

-- primary_key_missing: Without one a row may exist twice, and its tenant may be null: the columns of a primary key, of which the tenant
-- is one, are NOT NULL.
-- finds: alter table app.tasks drop constraint tasks_pkey
select relation, 'it has no primary key'
from audit.tables
where ours and kind <> 'sequence' and not exists (select from pg_index where indrelid = relid and indisprimary);

-- tenant_column_default: The default decides to which club a new row belongs, because requests may not write the column.
-- finds: alter table app.shifts alter column tenant_id drop default
-- finds: alter table app.tasks alter column tenant_id set default '11111111-1111-4111-8111-111111111111'
select relation, 'the default of tenant_id is ' || coalesce(audit.expression(adbin, adrelid), 'missing')
from audit.tables
join pg_attribute on attrelid = relid and attname = 'tenant_id'
left join pg_attrdef on (adrelid, adnum) = (attrelid, attnum)
where schema = 'app' and not is_reference and audit.expression(adbin, adrelid) is distinct from 'app.tenant_id()';

-- tenant_without_club: A row could belong to a club that does not exist.
-- finds: alter table app.tasks drop constraint tasks_club_fkey
select relation, format('no foreign key (%I) references app.clubs', tenant_column)
from audit.tables
where schema = 'app' and tenant_column = 'tenant_id' and not exists (
  select from audit.foreign_keys as key
  where (key.relation, key.referenced, key.columns) = (tables.relation, 'app.clubs', array[tenant_column])
) and relation not in (
  -- Recorded from rows that have one. Its check took a tenth of a write.
  'app.events'
);

-- not_forgettable: app.forget_club fails at a table from which club_operator may not delete the rows of a closed club.
-- finds: drop policy tasks_forget on app.tasks
select relation, 'no policy lets club_operator delete'
from audit.tables
where schema = 'app' and kind <> 'sequence' and not is_reference and not exists (
  select from audit.policies as policy
  where policy.relation = tables.relation and not restrictive and command in ('delete', 'all') and 'club_operator' = any (roles)
);

-- sequence_shared: Its numbers show a club how many rows the others write. The default of an id is app.new_id().
-- finds: alter table app.tasks add column number bigint generated always as identity
select relation, 'it is a sequence' from audit.tables where schema = 'app' and kind = 'sequence';

-- trigger_at_import: An import writes rows as they were exported. A trigger would record, count or refuse them a second time.
-- finds: create trigger again after insert on app.tasks for each row execute function app.record_event('task', '', '')
-- finds: create trigger again after insert on app.tasks for each row when (current_user <> 'club_import' and current_user <> 'x' or pg_trigger_depth() > 0) execute function app.record_event('task', '', '')
select trigger, 'it runs for the inserts of club_import'
from audit.triggers
join pg_trigger on pg_trigger.oid = triggers.tgid
where ours and not keeps_foreign_key and tgtype & 4 > 0 and definition !~
    'WHEN (\(\(CURRENT_USER <> ''club_import''::name\)\)|\(\(\(CURRENT_USER <> ''club_import''::name\) AND .*\)\)) EXECUTE';

-- table_unlogged: Its rows are lost after a crash, and a standby never has them.
-- finds: alter table app.shift_signups set unlogged
select relation, 'it is unlogged' from audit.tables where ours and not logged;

-- Keys and other constraints

-- foreign_key_action: A foreign key is ON DELETE RESTRICT. No policy applies to the rows that another action deletes or changes, SET NULL
-- may clear the tenant, and NO ACTION, the default, is checked at the end of the statement only.
-- finds: alter table app.tasks add foreign key (tenant_id, created_by_id) references app.members (tenant_id, id)
-- finds: alter table app.tasks add foreign key (tenant_id) references app.clubs (id) on delete cascade
-- finds: alter table app.tasks add foreign key (tenant_id, assignee_id) references app.members (tenant_id, id) on delete set null
-- finds: alter table app.tasks add foreign key (tenant_id) references app.clubs (id) on delete restrict on update cascade
select foreign_key, definition
from audit.foreign_keys
where (definition !~ ' ON DELETE RESTRICT\M' or definition ~ ' ON UPDATE (?!RESTRICT)') and (foreign_key, definition !~ ' ON DELETE CASCADE\M') not in (
  -- The signups of a deleted shift are deleted with it.
  ('app.shift_signups.shift_signups_shift_fkey', false),
  -- And its waits.
  ('app.shift_waits.shift_waits_shift_fkey', false)
);

-- foreign_key_without_index: Each deletion of a referenced row would read the whole table, the rows of every club.
-- finds: drop index app.tasks_of_assignee
select foreign_key, 'no index begins with ' || array_to_string(columns, ', ')
from audit.foreign_keys as key
join pg_constraint as con on (con.conrelid, con.conname) = (key.relation::regclass, key.name)
where joins_tenants and not exists (
  select from pg_index as index
  join pg_class as class on class.oid = index.indexrelid and class.relam = (select am.oid from pg_am as am where am.amname = 'btree')
  -- In any order of these columns.
  where index.indrelid = con.conrelid and index.indpred is null and (index.indkey::smallint[])[0:cardinality(con.conkey) - 1] @> con.conkey
);

-- constraint_form: A constraint is checked for every row, and by each statement: until COMMIT other statements could read rows that
-- violate it, and what it locks there can deadlock with the numbers of events.
-- finds: alter table app.tasks alter constraint tasks_assignee_fkey deferrable
-- finds: create constraint trigger later after insert on app.tasks deferrable for each row execute function app.number_events()
-- finds: alter table app.tasks add constraint short check (char_length(title) < 500) not valid
-- finds from 18: alter table app.tasks add constraint short check (char_length(title) < 500) not enforced
select format('%s.%I', relation, conname), audit.definition('pg_constraint', pg_constraint.oid)
from pg_constraint
join audit.tables on relid = conrelid
where ours and (condeferrable or not convalidated) and (relation, conname) not in (
  -- Numbers events at COMMIT. Nothing is locked after the numbers.
  ('app.events', 'events_number')
);

-- Policies and grants

-- policy_form: A policy compares columns and the role with accessors, joined by AND. An OR, a negation or a function can be true for
-- every row in a way that no rule detects; another table has policies of its own; and an accessor outside of (select …) is called for
-- every row: 8 s instead of 0.2 s for a million rows.
-- finds: create policy open on app.tasks for select to club_api using (true)
-- finds: alter policy tasks_read on app.tasks using ((select app.role()) >= 'Manager' or assignee_id is null)
-- finds: alter policy tasks_read on app.tasks using (upper(title) = (select app.user_id()))
-- finds: alter policy tasks_read on app.tasks using (exists (select from app.members where members.id = tasks.assignee_id))
-- finds: alter policy tasks_read on app.tasks using (assignee_id is not null)
-- finds: alter policy tasks_read on app.tasks using (app.role() >= 'Member')
-- finds: alter policy clubs_register on app.clubs to club_registry, club_api
select policy, expression
from audit.policies as policy
cross join unnest(array[using_expression, check_expression]) as expression
cross join lateral (
  -- @ is an accessor. A parenthesis remains after the name of a function.
  select regexp_replace(regexp_replace(expression, '\( SELECT app\.\w+\(\) AS \w+\)', '@', 'g'), '(?<!\w)\(|\)', '', 'g')
) as plain (text)
where ours and expression <> 'false'
  and (text !~ '@' or exists (
    select from regexp_split_to_table(text, ' AND ') as comparison
    where comparison !~ '^(\w+ (= @|= ANY @|IS (NOT )?NULL)|@ >= ''\w+'')(::[\w.]+(\[\])?)?$'
  ))
  -- A role with a floor of its own may have it as a permissive policy too.
  and not exists (
    select from audit.intended_floors as floor
    where (floor.relation, array[floor.role], floor.using_expression) = (policy.relation, policy.roles, policy.using_expression)
      and (floor.check_expression = policy.check_expression or policy.command = 'select')
  );

-- policy_without_check: Without WITH CHECK the rows that may be written are those of USING, also after a change of USING.
-- finds: drop policy tasks_floor on app.tasks; create policy tasks_floor on app.tasks as restrictive using (tenant_id = (select app.tenant_id()))
-- finds: drop policy tasks_edit on app.tasks; create policy tasks_edit on app.tasks for update to club_api using ((select app.role()) >= 'Member')
select policy, 'it has no WITH CHECK'
from audit.policies
where ours and command in ('update', 'all') and check_expression is null;

-- policy_without_grant: The policy has no effect now, but a later grant would make it effective without a review. PUBLIC has no privilege.
-- finds: create policy waiting on app.members for delete to club_api using (tenant_id = (select app.tenant_id()))
-- finds: alter policy tasks_read on app.tasks to public
select policy, format('%s has no %s', role, replace(command, 'all', 'privilege'))
from audit.policies as policy
cross join unnest(roles) as role
where ours and not restrictive and not exists (
  select from audit.privileges as held
  where (held.kind, held.object, held.grantee) = ('table', policy.relation, role) and policy.command in (held.privilege, 'all')
);

-- grant_without_policy: The privilege has no effect now, but a later policy would make it effective without a review.
-- finds: grant delete on app.members to club_api
-- finds: grant select (email) on app.members to club_registry
select held.object, format('%s has %s', held.grantee, concat_ws(' of ', held.privilege, held.column_name))
from audit.privileges as held
join audit.tables on relation = held.object
where held.kind = 'table' and held.privilege in ('select', 'insert', 'update', 'delete') and schema = 'app' and not tables.is_reference
  and not exists (
    select from audit.policies as policy
    where policy.relation = held.object and not restrictive and command in (held.privilege, 'all') and held.grantee = any (roles)
  );

-- grant_form: INSERT and UPDATE are granted column by column: on a whole table they would include columns that only the server writes,
-- those with a default, and columns that are added later. MAINTAIN would allow locking a whole table, for every club.
-- finds: grant insert on app.tasks to club_api
-- finds: grant update (version) on app.tasks to club_api
-- finds: grant update (id) on app.members to club_api
-- finds from 17: grant maintain on app.tasks to club_api
select concat_ws('.', object, column_name), format('%s to %s', privilege, grantee)
from audit.privileges
left join pg_attribute on attrelid = to_regclass(object) and attname = column_name
where kind = 'table' and ours and (
  privilege = 'maintain'
  or privilege in ('insert', 'update') and column_name is null
  or privilege in ('insert', 'update') and grantee = 'club_api' and (atthasdef or column_name = 'id')
    and (privilege, object, column_name) not in (
      -- Who changed the record last; a policy requires the caller.
      ('update', 'app.attendance', 'recorded_by_id'),
      -- When a token last changed the row.
      ('update', 'app.members', 'updated_at'),
      -- The state in the workflow; app.guard_task checks each change.
      ('update', 'app.tasks', 'state')
    )
);

-- Functions

-- definer_missing: Callers of the function lack the privileges that it needs, so it fails.
-- finds: alter function app.sign_up(uuid) security invoker
-- finds: drop function app.my_clubs()
select function, case when functions.funcid is null then 'it does not exist' else 'it runs as its caller' end
from audit.intended_definers
left join audit.functions using (function)
where security_definer is not true;

-- function_search_path: A function resolves names in pg_catalog only. The names of a parsed body were resolved when it was created. The
-- check function_unsafe of the audit has the rest: SECURITY DEFINER without a search path, IMMUTABLE, LEAKPROOF.
-- finds: alter function app.guard_task() reset search_path
select function, 'it does not set search_path = pg_catalog, pg_temp'
from audit.functions
where ours and is_function and not parsed and 'search_path=pg_catalog, pg_temp' <> all (settings);

-- function_body: A function works on tables of the service, in the context and with the settings of its caller, and fails if one of
-- its statements fails. It builds no statement from text: a review could not see which it runs.
-- finds: create function app.peek() returns void language plpgsql as $$ begin execute 'select 1'; end $$
-- finds: create function app.peek() returns xml language sql return query_to_xml('table app.tasks', true, true, '')
-- finds: create function app.peek() returns void language plpgsql as $$ begin perform app.tenant_id(); exception when others then null; end $$
-- finds: create function app.peek() returns text language sql return set_config('app.tenant_id', '', true)
-- finds: create or replace function app.leave_as_operator(context jsonb) returns void language plpgsql as $$ begin perform set_config('role', 'club_owner', true); end $$
-- finds: create function app.peek() returns text language sql return pg_read_file('/etc/passwd')
-- finds: create function app.peek() returns void language sql as $$ delete from pg_catalog.pg_class $$
-- finds: create function app.peek() returns void language plpgsql as $$ begin set row_security = off; end $$
-- finds: create function app.peek() returns void language plpgsql as $$ begin if true then truncate app.tasks; end if; end $$
with written as (
  -- Without comments, which may have such words. Where quotes make it hard to see what is a comment, it is read as code.
  select function, case when body ~ '\$|\\''|/\*' then body else regexp_replace(body, '(''[^'']*''|"[^"]*")|--[^\n]*', '\1', 'g') end as code
  from audit.functions where ours
), forbidden (pattern, exceptions) as (values
  ('\mexecute\M|\m(query|table|cursor|schema|database)_to_xml|\mts_(stat|rewrite)\M', array[
    -- Deletes from every table with a foreign key to app.clubs; it reads the names from the catalog.
    'app.forget_club(uuid,interval)'
  ]),
  ('\mexception\s+when\M', array[
    -- Gives the end of the wait for a request with the same key its own constraint.
    'app.claim_key(text,bytea)',
    -- Gives a number that another transaction has taken since the snapshot the SQLSTATE of a conflict.
    'app.number_events()',
    -- Tells that a row names the member, in any table.
    'app.delete_member(uuid)',
    -- Tells that a row was written meanwhile that names the member, or that a table does which it does not know.
    'app.merge_members(uuid,uuid)',
    -- Reports a chapter that raises an error as a finding, and still reads the others.
    'audit.collect_findings()'
  ]),
  ('\mset_config\M', array[
    -- Begin a request in a club, or in no single one.
    'app.enter(uuid,text,app.club_role,text,text,timestamp with time zone,uuid)', 'app.enter_directory(uuid[],text)',
    -- Enters with a calendar link, and restores the context that was there before.
    'app.read_calendar(uuid,bytea)',
    -- An operator chooses the club or the member, and restores the context that was there before.
    'app.lock_club(uuid)', 'app.leave_as_operator(jsonb)', 'app.provision_club(text,text,text,uuid)',
    'app.forget_club(uuid,interval)', 'app.erase_member(uuid,uuid)',
    -- Set the club of the recorder's floor.
    'app.record_event()', 'app.number_events()', 'app.oldest_event()',
    -- Resets the context to read what the server presets, and restores it.
    'audit.preset_context()',
    -- Has its name in a pattern.
    'audit.reads_outside(text)'
  ]),
  ('\mset_config\(''(?!app\.)', '{}'),
  ('\m(pg_(read_(binary_)?file|stat_file|ls_\w+|reload_conf|(terminate|cancel)_backend|logical_\w+|stat_reset\w*|authid|shadow|largeobject)\M|lo_\w+\(|dblink)', '{}'),
  ('(update|insert into|delete from) pg_catalog\.', '{}'),
  ('(^|;|\m(then|else|begin|loop)\M)\s*(set|reset|alter|create|drop|grant|revoke|truncate|copy|discard|load|do|security)\s', '{}')
)
select function, 'it has ' || trim(found[1], E' \n;')
from written
cross join forbidden
cross join lateral regexp_match(code, format('(%s)', pattern), 'i') as found
where found is not null and function <> all (exceptions);

-- sqlstate: Each error that a function raises has an SQLSTATE for its reason: the service responds by it (errors.ts). The comment of the
-- function explains it, for callers in SQL.
-- finds: create or replace function app.stamp_shift() returns trigger language plpgsql as $$ begin raise exception using errcode = 'SH999'; end $$
-- finds: create or replace function app.stamp_shift() returns trigger language plpgsql as $$ begin raise 'full'; end $$
-- finds: create or replace function app.stamp_shift() returns trigger language plpgsql as $$ begin raise unique_violation; end $$
-- finds: create or replace function app.stamp_shift() returns trigger language plpgsql as $$ begin assert false; end $$
select function, coalesce('its comment does not explain ' || raised[1], 'it raises without errcode = ''…''')
from audit.functions
cross join lateral regexp_matches(
  -- Comments are left out. RAISE alone raises an error again that was caught.
  regexp_replace(body, '--[^\n]*', '', 'g'), '\m(?:raise|assert)\M(?!;)(?:\s+exception using\s+errcode = ''(\w+)'')?', 'gi'
) as raised
where ours and language = 'plpgsql' and (raised[1] is null or coalesce(comment, '') !~ raised[1]);
