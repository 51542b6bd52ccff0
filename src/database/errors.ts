import postgres from 'postgres';
import { SQLSTATE } from './sql-states.js';

/** An error that an operator can correct: its message is a sentence that says what happened and what to do. */
export class OperatorError extends Error {
  override name = 'OperatorError';
}

/** Why a command or a start failed: a sentence if an operator can correct it, otherwise the error, with its stack. */
export function explain(error: unknown): unknown {
  return error instanceof OperatorError ? error.message : error;
}

/** The database is down, restarting, overloaded or too slow. The request itself is not at fault. */
export class Unavailable extends Error {
  override name = 'Unavailable';

  constructor(
    message: string,
    /** Whether a write was committed: `unknown` when COMMIT or a call was sent and its result never arrived. */
    readonly committed: 'no' | 'unknown' = 'no',
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The connection was lost while a statement was in flight. A read may be sent once more. */
export class ConnectionLost extends Unavailable {
  override name = 'ConnectionLost';

  constructor(cause: Error) {
    super('The connection to the database was lost.', 'no', { cause });
  }
}

/** A connection returned the result of another request. It is destroyed. */
export class WrongResult extends Unavailable {
  override name = 'WrongResult';

  constructor() {
    super('The connection to the database returned the result of another request.');
  }
}

/** The tenant's queue is full. */
export class QueueFull extends Unavailable {
  override name = 'QueueFull';

  constructor() {
    super('The queue of this tenant for the database is full.');
  }
}

/** The tenant does not exist or is closed. */
export class TenantNotFound extends Error {
  override name = 'TenantNotFound';
}

/** The tenant has no member of the id in X-Test-UserId. */
export class TestMemberNotFound extends Error {
  override name = 'TestMemberNotFound';
}

/** Row-level security does not apply to the login or the database, so the service does not use it. */
export class UnsafeDatabase extends OperatorError {
  override name = 'UnsafeDatabase';
}

/** The login lacks the privileges of the service. */
export class WrongLogin extends Error {
  override name = 'WrongLogin';
}

/** The server is a standby, where every write fails. */
export class Standby extends Unavailable {
  override name = 'Standby';

  constructor(message = 'The server is a standby. DATABASE_URL must lead to the primary.') {
    super(message);
  }
}

/** Whether a statement failed and the session remains usable: an error of severity ERROR. */
export function isStatementError(error: unknown): error is postgres.PostgresError {
  return error instanceof postgres.PostgresError && error.severity === 'ERROR';
}

/** The detail of an error that a function of the service raised: the id of the caller's member, and the members of the problem. */
export type RaisedDetail = { memberId?: string } & Record<string, unknown>;

/** The detail of an error, a JSON object where a function of the service raised it; empty for other errors. */
export function raisedDetail({ detail = '' }: postgres.PostgresError): RaisedDetail {
  try {
    return Object(JSON.parse(detail));
  } catch {
    // The detail of PostgreSQL's own errors is a sentence.
    return {};
  }
}

/** The routine in which PostgreSQL checks that a login may connect to the database. */
const CHECK_CONNECT = 'CheckMyDatabase';
/** The login that each variable with a database URL should have. */
const LOGINS: Record<string, string> = {
  DATABASE_URL: 'club_api',
  MIGRATION_DATABASE_URL: 'club_migrator',
  AUDIT_DATABASE_URL: 'club_auditor',
};

/** The remedy for an operator when the database cannot be used, by SQLSTATE or system error code. */
const REMEDIES: Record<string, string> = {
  [SQLSTATE.INVALID_SQL_STATEMENT_NAME]: 'A pooler in transaction mode needs DATABASE_PREPARE=off.',
  [SQLSTATE.INVALID_PASSWORD]:
    'The server rejected the login or its password: correct DATABASE_URL, or run sql/roles.sql and set the password.',
  [SQLSTATE.INVALID_AUTHORIZATION_SPECIFICATION]:
    'The server rejected the login: check pg_hba.conf, or run sql/roles.sql, which creates the logins.',
  [SQLSTATE.INVALID_CATALOG_NAME]:
    'The server has no such database: correct DATABASE_URL, or create the database.',
  [SQLSTATE.TOO_MANY_CONNECTIONS]:
    'The server has no connection left: raise max_connections, or lower DATABASE_POOL_SIZE.',
  [SQLSTATE.CANNOT_CONNECT_NOW]: 'The server is starting up or shutting down.',
  ECONNREFUSED:
    'No server listens at this address: start PostgreSQL, or correct host and port in DATABASE_URL.',
  ENOTFOUND: 'The host name of DATABASE_URL is unknown.',
  ENOENT: 'A file or a socket that DATABASE_URL names does not exist.',
};

/**
 * The reason why the database cannot be used, for the log: the root cause, and the remedy if one is known.
 *
 * @param variable the variable with the URL of the database
 */
export function reasonOf(error: unknown, variable = 'DATABASE_URL'): string {
  let root = error as Error & { code?: string; routine?: string };
  while (root.cause instanceof Error) {
    root = root.cause;
  }
  if (root instanceof Standby) {
    return root.message.replace('DATABASE_URL', variable);
  }
  // A host name with several addresses fails with an AggregateError: one error for each address and no message.
  const errors: Error[] = root instanceof AggregateError ? root.errors : [root];
  const reason = errors.map(({ message }) => message).join(', ');
  const remedy = remedyFor(root, variable);
  return remedy === undefined ? reason : `${reason}. ${remedy}`;
}

function remedyFor(
  { code = '', routine }: { code?: string; routine?: string },
  variable: string,
): string | undefined {
  if (code === SQLSTATE.INSUFFICIENT_PRIVILEGE) {
    return routine === CHECK_CONNECT
      ? 'The login may not connect to the database: run sql/roles.sql there.'
      : `The login lacks a privilege: ${variable} must log in as ${LOGINS[variable]}, and this release must be deployed.`;
  }
  return REMEDIES[code]?.replace('DATABASE_URL', variable);
}
