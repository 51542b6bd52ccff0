import type { History, Kind, Operation } from '../history.js';
import { type Accuse, tell } from './verdict.js';

/** How long after a fault the service may still refuse. */
export const GRACE_MS = 1_000;
/** No request after the storm takes longer. */
const FULL_SPEED_MS = 2_000;

const TASK_WRITE = ['task_not_found', 'task_version_conflict'];
/** What each request may be refused with; all of them are legal requests. */
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

/** Every answer is one that this request can have, in time; a refusal to serve has a fault for its reason. */
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

/** Nothing of a club is seen in another, or lies there. */
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
