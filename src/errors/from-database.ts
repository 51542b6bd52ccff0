import {
  isStatementError,
  QUEUE_FULL,
  TenantNotFound,
  Unavailable,
  UnsafeDatabase,
} from '../database/errors.js';
import type { Code } from './catalogue.js';
import { Problem } from './problem.js';

/**
 * What SQL raises, by SQLSTATE. Those of two letters and three digits are the project's own, one for each
 * reason; the functions in `sql/policies` say which they raise. The rest are PostgreSQL's.
 */
const bySqlState: Record<string, Code> = {
  SH001: 'shift_not_found',
  SH002: 'shift_in_past',
  SH003: 'already_signed_up',
  SH004: 'shift_full',
  SH005: 'signup_not_found',
  ID001: 'idempotency_key_reused',
  TK001: 'invalid_task_transition',
  TK002: 'task_transition_forbidden',
  TK003: 'task_assign_forbidden',
  '3F000': 'service_unavailable', // no such schema: the database is not as this release needs it, older or changed by hand
  '42703': 'service_unavailable', // nor such a column
  '42883': 'service_unavailable', // nor such a function
  '42P01': 'service_unavailable', // nor such a table
  '42704': 'service_unavailable', // nor such a type, or another object
  '42725': 'service_unavailable', // several such functions
  '42804': 'service_unavailable', // a column of another type
  '42809': 'service_unavailable', // an object of another kind
  '428C9': 'service_unavailable', // a column that has become a generated one
  '42P10': 'service_unavailable', // the unique index of ON CONFLICT is gone
  '25006': 'service_unavailable', // read-only: a standby, or a primary that is being moved
  '26000': 'service_unavailable', // a prepared statement is gone: a pooler in transaction mode needs DATABASE_PREPARE=off
  '40001': 'service_unavailable', // serialization failure, after the second attempt
  '40P01': 'service_unavailable', // deadlock, after the second attempt
  '55P03': 'service_unavailable', // lock_timeout
  '57014': 'service_unavailable', // statement_timeout
};

/**
 * Whole classes: not supported, as with a rule that somebody made; no resources left; a limit of PostgreSQL, as when
 * transaction ids have run out; not in the state for it; operator intervention; system errors; corrupt data.
 */
const byClass: Record<string, Code> = {
  '0A': 'service_unavailable',
  '53': 'service_unavailable',
  '54': 'service_unavailable',
  '55': 'service_unavailable',
  '57': 'service_unavailable',
  '58': 'service_unavailable',
  XX: 'service_unavailable',
};

const NO_PRIVILEGE = '42501';
/**
 * Where PostgreSQL refuses a row by a policy. The guards of the routes answer before that, so it is a bug; a right that
 * somebody has taken away, which has the same SQLSTATE, is not.
 */
const BY_POLICY = 'ExecWithCheckOptions';

/** What constraints refuse that no earlier check can see for certain, by the constraint's name. */
const byConstraint: Record<string, Code> = {
  tasks_assignee_fkey: 'assignee_not_member',
  shifts_capacity_holds_signups: 'capacity_below_signups',
};

/** Made once: in an overload refusing is the work. */
const TOO_MUCH = new Problem('service_unavailable', {
  detail: 'More is asked for in this club than can be answered. Try again after the time in Retry-After.',
});

/**
 * The problem that a failure of the database means to the caller; undefined when it is a bug.
 *
 * The database's own message, detail and hint never reach a caller.
 */
export function problemFromDatabase(error: unknown): Problem | undefined {
  if (error instanceof TenantNotFound) {
    return new Problem('tenant_forbidden');
  }
  if (error === QUEUE_FULL) {
    return TOO_MUCH;
  }
  if (error instanceof Unavailable || error instanceof UnsafeDatabase) {
    return new Problem('service_unavailable');
  }
  if (!isStatementError(error)) {
    return undefined;
  }
  if (error.code === NO_PRIVILEGE && error.routine !== BY_POLICY) {
    return new Problem('service_unavailable');
  }
  const code =
    bySqlState[error.code] ?? byConstraint[error.constraint_name ?? ''] ?? byClass[error.code.slice(0, 2)];
  return code && new Problem(code);
}
