import type { TenantTransaction } from '../database/tenant-context.js';
import { Problem } from '../errors/problem.js';
import { isAtLeast, type Role } from '../roles.js';
import { toInstant } from '../validation/instant.js';
import {
  invalidTaskTransition,
  taskAlreadyAssigned,
  taskAssignForbidden,
  taskTransitionForbidden,
} from './errors.js';
import { isStep, type TaskChanges } from './queries.js';
import type { TaskDetailDto, TaskState, UpdateTaskRequest } from './schemas.js';

/**
 * Computes the changes that a merge patch makes to a task, or throws the reason why it may not.
 *
 * The database defines the steps: `allowedTransitions` has those of this caller, app.task_transitions those of all callers,
 * and a trigger enforces them. This function decides what a patch means and the order of errors: 422 for a step that the
 * workflow does not have, 403 for a step that this caller may not take, then 409.
 *
 * @throws Problem `invalid_task_transition`, `task_transition_forbidden`, `task_assign_forbidden` or
 *   `task_already_assigned`
 */
export async function planUpdate(
  tx: TenantTransaction,
  task: TaskDetailDto,
  patch: UpdateTaskRequest,
  role: Role,
): Promise<TaskChanges> {
  const { memberId } = tx.context;
  const state = requestedState(task, patch);
  const assigneeId = requestedAssignee(task, patch, state, memberId);

  const invalid =
    (state === 'Open') !== (assigneeId === null) || (task.state === 'Done' && assigneeId !== task.assigneeId);
  const moves = state !== task.state;
  const mayMove = task.allowedTransitions.includes(state);
  if (invalid || (moves && !mayMove && !(await isStep(tx, task.state, state)))) {
    throw new Problem(invalidTaskTransition, transitionOf(task, state));
  }
  if (moves && !mayMove) {
    throw new Problem(taskTransitionForbidden, transitionOf(task, state));
  }

  const takes = task.state === 'Open' && assigneeId === memberId;
  const assigns = assigneeId !== null && assigneeId !== task.assigneeId && !takes;
  if (assigns && !isAtLeast(role, 'Manager')) {
    // A caller who names themself wants to take the task, but it is assigned to somebody else.
    throw new Problem(assigneeId === memberId ? taskAlreadyAssigned : taskAssignForbidden);
  }
  // The caller wants to take the task, but it is assigned to somebody else.
  if (patch.state === 'Assigned' && patch.assigneeId === undefined && !moves && assigneeId !== memberId) {
    throw new Problem(taskAlreadyAssigned);
  }

  const { title = task.title, description = task.description, dueAt = task.dueAt } = patch;
  return { title, description, dueAt, assigneeId, state };
}

/** Whether the changes leave the task as it is. */
export function changesNothing(task: TaskDetailDto, changes: TaskChanges): boolean {
  const { title, description, assigneeId, state } = changes;
  return (
    title === task.title &&
    description === task.description &&
    assigneeId === task.assigneeId &&
    state === task.state &&
    // The same instant can have another number of fraction digits.
    toInstant(changes.dueAt ?? '') === toInstant(task.dueAt ?? '')
  );
}

/** The state that the patch asks for, by `state` or by setting or clearing `assigneeId`. */
function requestedState(task: TaskDetailDto, { state, assigneeId }: UpdateTaskRequest): TaskState {
  if (state !== undefined) {
    return state;
  }
  if (assigneeId === null) {
    return 'Open';
  }
  return assigneeId !== undefined && task.state === 'Open' ? 'Assigned' : task.state;
}

/** The assignee that the patch asks for; the step from Open to Assigned without `assigneeId` assigns the caller. */
function requestedAssignee(
  task: TaskDetailDto,
  { assigneeId }: UpdateTaskRequest,
  state: TaskState,
  memberId: string,
): string | null {
  if (assigneeId !== undefined) {
    return assigneeId?.toLowerCase() ?? null;
  }
  if (state === 'Open') {
    return null;
  }
  return task.state === 'Open' ? memberId : task.assigneeId;
}

function transitionOf(task: TaskDetailDto, requested: TaskState) {
  return { currentState: task.state, requestedState: requested, allowedTransitions: task.allowedTransitions };
}
