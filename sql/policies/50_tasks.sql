-- Tasks: a five-state workflow.
--
-- app.task_states and app.task_transitions define the workflow; the trigger function app.guard_task enforces it for
-- every statement, raw SQL included. The trigger also writes the columns that no caller may write: the version (plus
-- one for each change), the time of the change and of completion. A task is Open exactly when it has no assignee.
--
-- app.patch_task says what a merge patch of the API means, and leaves the rules to the trigger. The detail of their errors is JSON: the
-- caller's member id, for the log of the service, and what the response has in addition.

comment on table app.task_states is 'The states of a task, in order. Reference data, the same for every club.';
comment on table app.task_transitions is 'The allowed changes of state, and who may make each. Reference data, the same for every club.';
comment on column app.task_transitions.performer is 'member: any Member of the club; holder: the assignee or a Manager.';
comment on table app.tasks is 'Tasks of a club.';
comment on column app.tasks.assignee_id is 'Who does the task, or did it. Stays when the member is erased: the club keeps its tasks.';
comment on column app.tasks.created_by_id is 'Who created the task. Stays when the member is erased: the club keeps its tasks.';
comment on column app.tasks.version is 'Increases by one with each change. A request can send the version it read, and is then refused if the task has changed since.';

alter table app.tasks alter column tenant_id set default app.tenant_id();
alter table app.tasks alter column id set default app.new_id();
alter table app.tasks alter column created_by_id set default app.member_id();

grant select on app.task_states, app.task_transitions to club_api;
-- For audit.row_facts. Without USAGE on the schema it reads them by no other way.
grant select on app.task_states, app.task_transitions to club_auditor;
grant select, delete on app.tasks to club_api;
grant insert (title, description, due_at, assignee_id) on app.tasks to club_api;
grant update (title, description, due_at, assignee_id, state) on app.tasks to club_api;
grant delete on app.tasks to club_operator;

alter table app.tasks enable row level security, force row level security;

create policy tasks_floor on app.tasks as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy tasks_floor on app.tasks is 'Only tasks of the club of this transaction are visible and writable.';

create policy tasks_read on app.tasks for select to club_api
  using ((select app.role()) >= 'Member');
comment on policy tasks_read on app.tasks is 'Members and higher roles read tasks; a Viewer reads none.';

create policy tasks_create on app.tasks for insert to club_api
  with check ((select app.role()) >= 'Manager');
comment on policy tasks_create on app.tasks is 'Managers and higher roles create tasks.';

create policy tasks_edit on app.tasks for update to club_api
  using ((select app.role()) >= 'Member') with check ((select app.role()) >= 'Member');
comment on policy tasks_edit on app.tasks is 'Members and higher roles edit tasks; app.guard_task decides which change of state a caller may make.';

create policy tasks_delete on app.tasks for delete to club_api
  using ((select app.role()) >= 'Admin');
comment on policy tasks_delete on app.tasks is 'Only an Admin deletes a task.';

create policy tasks_forget on app.tasks for delete to club_operator
  using (tenant_id = (select app.closed_club_id()));
comment on policy tasks_forget on app.tasks is 'An operator removes the tasks of a closed club.';

create or replace function app.allowed_transitions(from_state text, assignee_id uuid) returns text[]
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(step.to_state order by target.position), '{}')
  from app.task_transitions as step
  join app.task_states as target on target.state = step.to_state
  where step.from_state = allowed_transitions.from_state
    and (
      step.performer = 'member'
      or allowed_transitions.assignee_id = app.member_id()
      or app.role() >= 'Manager'
    )
$$;
comment on function app.allowed_transitions(text, uuid) is
  'The states that this caller may set next, for a task in the given state with the given assignee.';

create or replace function app.guard_task() returns trigger
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  moves boolean;
  assigns boolean;
  allowed text[];
  step jsonb;
begin
  if tg_op = 'INSERT' then
    if exists (select from app.members as m where m.id = new.assignee_id and (m.left_at is not null or m.erased_at is not null)) then
      raise exception using errcode = 'TK007', message = 'the assignee has left or was erased';
    end if;
    new.state := case when new.assignee_id is null then 'Open' else 'Assigned' end;
    return new;
  end if;

  if new is not distinct from old then
    return new;
  end if;

  moves := new.state is distinct from old.state;
  -- A merge of members moves tasks of every state. Its role cannot write the state.
  assigns := new.assignee_id is distinct from old.assignee_id and current_user <> 'club_secretary';
  if moves or assigns then
    allowed := app.allowed_transitions(old.state, old.assignee_id);
    step := jsonb_build_object(
      'memberId', app.member_id(), 'currentState', old.state, 'requestedState', new.state, 'allowedTransitions', allowed);

    if (new.state = 'Open') is distinct from (new.assignee_id is null) then
      raise exception using errcode = 'TK001', message = 'a task is Open exactly when it has no assignee', detail = step;
    end if;
    if assigns and not moves and old.state = 'Done' then
      raise exception using errcode = 'TK001', message = 'a task that is Done keeps its assignee', detail = step;
    end if;
    if moves and not exists (
      select from app.task_transitions as transition
      where transition.from_state = old.state and transition.to_state = new.state
    ) then
      raise exception using errcode = 'TK001', message = format('a task does not go from %s to %s', old.state, new.state), detail = step;
    end if;
    if moves and new.state <> all (allowed) then
      raise exception using errcode = 'TK002', message = format('this caller may not make the step from %s to %s', old.state, new.state), detail = step;
    end if;

    -- Every Member may take an Open task; any other change of the assignee to a member needs a Manager.
    if assigns and new.assignee_id is not null and app.role() < 'Manager' then
      if new.assignee_id <> app.member_id() then
        raise exception using errcode = 'TK003', message = 'only a Manager assigns a task to somebody else', detail = step;
      elsif old.assignee_id is not null then
        raise exception using errcode = 'TK005', message = 'the task is assigned to somebody else', detail = step;
      end if;
    end if;
    if assigns and exists (
      select from app.members as m where m.id = new.assignee_id and (m.left_at is not null or m.erased_at is not null)
    ) then
      raise exception using errcode = 'TK007', message = 'the assignee has left or was erased', detail = step;
    end if;
  end if;

  if old.version = 2147483647 then
    raise exception using
      errcode = 'TK004', message = 'the task has the last version there is', detail = jsonb_build_object('memberId', app.member_id());
  end if;
  if moves then
    new.completed_at := case when new.state = 'Done' then clock_timestamp() end;
  end if;
  new.version := old.version + 1;
  new.updated_at := clock_timestamp();
  return new;
end
$$;
comment on function app.guard_task() is
  'Enforces the workflow on every insert and update of a task; a merge of members moves tasks of every state. Raises the first that applies: TK001 the workflow does not have the change of state or assignee, TK002 this caller may not make it, TK005 the task is assigned to somebody else, TK003 this caller may not assign it, TK007 the assignee has left or was erased, TK004 there is no next version.';

create trigger tasks_guard before insert or update on app.tasks
  for each row when (current_user <> 'club_import') execute function app.guard_task();
comment on trigger tasks_guard on app.tasks is 'Enforces the workflow for every statement of every role, except an import, which writes tasks in the states that they had.';

create trigger tasks_record after insert or update or delete on app.tasks
  for each row when (current_user <> 'club_import') execute function app.record_event('task', 'state, assignee_id, due_at, completed_at', 'description, title', 'assignee_id');
comment on trigger tasks_record on app.tasks is 'Records task.created, task.changed and task.deleted.';

create or replace function app.patch_task(
  task_id uuid, patch jsonb, expected_version integer, if_match text[], out task app.tasks, out assignee_name text)
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  caller constant jsonb := jsonb_build_object('memberId', app.member_id());
  current jsonb;
  patched app.tasks;
begin
  select * into task from app.tasks as t where t.id = task_id;
  if not found then
    raise exception using errcode = 'TK006', message = 'no such task in this club', detail = caller;
  end if;
  current := caller || jsonb_build_object('currentVersion', task.version);
  if not if_match && array['*', format('"%s"', task.version)] then
    raise exception using errcode = 'VE001', message = 'If-Match does not have the current version', detail = current;
  end if;
  if task.version <> expected_version then
    raise exception using errcode = 'TK004', message = 'the task has another version', detail = current;
  end if;

  patched := jsonb_populate_record(task, patch);
  if not patch ? 'state' and patch ? 'assignee_id' then
    patched.state := case when patched.assignee_id is null then 'Open' when task.state = 'Open' then 'Assigned' else task.state end;
  elsif patch ? 'state' and not patch ? 'assignee_id' then
    patched.assignee_id := case when patched.state = 'Open' then null when task.state = 'Open' then app.member_id() else task.assignee_id end;
    -- Assigned without an assignee means that the caller takes the task.
    if patched.state = 'Assigned' and task.state = 'Assigned' and task.assignee_id <> app.member_id() then
      raise exception using errcode = 'TK005', message = 'the task is assigned to somebody else', detail = caller;
    end if;
  end if;

  if patched is distinct from task then
    update app.tasks as t
    set title = patched.title, description = patched.description, due_at = patched.due_at,
        assignee_id = patched.assignee_id, state = patched.state
    where t.id = task_id and t.version = task.version
    returning * into patched;
    if not found then
      -- Another transaction has changed or deleted the task since it was read: this raises TK004 or TK006.
      perform app.patch_task(task_id, patch, task.version, null);
    end if;
    task := patched;
  end if;
  -- Read here, because the calling statement does not see a member who came after it began.
  select member.display_name into assignee_name from app.members as member where member.id = task.assignee_id;
end
$$;
comment on function app.patch_task(uuid, jsonb, integer, text[]) is
  'Changes a task by a JSON Merge Patch (RFC 7396), takes at most one step of the workflow, and returns the task and the name of its assignee. The names of the patch are title, description, due_at, assignee_id and state; others are ignored. Null as version or as tags of If-Match allows every version, as does * among the tags. Raises the first that applies: TK006 no such task, VE001 If-Match has another version, TK004 another version is expected, TK005 the task is assigned to somebody else, then what app.guard_task raises; TK004 too if the task is changed at the same moment.';

grant execute on function app.allowed_transitions(text, uuid) to club_api;
grant execute on function app.patch_task(uuid, jsonb, integer, text[]) to club_api;
