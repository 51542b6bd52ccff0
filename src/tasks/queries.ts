import type { Json } from '../database/json.js';
import { asJson, bounded, contains, joinValues, type Query, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import { type Listed, type Order, type Page, pageClause, sortKey } from '../resource/pagination.js';
import type {
  CreateTaskRequest,
  TASK_SORTS,
  TaskDetailDto,
  TaskListDto,
  TaskListQuery,
  UpdateTaskRequest,
} from './schemas.js';

/** A subquery per row costs the same in a club of any size; the plan of a join depends on the size of the average club. */
const assigneeName: Statement = sql`(
    select assignee.display_name from app.members as assignee
    where assignee.tenant_id = task.tenant_id and assignee.id = task.assignee_id
  )`;

const columns = (name: Statement): Statement => sql`
  task.id, task.title, task.state, task.assignee_id as "assigneeId", ${name} as "assigneeName",
  task.due_at as "dueAt", task.created_at as "createdAt", task.updated_at as "updatedAt", task.version`;

/** The columns of tasks in lists, from rows named task. */
export const listed = columns(assigneeName);

/** All columns of tasks, from app.tasks or from the rows that a statement has written. */
const detailed = (source: Statement, name = assigneeName): Statement => sql`
  select
    ${columns(name)}, task.tenant_id as "clubId", task.description, task.created_by_id as "createdById",
    task.completed_at as "completedAt",
    app.allowed_transitions(task.state, task.assignee_id) as "allowedTransitions"
  from ${source} as task`;

/**
 * dueAt as the index has it: a task without it comes after all others. CASE and not coalesce, which is not leakproof:
 * under row-level security its condition would use no index.
 */
const dueAt: Statement = sql`case when task.due_at is null then 'infinity' else task.due_at end`;

/** The sort orders of tasks. */
export const taskOrders: Record<(typeof TASK_SORTS)[number], Order> = {
  createdAt: { column: sql`task.created_at`, kind: 'instant', field: 'createdAt' },
  updatedAt: { column: sql`task.updated_at`, kind: 'instant', field: 'updatedAt' },
  dueAt: { column: dueAt, kind: 'instant' },
  title: { column: sql`task.title`, kind: 'text', field: 'title' },
};

/** A page of the club's tasks. */
export function listTasks(query: TaskListQuery, page: Page): Query<Listed<TaskListDto>> {
  const list = sql`
    select ${listed}${sortKey(page)} from app.tasks as task ${pageClause(page, sql`task.id`, conditions(query, page.order))}`;
  return bounded(list, isIndexed(query));
}

/**
 * Whether an index bounds the rows that a list reads: no filter in any order, or one state or the assignee in the default
 * order. No index gives several states in one order, or combines a state and an assignee.
 */
function isIndexed({ dueBefore, dueAfter, q, state, assigneeId, sort }: TaskListQuery): boolean {
  const filters = [dueBefore, dueAfter, q, state, assigneeId].filter((value) => value !== undefined);
  const isDefaultOrder = sort === undefined || sort === '-createdAt' || sort === 'createdAt';
  const isOneKey = filters.length === 1 && (assigneeId !== undefined || state?.length === 1);
  return filters.length === 0 || (isDefaultOrder && isOneKey);
}

function conditions({ state, assigneeId, dueBefore, dueAfter, q }: TaskListQuery, order: Order): Statement[] {
  const all: Statement[] = [];
  if (state !== undefined) {
    all.push(sql`task.state in (${joinValues(state)})`);
  }
  if (assigneeId === 'none') {
    // The same tasks (tasks_open_without_assignee), which an index has in order. IS NULL, and a constant, may sort those of the club.
    all.push(sql`task.state = ${'Open'}`);
  } else if (assigneeId !== undefined) {
    all.push(
      assigneeId === 'me'
        ? sql`task.assignee_id = (select app.member_id())`
        : sql`task.assignee_id = ${assigneeId}`,
    );
  }
  // In the order of dueAt the index finds the window; in another order it would have to be sorted.
  const due = order === taskOrders.dueAt ? dueAt : sql`task.due_at`;
  if (dueBefore !== undefined) {
    all.push(sql`${due} < ${dueBefore}`);
  }
  if (dueAfter !== undefined) {
    all.push(sql`${due} > ${dueAfter} and ${due} < 'infinity'`);
  }
  if (q !== undefined) {
    all.push(contains(sql`task.title`, q));
  }
  return all;
}

/** A task with all its columns and the states that this caller may set. */
export function findTask(id: string): Query<TaskDetailDto> {
  return bounded(sql`${detailed(sql`app.tasks`)} where task.id = ${id}`);
}

/** Creates a task. A trigger sets its state: Assigned with an assignee, Open without. */
export async function insertTask(tx: Transaction, task: CreateTaskRequest): Promise<Json<TaskDetailDto>> {
  const [created] = await tx.json<TaskDetailDto>(sql`
    with created as (
      insert into app.tasks (title, description, due_at, assignee_id)
      values (${task.title}, ${task.description ?? null}, ${task.dueAt ?? null}, ${task.assigneeId ?? null})
      returning *
    ) ${asJson(detailed(sql`created`))}`);
  return created as Json<TaskDetailDto>;
}

/**
 * Changes a task by a merge patch, if its version is the one in the patch and has one of the tags of If-Match. app.patch_task and the
 * trigger of the table have the rules of the workflow and the order of errors.
 */
export function patchTask(
  id: string,
  patch: UpdateTaskRequest,
  ifMatch: string[] | null,
): Query<TaskDetailDto> {
  const { version = null, dueAt, assigneeId, ...others } = patch;
  // An absent field is undefined, which JSON.stringify leaves out.
  const changes = JSON.stringify({ ...others, due_at: dueAt, assignee_id: assigneeId });
  const patched = sql`(
    select (patched.task).*, patched.assignee_name from app.patch_task(${id}, ${changes}, ${version}, ${ifMatch}) as patched
  )`;
  return detailed(patched, sql`task.assignee_name`);
}

/** Locks a task until this transaction ends and returns its version. */
export async function lockTask(tx: Transaction, id: string): Promise<{ version: number } | undefined> {
  const [task] = await tx.query<{ version: number }>(
    sql`select version from app.tasks where id = ${id} for update`,
  );
  return task;
}

/** Deletes a task. */
export async function deleteTask(tx: Transaction, id: string): Promise<void> {
  await tx.query(sql`delete from app.tasks where id = ${id}`);
}
