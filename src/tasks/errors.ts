import { Type } from '@sinclair/typebox';
import { CurrentVersion, defineError } from '../errors/problem.js';
import { TASK_ID } from '../examples.js';
import { OneOf } from '../validation/schemas.js';
import { TASK_STATES } from './schemas.js';

const PATCH = `PATCH /api/tasks/${TASK_ID}`;

/** Where a task is in its workflow, as members of a problem. */
const transition = {
  currentState: OneOf(TASK_STATES, { description: 'The state of the task.' }),
  requestedState: OneOf(TASK_STATES, { description: 'The state that was asked for.' }),
  allowedTransitions: Type.Array(OneOf(TASK_STATES), { description: 'The states that you may set now.' }),
};

export const taskTransitionForbidden = defineError({
  code: 'task_transition_forbidden',
  status: 403,
  title: 'Not your step',
  detail: ({ currentState, requestedState, allowedTransitions }) =>
    `${currentState === undefined ? 'This step' : `The step from ${currentState} to ${requestedState}`} is for the ` +
    `assignee or a Manager, and you are a Member. ${sayAllowed(allowedTransitions)}`,
  meaning: 'The workflow has this step, but steps back are for whoever holds the task, and for Managers.',
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
  title: 'Not yours to assign',
  detail:
    'Members take open tasks for themselves; to assign a task to somebody else needs the role Manager, and yours is ' +
    'Member.',
  meaning: 'You asked to give a task to another member, or to take one that somebody holds.',
  fix: 'Send `{"state":"Assigned"}` to take an open task yourself, or ask a Manager to assign it.',
  sqlState: 'TK003',
  example: { request: PATCH },
});

export const taskNotFound = defineError({
  code: 'task_not_found',
  status: 404,
  title: 'Task not found',
  detail: 'This club has no task with that id. GET /api/tasks lists them.',
  meaning: 'No task of this club has the id: it was deleted, it is in another club, or it never was.',
  fix: 'Take an id from `GET /api/tasks`, and check that `X-Tenant-Id` names the club you mean.',
  example: { request: `GET /api/tasks/${TASK_ID}` },
});

export const taskVersionConflict = defineError({
  code: 'task_version_conflict',
  status: 409,
  title: 'Task was changed',
  detail: ({ currentVersion }) =>
    currentVersion === undefined
      ? 'The task has the last version there is and cannot be changed. Make a new one.'
      : `Somebody changed the task since you read it. Read it again and repeat your change on version ${currentVersion}.`,
  meaning:
    'The `version` you sent is not the current one: your change would have overwritten one you have not seen.',
  fix:
    'Read the task, see what has changed, and send your change with its `version`, which is `currentVersion` unless ' +
    'somebody was faster once more.',
  members: { currentVersion: CurrentVersion },
  sqlState: 'TK004',
  example: { request: PATCH, members: { currentVersion: 3 } },
});

export const taskAlreadyAssigned = defineError({
  code: 'task_already_assigned',
  status: 409,
  title: 'Task already assigned',
  detail: 'Somebody else has taken this task. Read it again to see who.',
  meaning: '`{"state":"Assigned"}` means "I take it", and somebody else holds the task.',
  fix: 'Choose another task: `GET /api/tasks?assigneeId=none` lists the open ones. A Manager can reassign this one.',
  example: { request: PATCH },
});

export const invalidTaskTransition = defineError({
  code: 'invalid_task_transition',
  status: 422,
  title: 'Invalid task transition',
  detail: ({ currentState, requestedState, allowedTransitions }) =>
    `${sayStep(currentState, requestedState, allowedTransitions)} ${sayAllowed(allowedTransitions)}`,
  meaning:
    'The workflow is Open → Assigned → InProgress → Review → Done, one step at a time, with steps back before Done. ' +
    'It has no such step, or the `assigneeId` does not fit the state: a task has none exactly while it is Open, and ' +
    'keeps it in Done.',
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
  title: 'Assignee is no member',
  detail: '`assigneeId` must be the id of a member of this club. GET /api/members lists them.',
  meaning: 'No member of this club has the id in `assigneeId`. It is no user id of the identity provider.',
  fix:
    'Take an `id` from `GET /api/members`. Somebody becomes a member with their first request in the club, so they ' +
    'may have to sign in once.',
  constraint: 'tasks_assignee_fkey',
  example: { request: 'POST /api/tasks' },
});

/** Why the step is none: there is no such step, or there is and the assignee does not go with it. */
function sayStep(current?: string, requested?: string, allowed: readonly string[] = []): string {
  if (current === undefined || requested === undefined) {
    return 'A task does not take this step.';
  }
  return current === requested || allowed.includes(requested)
    ? `The assignee does not fit: a task has none exactly while it is Open, and this one, now ${current}, would be ${requested}; in Done the assignee is fixed.`
    : `The task is ${current} and cannot become ${requested} like this.`;
}

/** The sentence about what may be done with a task instead. */
function sayAllowed(allowed: readonly string[] | undefined): string {
  if (allowed === undefined) {
    return 'Read the task again: its `allowedTransitions` lists what you may do.';
  }
  return allowed.length === 0
    ? 'There is no step that you may take.'
    : `You may set ${allowed.join(' or ')}.`;
}
