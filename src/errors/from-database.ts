import {
  isStatementError,
  QueueFull,
  type RaisedDetail,
  raisedDetail,
  TenantNotFound,
  TestMemberNotFound,
  Unavailable,
  UnsafeDatabase,
} from '../database/errors.js';
import { SQLSTATE } from '../database/sql-states.js';
import { tenantForbidden } from './auth.js';
import type { Catalogue } from './catalogue.js';
import { type ErrorType, Problem } from './problem.js';
import { serviceUnavailable } from './server.js';

/**
 * SQLSTATEs of PostgreSQL for which the response is a 503: they are temporary, or an operator can fix the cause. SQLSTATEs of
 * two letters and three digits are the project's own; the errors of src/errors and of the resources name them.
 */
const UNAVAILABLE = new Set<string>([
  // The database does not match this release: it is older, or was changed by hand.
  SQLSTATE.INVALID_SCHEMA_NAME,
  SQLSTATE.UNDEFINED_COLUMN,
  SQLSTATE.UNDEFINED_FUNCTION,
  SQLSTATE.UNDEFINED_TABLE,
  SQLSTATE.UNDEFINED_OBJECT, // a type, for example
  SQLSTATE.AMBIGUOUS_FUNCTION,
  SQLSTATE.DATATYPE_MISMATCH,
  SQLSTATE.WRONG_OBJECT_TYPE,
  SQLSTATE.GENERATED_ALWAYS, // a column is now a generated column
  SQLSTATE.INVALID_COLUMN_REFERENCE, // the unique index of ON CONFLICT is missing
  // Temporary, or a setting of the operator.
  SQLSTATE.READ_ONLY_SQL_TRANSACTION, // a standby, or a primary during a switchover
  SQLSTATE.INVALID_SQL_STATEMENT_NAME, // a pooler in transaction mode needs DATABASE_PREPARE=off
  SQLSTATE.SERIALIZATION_FAILURE, // after the second attempt
  SQLSTATE.DEADLOCK_DETECTED, // after the second attempt
]);

/**
 * Classes of SQLSTATEs for which the response is a 503: feature not supported (such as with a rule on a table), insufficient
 * resources, program limit exceeded (such as no transaction ids left), object not in prerequisite state, operator
 * intervention (such as statement_timeout), system error, internal error (such as corrupted data).
 */
const UNAVAILABLE_CLASSES = ['0A', '53', '54', '55', '57', '58', 'XX'];

/**
 * The routine in which PostgreSQL rejects a row by a policy. The routes check rights before that, so this is a bug; a
 * missing privilege, which has the same SQLSTATE, is not.
 */
const BY_POLICY = 'ExecWithCheckOptions';

/** The foreign key from each table to app.clubs: the club was removed while the request ran. */
const TO_CLUB = /_club_fkey$/;

/** The foreign keys to app.members: with X-Test-UserId, the member was deleted while the request ran. */
const TO_MEMBER = /_(member|created_by|recorded_by)_fkey$/;

const UNKNOWN_OUTCOME =
  'The connection to the database was lost, so it is unknown whether the change was made. With the same Idempotency-Key or ' +
  'version, try again after the seconds in Retry-After; without one, look first whether it was made.';

/** A singleton: creating an error per rejected request is measurable in an overload. */
const QUEUE_FULL_PROBLEM = new Problem(serviceUnavailable, {
  detail: 'The queue for the database is full. Try again after the seconds in Retry-After.',
});

/**
 * The problem for an error of the database; undefined when the error is a bug.
 *
 * Message, detail and hint of PostgreSQL never reach a caller. From the detail of an error that a function of the service raised,
 * the members that the error type declares do.
 */
export function problemFromDatabase(error: unknown, catalogue: Catalogue): Problem | undefined {
  if (error instanceof TenantNotFound) {
    return new Problem(tenantForbidden);
  }
  if (error instanceof TestMemberNotFound) {
    return new Problem(tenantForbidden, {
      detail: 'X-Test-UserId names no member of this club. GET /api/members without the header lists them.',
    });
  }
  if (error instanceof QueueFull) {
    return QUEUE_FULL_PROBLEM;
  }
  if (error instanceof Unavailable) {
    return error.committed === 'unknown'
      ? new Problem(serviceUnavailable, { detail: UNKNOWN_OUTCOME }, { committed: 'unknown' })
      : new Problem(serviceUnavailable);
  }
  if (error instanceof UnsafeDatabase) {
    return new Problem(serviceUnavailable);
  }
  if (!isStatementError(error)) {
    return undefined;
  }
  if (error.code === SQLSTATE.INSUFFICIENT_PRIVILEGE && error.routine !== BY_POLICY) {
    return new Problem(serviceUnavailable);
  }
  const { code, constraint_name: constraint = '' } = error;
  if (code === SQLSTATE.FOREIGN_KEY_VIOLATION && TO_CLUB.test(constraint)) {
    return new Problem(tenantForbidden);
  }
  const raised = catalogue.ofSqlState(code);
  if (raised !== undefined) {
    const members = membersOf(raised, raisedDetail(error));
    const detail = raised.detailBySqlState?.[code]?.(members);
    return new Problem(raised, detail === undefined ? members : { ...members, detail });
  }
  const violated = catalogue.ofConstraint(constraint);
  const isUnavailable =
    UNAVAILABLE.has(code) ||
    UNAVAILABLE_CLASSES.includes(code.slice(0, 2)) ||
    (code === SQLSTATE.FOREIGN_KEY_VIOLATION && TO_MEMBER.test(constraint));
  return violated === undefined && !isUnavailable ? undefined : new Problem(violated ?? serviceUnavailable);
}

/** The members of a problem that the function added to its error. PostgreSQL writes times as `…+00:00`. */
function membersOf({ members = {} }: ErrorType, detail: RaisedDetail): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(detail)
      .filter(([name]) => Object.hasOwn(members, name))
      .map(([name, value]) => [
        name,
        members[name]?.format === 'date-time' ? String(value).replace('+00:00', 'Z') : value,
      ]),
  );
}
