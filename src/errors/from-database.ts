import {
  isStatementError,
  QUEUE_FULL,
  TenantNotFound,
  Unavailable,
  UnsafeDatabase,
} from '../database/errors.js';
import { tenantForbidden } from './auth.js';
import type { Catalogue } from './catalogue.js';
import { serviceUnavailable } from './fault.js';
import { Problem } from './problem.js';

/**
 * SQLSTATEs of PostgreSQL that pass, or that an operator can do something about. Those of two letters and three digits are
 * the project's own: the errors of the resources name theirs.
 */
const UNAVAILABLE = new Set([
  '3F000', // no such schema: the database is not as this release needs it, older or changed by hand
  '42703', // nor such a column
  '42883', // nor such a function
  '42P01', // nor such a table
  '42704', // nor such a type, or another object
  '42725', // several such functions
  '42804', // a column of another type
  '42809', // an object of another kind
  '428C9', // a column that has become a generated one
  '42P10', // the unique index of ON CONFLICT is gone
  '25006', // read-only: a standby, or a primary that is being moved
  '26000', // a prepared statement is gone: a pooler in transaction mode needs DATABASE_PREPARE=off
  '40001', // serialization failure, after the second attempt
  '40P01', // deadlock, after the second attempt
  '55P03', // lock_timeout
  '57014', // statement_timeout
]);

/**
 * Whole classes: not supported, as with a rule that somebody made; no resources left; a limit of PostgreSQL, as when
 * transaction ids have run out; not in the state for it; operator intervention; system errors; corrupt data.
 */
const UNAVAILABLE_CLASSES = ['0A', '53', '54', '55', '57', '58', 'XX'];

const NO_PRIVILEGE = '42501';
/**
 * Where PostgreSQL refuses a row by a policy. The guards of the routes answer before that, so it is a bug; a right that
 * somebody has taken away, which has the same SQLSTATE, is not.
 */
const BY_POLICY = 'ExecWithCheckOptions';

/** Made once: in an overload refusing is the work. */
const TOO_MUCH = new Problem(serviceUnavailable, {
  detail: 'More is asked for in this club than can be answered. Try again after the time in Retry-After.',
});

/**
 * The problem that a failure of the database means to the caller; undefined when it is a bug.
 *
 * The database's own message, detail and hint never reach a caller.
 */
export function problemFromDatabase(error: unknown, catalogue: Catalogue): Problem | undefined {
  if (error instanceof TenantNotFound) {
    return new Problem(tenantForbidden);
  }
  if (error === QUEUE_FULL) {
    return TOO_MUCH;
  }
  if (error instanceof Unavailable || error instanceof UnsafeDatabase) {
    return new Problem(serviceUnavailable);
  }
  if (!isStatementError(error)) {
    return undefined;
  }
  if (error.code === NO_PRIVILEGE && error.routine !== BY_POLICY) {
    return new Problem(serviceUnavailable);
  }
  const { code, constraint_name: constraint } = error;
  const type = catalogue.ofSqlState(code) ?? catalogue.ofConstraint(constraint);
  const isUnavailable = UNAVAILABLE.has(code) || UNAVAILABLE_CLASSES.includes(code.slice(0, 2));
  return type === undefined && !isUnavailable ? undefined : new Problem(type ?? serviceUnavailable);
}
