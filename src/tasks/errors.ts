import { Type } from '@sinclair/typebox';
import { CurrentVersion, defineError } from '../errors/problem.js';
import { TASK_ID } from '../examples.js';
import { OneOf } from '../validation/schemas.js';
import { TASK_STATES } from './schemas.js';

const PATCH = `PATCH /api/tasks/${TASK_ID}`;

/** The members of a problem about a step of the workflow. */
const transition = {
  currentState: OneOf(TASK_STATES, { description: 'The state of the task.' }),
  requestedState: OneOf(TASK_STATES, { description: 'The state that was asked for.' }),
  allowedTransitions: Type.Array(OneOf(TASK_STATES), { description: 'The states that you may set now.' }),
};

export const taskTransitionForbidden = defineError({
  code: 'task_transition_forbidden',
  status: 403,
  title: 'Task transition forbidden',
  detail: ({ currentState, requestedState, allowedTransitions }) =>
    `${currentState === undefined ? 'This step' : `The step from ${currentState} to ${requestedState}`} is for the ` +
    `assignee or a Manager, and you are a Member. ${allowedSentence(allowedTransitions)}`,
  meaning: 'The workflow has this step, but only the assignee or a Manager may take a step back.',
  fix: 'Set a state of `allowedTransitions`, or ask the assignee or a Manager to take the task back.',
  sqlState: 'TK002',
  members: transition,
  example: {
    request: PATCH,
    members: { currentState: 'Review', requestedState: 'InProgress', allowedTransitions: ['Done'] },
  },
});

export const taskAssignForbidden = defineError({
  code: 'task_assign_forbidden',
  status: 403,
  title: 'Task assignment forbidden',
  detail:
    'Members can take open tasks for themselves. To assign a task to somebody else you need the role Manager; your role ' +
    'is Member.',
  meaning: 'You tried to assign a task to another member, and your role is lower than Manager.',
  fix: 'Send `{"state":"Assigned"}` to take an open task yourself, or ask a Manager to assign it.',
  sqlState: 'TK003',
  example: { request: PATCH },
});

export const taskNotFound = defineError({
  code: 'task_not_found',
  status: 404,
  title: 'Task not found',
  detail: 'This club has no task with that id. GET /api/tasks lists them.',
  meaning: 'No task of this club has this id: it was deleted, belongs to another club, or never existed.',
  fix: 'Take an id from `GET /api/tasks`, and check that `X-Tenant-Id` is the club you mean.',
  sqlState: 'TK006',
  example: { request: `GET /api/tasks/${TASK_ID}` },
});

export const taskVersionConflict = defineError({
  code: 'task_version_conflict',
  status: 409,
  title: 'Task was changed',
  detail: ({ currentVersion }) =>
    currentVersion === undefined
      ? 'The task has the highest possible version and cannot be changed. Create a new one.'
      : `Somebody changed the task since you read it. Read it again and repeat your change on version ${currentVersion}.`,
  meaning:
    'The `version` you sent is not the current one: your change would overwrite a change that you have not seen. Or, with or ' +
    'without a `version`, somebody changed the task at the same moment.',
  fix:
    'Read the task again, check what has changed, and send your change with its new `version`. That is `currentVersion`, ' +
    'unless somebody has changed the task again.',
  members: { currentVersion: CurrentVersion },
  sqlState: 'TK004',
  example: { request: PATCH, members: { currentVersion: 3 } },
});

export const taskAlreadyAssigned = defineError({
  code: 'task_already_assigned',
  status: 409,
  title: 'Task already assigned',
  detail: 'Somebody else has taken this task. Read it again to see who.',
  meaning:
    'You tried to take the task (`{"state":"Assigned"}`, or as a Member your own id as `assigneeId`), but it is assigned ' +
    'to somebody else.',
  fix: 'Choose another task: `GET /api/tasks?assigneeId=none` lists the open ones. A Manager can reassign this one.',
  sqlState: 'TK005',
  example: { request: PATCH },
});

export const invalidTaskTransition = defineError({
  code: 'invalid_task_transition',
  status: 422,
  title: 'Invalid task transition',
  detail: ({ currentState, requestedState, allowedTransitions }) =>
    `${transitionSentence(currentState, requestedState, allowedTransitions)} ${allowedSentence(allowedTransitions)}`,
  meaning:
    'The workflow is Open → Assigned → InProgress → Review → Done, one step at a time, with steps back before Done. ' +
    'Either it does not have this step, or `assigneeId` does not fit the state: an Open task has no assignee, a task in ' +
    'any other state has one, and a Done task keeps its assignee.',
  fix: 'Take one step of `allowedTransitions`, then the next with another PATCH.',
  sqlState: 'TK001',
  members: transition,
  example: {
    request: PATCH,
    members: { currentState: 'Open', requestedState: 'Done', allowedTransitions: ['Assigned'] },
  },
});

export const assigneeNotMember = defineError({
  code: 'assignee_not_member',
  status: 422,
  title: 'Assignee is not a member',
  detail: '`assigneeId` must be the id of a member of this club. GET /api/members lists them.',
  meaning:
    'No member of this club has this id, or the member has left or was erased. `assigneeId` is not the user id of the identity provider.',
  fix:
    'Take an `id` from `GET /api/members`. A person becomes a member with their first request in the club, ' +
    'or a Manager enters them.',
  constraint: 'tasks_assignee_fkey',
  sqlState: 'TK007',
  example: { request: 'POST /api/tasks' },
});

/** The sentence about an invalid step: the workflow does not have it, or the assignee does not fit it. */
function transitionSentence(current?: string, requested?: string, allowed: readonly string[] = []): string {
  if (current === undefined || requested === undefined) {
    return 'The workflow does not have this step.';
  }
  return current === requested || allowed.includes(requested)
    ? `The assignee does not fit: the task is ${current} and would be ${requested}. An Open task has no assignee, every other task has one, and a Done task keeps its own.`
    : `The task is ${current} and cannot become ${requested} with this request.`;
}

/** The sentence about the states that the caller may set. */
function allowedSentence(allowed: readonly string[] | undefined): string {
  if (allowed === undefined) {
    return 'Read the task again: its `allowedTransitions` lists the states that you may set.';
  }
  return allowed.length === 0 ? 'You may not set another state now.' : `You may set ${allowed.join(' or ')}.`;
}
