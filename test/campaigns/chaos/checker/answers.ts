import type { History, Kind, Operation } from '../history.js';
import { type Accuse, tell } from './verdict.js';

/** How long after a fault an error is still allowed. */
export const GRACE_MS = 1_000;
/** The longest time of a request after the faults. */
const FULL_SPEED_MS = 2_000;

const TASK_WRITE = ['task_not_found', 'task_version_conflict'];
/** The allowed errors of each request; all requests are valid. */
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
  'list members': [],
};

/** Checks that every answer is allowed for its request and in time, and that every 5xx has a fault as its cause. */
export function checkAnswers(
  { operations, faults, crashes, failedDeploys, recovery }: History,
  accuse: Accuse,
): void {
  const hadReason = ({ called, returned }: Operation) =>
    faults.some(({ from, to }) => from <= returned && called <= to + GRACE_MS);
  for (const operation of operations) {
    const { kind, status, code, failure, retryAfter } = operation;
    if (failure === 'patience ran out') {
      accuse('anomalies', `a hang: ${tell(operation)}`);
    } else if (failure === 'broken' && !hadReason(operation)) {
      accuse('anomalies', `a connection that breaks without a reason: ${tell(operation)}`);
    } else if (status !== null && status >= 500) {
      if (status !== 503 || !retryAfter || !hadReason(operation)) {
        accuse('unexpected-5xx', tell(operation));
      }
    } else if (status !== null && status >= 300 && !REFUSALS[kind].includes(code ?? '')) {
      accuse('anomalies', `a refusal out of turn: ${tell(operation)}`);
    }
  }
  for (const crash of crashes) {
    accuse('crashes', crash);
  }
  for (const failure of failedDeploys) {
    accuse('anomalies', failure);
  }
  const { poolSize, sessions, usable, refused, slowestMs } = recovery;
  if (sessions > poolSize) {
    accuse('anomalies', `${sessions} sessions of ${poolSize} are left`);
  }
  if (usable !== poolSize) {
    accuse('anomalies', `${usable} slots of ${poolSize} can be had`);
  }
  if (slowestMs > FULL_SPEED_MS) {
    accuse('anomalies', `a request after the storm took ${Math.round(slowestMs)} ms`);
  }
  for (const refusal of refused) {
    accuse('anomalies', `after the storm: ${refusal}`);
  }
}

/** Checks that no data of a club is in another club's answers or rows. */
export function checkTenants({ operations, finalState }: History, accuse: Accuse): void {
  for (const operation of operations) {
    if (operation.strangers.length > 0) {
      accuse('foreign', `${tell(operation)} shows ${operation.strangers.join(', ')}`);
    }
  }
  for (const { id, strangers } of [...finalState.tasks, ...finalState.shifts]) {
    if (strangers.length > 0) {
      accuse('foreign', `the row ${id} holds ${strangers.join(', ')}`);
    }
  }
  for (const stranger of finalState.strangers) {
    accuse('foreign', stranger);
  }
}
