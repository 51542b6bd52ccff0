-- Tasks: a five-state workflow.
--
-- app.task_states and app.task_transitions are the workflow; app.guard_task, a trigger, holds every statement
-- to it, so the rules stand for raw SQL too. The trigger also keeps what nobody may write: the version (one
-- more for each change), the time of the change, the completion. A task is Open exactly when it has no assignee.

comment on table app.task_states is 'The states of a task, in order. Reference data, the same for every club.';
comment on table app.task_transitions is 'The steps a task may take and who may take them. Reference data, the same for every club.';
comment on column app.task_transitions.performer is 'member: any Member of the club; holder: the assignee or a Manager.';
comment on table app.tasks is 'Tasks of a club.';
comment on column app.tasks.version is 'One more for each change. A writer names the version it read and loses if that has passed.';

alter table app.tasks alter column tenant_id set default app.tenant_id();
alter table app.tasks alter column id set default app.new_id();
alter table app.tasks alter column created_by_id set default app.member_id();

grant select on app.task_states, app.task_transitions to club_api;
grant select, delete on app.tasks to club_api;
grant insert (title, description, due_at, assignee_id) on app.tasks to club_api;
grant update (title, description, due_at, assignee_id, state) on app.tasks to club_api;
grant delete on app.tasks to club_operator;

alter table app.tasks enable row level security, force row level security;

create policy tasks_floor on app.tasks as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy tasks_floor on app.tasks is 'Nobody reaches a task of another club.';

create policy tasks_read on app.tasks for select to club_api
  using ((select app.role()) >= 'Member');
comment on policy tasks_read on app.tasks is 'Tasks are the members'' business; a Viewer sees none.';

create policy tasks_create on app.tasks for insert to club_api
  with check ((select app.role()) >= 'Manager');
comment on policy tasks_create on app.tasks is 'Managers make tasks.';

create policy tasks_edit on app.tasks for update to club_api
  using ((select app.role()) >= 'Member') with check ((select app.role()) >= 'Member');
comment on policy tasks_edit on app.tasks is 'Any Member edits a task; app.guard_task decides which step of the workflow is theirs.';

create policy tasks_delete on app.tasks for delete to club_api
  using ((select app.role()) >= 'Admin');
comment on policy tasks_delete on app.tasks is 'Only an Admin deletes a task.';

create policy tasks_forget on app.tasks for delete to club_operator
  using (tenant_id = (select app.closed_club_id()));
comment on policy tasks_forget on app.tasks is 'With a closed club its tasks are removed.';

create or replace function app.allowed_transitions(from_state text, assignee_id uuid) returns text[]
language sql stable set search_path = ''
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
  'The states that this caller may set next on a task in that state, held by that member.';

create or replace function app.guard_task() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    new.state := case when new.assignee_id is null then 'Open' else 'Assigned' end;
    return new;
  end if;

  if new is not distinct from old then
    return new;
  end if;

  if new.state is distinct from old.state then
    if not exists (
      select from app.task_transitions as step
      where step.from_state = old.state and step.to_state = new.state
    ) then
      raise exception using errcode = 'TK001', message = format('a task does not go from %s to %s', old.state, new.state);
    end if;
    if new.state <> all (app.allowed_transitions(old.state, old.assignee_id)) then
      raise exception using errcode = 'TK002', message = format('the step from %s to %s is not this caller''s', old.state, new.state);
    end if;
    new.completed_at := case when new.state = 'Done' then clock_timestamp() end;
  elsif old.state = 'Done' and new.assignee_id is distinct from old.assignee_id then
    raise exception using errcode = 'TK001', message = 'a task that is Done keeps its assignee';
  end if;

  -- Taking an open task is everybody's; every other change to a person is a Manager's.
  if new.assignee_id is distinct from old.assignee_id and new.assignee_id is not null
     and not (old.assignee_id is null and new.assignee_id = app.member_id())
     and app.role() < 'Manager' then
    raise exception using errcode = 'TK003', message = 'only a Manager assigns a task to somebody else';
  end if;

  if old.version = 2147483647 then
    raise exception using errcode = 'TK004', message = 'the task has the last version there is';
  end if;
  new.version := old.version + 1;
  new.updated_at := clock_timestamp();
  return new;
end
$$;
comment on function app.guard_task() is
  'Holds every insert and update of a task to the workflow. TK001: no such step; TK002: not this caller''s step; TK003: not this caller''s to assign; TK004: there is no next version.';

create trigger tasks_guard before insert or update on app.tasks
  for each row execute function app.guard_task();
comment on trigger tasks_guard on app.tasks is 'The workflow holds for every statement, whoever sends it.';

grant execute on function app.allowed_transitions(text, uuid) to club_api;
