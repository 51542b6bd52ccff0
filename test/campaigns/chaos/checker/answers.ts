import type { History, Kind, Operation } from '../history.js';
import { describe, type Report } from './verdict.js';

/** How long after a fault an error is still allowed. */
export const GRACE_MS = 1_000;

const TASK_WRITE = ['task_not_found', 'task_version_conflict'];
/** The allowed errors of each request, besides those of members who have left; all requests are valid. */
const REFUSALS: Record<Kind, string[]> = {
  'create task': ['idempotency_in_progress'],
  'patch task': [
    ...TASK_WRITE,
    'task_already_assigned',
    'invalid_task_transition',
    'task_transition_forbidden',
  ],
  'delete task': ['task_not_found'],
  'read task': ['task_not_found'],
  'list tasks': [],
  'create shift': ['idempotency_in_progress'],
  'put shift': ['shift_not_found', 'shift_version_conflict', 'capacity_below_signups'],
  'delete shift': ['shift_not_found'],
  'read shift': ['shift_not_found'],
  'list shifts': [],
  'sign up': ['shift_not_found', 'shift_full', 'already_signed_up', 'idempotency_in_progress'],
  cancel: ['shift_not_found', 'signup_not_found'],
  'read signup': ['shift_not_found', 'signup_not_found'],
  assign: ['shift_not_found', 'member_not_found', 'shift_full'],
  unassign: ['shift_not_found', 'signup_not_found'],
  wait: [
    'shift_not_found',
    'shift_not_full',
    'already_signed_up',
    'already_waiting',
    'idempotency_in_progress',
  ],
  'stop waiting': ['shift_not_found', 'wait_not_found'],
  'read wait': ['shift_not_found', 'wait_not_found'],
  'assign wait': ['shift_not_found', 'member_not_found', 'shift_not_full', 'already_signed_up'],
  'remove wait': ['shift_not_found', 'wait_not_found'],
  'read waits': ['shift_not_found'],
  'list members': [],
  'end membership': [],
  'renew membership': [],
  'enter member': [],
  merge: ['merge_target_invalid', 'attendance_conflict', 'member_in_use', 'idempotency_in_progress'],
  record: ['shift_not_found', 'attendance_version_conflict'],
  'remove record': ['shift_not_found', 'attendance_not_found'],
  'read record': ['shift_not_found', 'attendance_not_found'],
  'list attendance': [],
  'list hours': [],
};

const isAllowed = (kind: Kind, code = '') => code === 'membership_ended' || REFUSALS[kind].includes(code);

/** Checks that every response is allowed for its request and in time, and that every 5xx has a fault as its cause. */
export function checkAnswers(
  { operations, faults, crashes, failedDeploys, recovery }: History,
  report: Report,
): void {
  const hadReason = ({ called, returned }: Operation) =>
    faults.some(({ from, to }) => from <= returned && called <= to + GRACE_MS);
  for (const operation of operations) {
    const { kind, status, code, failure, retryAfter } = operation;
    if (failure === 'patience ran out') {
      report('anomalies', `a hang: ${describe(operation)}`);
    } else if (failure === 'broken' && !hadReason(operation)) {
      report('anomalies', `a connection that breaks without a reason: ${describe(operation)}`);
    } else if (status !== null && status >= 500) {
      if (status !== 503 || !retryAfter || !hadReason(operation)) {
        report('unexpected-5xx', describe(operation));
      }
    } else if (status !== null && status >= 300 && !isAllowed(kind, code)) {
      report('anomalies', `a refusal out of turn: ${describe(operation)}`);
    }
  }
  for (const crash of crashes) {
    report('crashes', crash);
  }
  for (const failure of failedDeploys) {
    report('anomalies', failure);
  }
  if (recovery === undefined) {
    return;
  }
  const { poolSize, sessions, usable, refused } = recovery;
  if (sessions > poolSize) {
    report('anomalies', `${sessions} sessions of ${poolSize} are left`);
  }
  if (usable !== poolSize) {
    report('anomalies', `${usable} slots of ${poolSize} can be had`);
  }
  for (const refusal of refused) {
    report('anomalies', `after the faults: ${refusal}`);
  }
}

/** Checks that no data of a club is in another club's responses or rows. */
export function checkTenants({ operations, finalState }: History, report: Report): void {
  for (const operation of operations) {
    if (operation.foreign.length > 0) {
      report('foreign', `${describe(operation)} shows ${operation.foreign.join(', ')}`);
    }
  }
  for (const { id, foreign } of [...finalState.tasks, ...finalState.shifts]) {
    if (foreign.length > 0) {
      report('foreign', `the row ${id} holds ${foreign.join(', ')}`);
    }
  }
  for (const foreigner of finalState.foreign) {
    report('foreign', foreigner);
  }
}
