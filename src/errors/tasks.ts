import { TASK_ID } from '../examples.js';
import { type Refusal, sayAllowed } from './refusal.js';

const PATCH = `PATCH /api/tasks/${TASK_ID}`;

/** Tasks and their workflow. */
export const tasks = {
  task_transition_forbidden: {
    status: 403,
    title: 'Not your step',
    detail: ({ currentState, requestedState, allowedTransitions }) =>
      `${currentState === undefined ? 'This step' : `The step from ${currentState} to ${requestedState}`} is for the ` +
      `assignee or a Manager, and you are a Member. ${sayAllowed(allowedTransitions)}`,
    meaning: 'The workflow has this step, but steps back are for whoever holds the task, and for Managers.',
    fix: 'Set a state of `allowedTransitions`, or ask the assignee or a Manager to take the task back.',
    example: {
      request: PATCH,
      extensions: { currentState: 'Review', requestedState: 'InProgress', allowedTransitions: ['Done'] },
    },
  },
  task_assign_forbidden: {
    status: 403,
    title: 'Not yours to assign',
    detail:
      'Members take open tasks for themselves; to assign a task to somebody else needs the role Manager, and yours is ' +
      'Member.',
    meaning: 'You asked to give a task to another member, or to take one that somebody holds.',
    fix: 'Send `{"state":"Assigned"}` to take an open task yourself, or ask a Manager to assign it.',
    example: { request: PATCH },
  },
  task_not_found: {
    status: 404,
    title: 'Task not found',
    detail: 'This club has no task with that id. GET /api/tasks lists them.',
    meaning: 'No task of this club has the id: it was deleted, it is in another club, or it never was.',
    fix: 'Take an id from `GET /api/tasks`, and check that `X-Tenant-Id` names the club you mean.',
    example: { request: `GET /api/tasks/${TASK_ID}` },
  },
  task_version_conflict: {
    status: 409,
    title: 'Task was changed',
    detail: ({ currentVersion }) =>
      `Somebody changed the task since you read it. Read it again and repeat your change on version ${currentVersion}.`,
    meaning:
      'The `version` you sent is not the current one: your change would have overwritten one you have not seen.',
    fix:
      'Read the task, see what has changed, and send your change with its `version`, which is `currentVersion` unless ' +
      'somebody was faster once more.',
    example: { request: PATCH, extensions: { currentVersion: 3 } },
  },
  task_already_assigned: {
    status: 409,
    title: 'Task already assigned',
    detail: 'Somebody else has taken this task. Read it again to see who.',
    meaning: '`{"state":"Assigned"}` means "I take it", and somebody else holds the task.',
    fix: 'Choose another task: `GET /api/tasks?assigneeId=none` lists the open ones. A Manager can reassign this one.',
    example: { request: PATCH },
  },
  invalid_task_transition: {
    status: 422,
    title: 'Invalid task transition',
    detail: ({ currentState, requestedState, allowedTransitions }) =>
      `${sayStep(currentState, requestedState, allowedTransitions)} ${sayAllowed(allowedTransitions)}`,
    meaning:
      'The workflow is Open → Assigned → InProgress → Review → Done, one step at a time, with steps back before Done. ' +
      'It has no such step, or the `assigneeId` does not fit the state: a task has none exactly while it is Open, and ' +
      'keeps it in Done.',
    fix: 'Take one step of `allowedTransitions`, then the next with another PATCH.',
    example: {
      request: PATCH,
      extensions: { currentState: 'Open', requestedState: 'Done', allowedTransitions: ['Assigned'] },
    },
  },
  assignee_not_member: {
    status: 422,
    title: 'Assignee is no member',
    detail: '`assigneeId` must be the id of a member of this club. GET /api/members lists them.',
    meaning: 'No member of this club has the id in `assigneeId`. It is no user id of the identity provider.',
    fix:
      'Take an `id` from `GET /api/members`. Somebody becomes a member with their first request in the club, so they ' +
      'may have to sign in once.',
    example: { request: 'POST /api/tasks' },
  },
} satisfies Record<string, Refusal>;

/** Why the step is none: there is no such step, or there is and the assignee does not go with it. */
function sayStep(current?: string, requested?: string, allowed: readonly string[] = []): string {
  if (current === undefined || requested === undefined) {
    return 'A task does not take this step.';
  }
  return current === requested || allowed.includes(requested)
    ? `The assignee does not fit: a task has none exactly while it is Open, and this one, now ${current}, would be ${requested}; in Done the assignee is fixed.`
    : `The task is ${current} and cannot become ${requested} like this.`;
}
