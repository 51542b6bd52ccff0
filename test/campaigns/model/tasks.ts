/** The rules of tasks: the steps of the workflow, who may take them, and merge patches. */
import type { Role } from '../../../src/roles.js';
import { STATES, type State, type Step, stepBetween } from '../../setup/workflow.js';
import { type Caller, reaches, type Task } from './state.js';

/** Whether the workflow has the step, for some caller. */
export const isStep = (from: State, to: State): boolean =>
  ['member', 'holder'].includes(stepBetween(from, to));

/** The states that the caller may set next, in the order of the workflow. */
export function allowedSteps(
  role: Role,
  memberId: string,
  { state, assigneeId }: Pick<Task, 'state' | 'assigneeId'>,
): State[] {
  const isHolder = assigneeId === memberId || reaches(role, 'Manager');
  const own: Step[] = isHolder ? ['member', 'holder'] : ['member'];
  return STATES.filter((to) => own.includes(stepBetween(state, to)));
}

export interface Patch {
  title?: string;
  description?: string | null;
  dueAt?: string | null;
  assigneeId?: string | null;
  state?: State;
  version?: number;
}

type Refusal = { status: number; code: string; details?: Record<string, unknown> };

/** The task after the patch, or the error. */
export function plan({ club, role, member }: Caller, task: Task, patch: Patch): Task | Refusal {
  if (patch.version !== undefined && patch.version !== task.version) {
    return { status: 409, code: 'task_version_conflict', details: { currentVersion: task.version } };
  }
  const named = patch.assigneeId;
  let state = patch.state ?? task.state;
  if (patch.state === undefined && named === null) {
    state = 'Open';
  } else if (patch.state === undefined && named !== undefined && task.state === 'Open') {
    state = 'Assigned';
  }
  let assigneeId = named === undefined ? task.assigneeId : named;
  if (named === undefined && state === 'Open') {
    assigneeId = null;
  } else if (named === undefined && state === 'Assigned' && task.state === 'Open') {
    assigneeId = member.id;
  }

  const isMove = state !== task.state;
  const allowedTransitions = allowedSteps(role, member.id, task);
  const details = { currentState: task.state, requestedState: state, allowedTransitions };
  const disagrees = named !== undefined && (state === 'Open') !== (named === null);
  const unfixes = task.state === 'Done' && assigneeId !== task.assigneeId;
  if (disagrees || unfixes || (isMove && !isStep(task.state, state))) {
    return { status: 422, code: 'invalid_task_transition', details };
  }
  if (isMove && !allowedTransitions.includes(state)) {
    return { status: 403, code: 'task_transition_forbidden' };
  }
  const isNew = assigneeId !== null && assigneeId !== task.assigneeId;
  const isTaking = task.assigneeId === null && assigneeId === member.id;
  if (isNew && !isTaking && !reaches(role, 'Manager')) {
    return assigneeId === member.id
      ? { status: 409, code: 'task_already_assigned' }
      : { status: 403, code: 'task_assign_forbidden' };
  }
  const isTake = patch.state === 'Assigned' && named === undefined;
  if (isTake && task.state === 'Assigned' && task.assigneeId !== member.id) {
    return { status: 409, code: 'task_already_assigned' };
  }
  if (isNew && !club.members.has(assigneeId as string)) {
    return { status: 422, code: 'assignee_not_member' };
  }
  const { title = task.title, description = task.description, dueAt = task.dueAt } = patch;
  return { ...task, title, description, dueAt, assigneeId, state };
}

/** A task in a list. */
export function taskDto({ club }: Pick<Caller, 'club'>, task: Task) {
  const { id, title, state, assigneeId, dueAt, createdAt, updatedAt, version } = task;
  const assigneeName = assigneeId === null ? null : (club.members.get(assigneeId)?.name ?? 'nobody');
  return { id, title, state, assigneeId, assigneeName, dueAt, createdAt, updatedAt, version };
}

/** A task in full. */
export function taskDetailDto(caller: Caller, task: Task) {
  const { description, createdById, completedAt } = task;
  const allowedTransitions = allowedSteps(caller.role, caller.member.id, task);
  const clubId = caller.club.id;
  return { ...taskDto(caller, task), clubId, description, createdById, completedAt, allowedTransitions };
}
