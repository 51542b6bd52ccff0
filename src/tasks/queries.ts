import { type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import type { CreateTaskRequest, TaskDetailDto, TaskListDto, TaskState } from './schemas.js';

const PAGE = 100;

/** What an update may write; the version, the times and the completion are the trigger's. */
export type TaskChanges = Pick<TaskDetailDto, 'title' | 'description' | 'dueAt' | 'assigneeId' | 'state'>;

const listed: Statement = sql`
  task.id, task.title, task.state, task.assignee_id, assignee.display_name as assignee_name,
  task.due_at, task.created_at, task.updated_at, task.version`;

const withAssignee: Statement = sql`
  left join app.members as assignee on assignee.tenant_id = task.tenant_id and assignee.id = task.assignee_id`;

/** Tasks in full, from app.tasks or from what a statement has just written. */
const detailed = (source: Statement): Statement => sql`
  select
    ${listed}, task.tenant_id as club_id, task.description, task.created_by_id, task.completed_at,
    app.allowed_transitions(task.state, task.assignee_id) as allowed_transitions
  from ${source} as task ${withAssignee}`;

/** The tasks of the club, the newest first. */
export function listTasks(tx: Transaction): Promise<TaskListDto[]> {
  return tx.query(sql`
    select ${listed} from app.tasks as task ${withAssignee}
    order by task.created_at desc, task.id desc limit ${PAGE}`);
}

export async function findTask(tx: Transaction, id: string): Promise<TaskDetailDto | undefined> {
  const [task] = await tx.query<TaskDetailDto>(sql`${detailed(sql`app.tasks`)} where task.id = ${id}`);
  return task;
}

/** The trigger gives the task its state: Assigned when somebody is named, Open otherwise. */
export async function insertTask(tx: Transaction, task: CreateTaskRequest): Promise<TaskDetailDto> {
  const [created] = await tx.query<TaskDetailDto>(sql`
    with created as (
      insert into app.tasks (title, description, due_at, assignee_id)
      values (${task.title}, ${task.description ?? null}, ${task.dueAt ?? null}, ${task.assigneeId ?? null})
      returning *
    ) ${detailed(sql`created`)}`);
  return created as TaskDetailDto;
}

/** Writes the task where its version is still the one that was read; undefined when it is not. */
export async function updateTask(
  tx: Transaction,
  read: Pick<TaskDetailDto, 'id' | 'version'>,
  changes: TaskChanges,
): Promise<TaskDetailDto | undefined> {
  const [updated] = await tx.query<TaskDetailDto>(sql`
    with updated as (
      update app.tasks
      set title = ${changes.title}, description = ${changes.description}, due_at = ${changes.dueAt},
          assignee_id = ${changes.assigneeId}, state = ${changes.state}
      where id = ${read.id} and version = ${read.version}
      returning *
    ) ${detailed(sql`updated`)}`);
  return updated;
}

/** Whether the workflow has this step, for anybody. */
export async function isStep(tx: Transaction, from: TaskState, to: TaskState): Promise<boolean> {
  const rows = await tx.query(sql`
    select from app.task_transitions where from_state = ${from} and to_state = ${to}`);
  return rows.length > 0;
}

export async function findVersion(tx: Transaction, id: string): Promise<number | undefined> {
  const [task] = await tx.query<{ version: number }>(sql`select version from app.tasks where id = ${id}`);
  return task?.version;
}

/** The version of a task that nobody changes until this transaction ends. */
export async function lockVersion(tx: Transaction, id: string): Promise<number | undefined> {
  const [task] = await tx.query<{ version: number }>(
    sql`select version from app.tasks where id = ${id} for update`,
  );
  return task?.version;
}

export async function deleteTask(tx: Transaction, id: string): Promise<void> {
  await tx.query(sql`delete from app.tasks where id = ${id}`);
}
