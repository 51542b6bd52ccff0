import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from './connection.js';
import type { Context } from './context.js';
import { ConnectionLost, isStatementError, Unavailable } from './errors.js';
import { type Lease, type LeaseKind, Pool, type PoolOptions } from './pool.js';
import type { Query } from './sql.js';
import { SQLSTATE } from './sql-states.js';
import { runStatement, type StatementResult } from './statement.js';
import { type AccessMode, runTransaction, type Transaction } from './transaction.js';

export type DatabaseOptions = PoolOptions;

type Kind = 'read' | 'call' | 'transaction';
type Failure = 'lost' | 'transient' | 'stale';

/**
 * The limit for all attempts in milliseconds, from the first lease. Those of writes are above the role's statement_timeout (5 s),
 * so that a slow statement is a failure and not an unknown outcome.
 */
const DEADLINE_MS: Record<Kind, number> = { read: 5_000, call: 8_000, transaction: 8_000 };
/**
 * The limit for one attempt on a shared connection; above the role's lock_timeout (3 s), so one read that waits for a lock
 * destroys no connection.
 */
const SHARED_ATTEMPT_MS = 3_500;
const RETRY_PAUSE_MS = 10;

/** The transaction was rolled back, and a second attempt can succeed. */
const TRANSIENT: string[] = [SQLSTATE.SERIALIZATION_FAILURE, SQLSTATE.DEADLOCK_DETECTED];
/**
 * Errors after DDL changed the result columns of a prepared statement, of a row in a PL/pgSQL function, or of a row that a
 * function returns: the SQLSTATE and the routine that raises it. The plan does not recover within its session, so the connection
 * is destroyed. This happens at most once on each connection.
 */
const STALE_PLANS = [
  `${SQLSTATE.FEATURE_NOT_SUPPORTED} RevalidateCachedQuery`,
  `${SQLSTATE.DATATYPE_MISMATCH} plpgsql_param_eval_recfield`,
  `${SQLSTATE.DATATYPE_MISMATCH} ExecEvalFieldSelect`,
];

/** The database: every statement is a read, a call or a part of a transaction. */
export class Database {
  readonly #pool: Pool;
  /** For callers without a token, so that a flood of them takes no connection from the others. */
  readonly #anonymousPool: Pool;
  readonly #readsShare: boolean;

  /** Opens no connection. */
  constructor(options: DatabaseOptions) {
    this.#pool = new Pool(options);
    this.#anonymousPool = new Pool({ ...options, size: 1 });
    this.#readsShare = options.prepare && options.readsPerConnection > 1;
  }

  /** The maximum number of connections, without the one for callers without a token. */
  get size(): number {
    return this.#pool.size;
  }

  /** Connections in use and requests in the queue, without those of callers without a token. */
  get load(): { inUse: number; queued: number } {
    return this.#pool.load;
  }

  /** Connections that were opened, and those of them that were destroyed, since the start. */
  get connections(): { opened: number; lost: number } {
    const [pool, anonymous] = [this.#pool.counts, this.#anonymousPool.counts];
    return { opened: pool.opened + anonymous.opened, lost: pool.lost + anonymous.lost };
  }

  /**
   * Reads with one statement. A bounded query shares a connection with other reads. It is sent once more when the connection
   * was lost.
   *
   * @param options.operation the name in the comment at the start of the statement
   * @throws Unavailable; UnsafeDatabase; postgres.PostgresError; what `Context.parse` throws
   */
  read<Accepted, Row>(options: {
    operation: string;
    context: Context<Accepted>;
    query: Query<Row>;
  }): Promise<StatementResult<Accepted, Row>> {
    const { operation, context, query } = options;
    const lease = this.#readsShare && query.isBounded ? 'shared' : 'exclusive';
    return this.#run('read', lease, context, (connection) =>
      runStatement(connection, 'read', operation, context, query),
    );
  }

  /**
   * Calls one function that writes, with one statement, which is one transaction. It is called again after an error
   * that PostgreSQL itself returned and that passes (40001, 40P01, a plan that no longer fits), never after a loss.
   *
   * @param options.operation the name in the comment at the start of the statement
   * @throws Unavailable with an unknown outcome when the connection is lost; UnsafeDatabase; postgres.PostgresError; what
   *   `Context.parse` throws
   */
  call<Accepted, Row>(options: {
    operation: string;
    context: Context<Accepted>;
    query: Query<Row>;
  }): Promise<StatementResult<Accepted, Row>> {
    const { operation, context, query } = options;
    return this.#run('call', 'exclusive', context, (connection) =>
      runStatement(connection, 'call', operation, context, query),
    );
  }

  /**
   * Runs work in one transaction with exclusive use of a connection.
   *
   * The work is repeated after a serialization failure or a deadlock (two attempts in all) and after a deploy changed a
   * prepared statement, so the work must have no effects outside of the transaction.
   *
   * @param options.operation the name in the comment at the start of each statement
   * @throws Unavailable; UnsafeDatabase; what the work, `Context.parse` or a statement threw
   */
  transaction<Accepted, Result>(options: {
    operation: string;
    mode: AccessMode;
    context: Context<Accepted>;
    work: (tx: Transaction<Accepted>) => Promise<Result>;
  }): Promise<Result> {
    const { operation, mode, context, work } = options;
    return this.#run('transaction', 'exclusive', context, (connection) =>
      runTransaction(connection, mode, operation, context, work),
    );
  }

  /** Rejects new work, waits for the work in progress and closes every connection. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#anonymousPool.close()]);
  }

  async #run<Result>(
    kind: Kind,
    leaseKind: LeaseKind,
    { tenant, isAnonymous }: Pick<Context<unknown>, 'tenant' | 'isAnonymous'>,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    const pool = isAnonymous ? this.#anonymousPool : this.#pool;
    let deadline: number | undefined;
    for (let attempt = 1; ; attempt += 1) {
      const lease = await pool.acquire(leaseKind, tenant);
      deadline ??= lease.since + DEADLINE_MS[kind];
      try {
        return await withinLimit(kind, lease, deadline, work);
      } catch (error) {
        const failure = failureOf(error);
        if (failure === undefined || attempt >= this.#attempts(kind, failure)) {
          throw error;
        }
      } finally {
        pool.release(lease);
      }
      await sleep(Math.random() * RETRY_PAUSE_MS);
    }
  }

  /** The number of attempts in all after a failure. */
  #attempts(kind: Kind, failure: Failure): number {
    switch (failure) {
      case 'lost':
        // What writes may have been committed.
        return kind === 'read' ? 2 : 1;
      case 'transient':
        return 2;
      case 'stale':
        return this.size + 1;
    }
  }
}

/** Runs one attempt; destroys the connection at the deadline, or when a plan of its session is stale. */
async function withinLimit<Result>(
  kind: Kind,
  lease: Lease,
  deadline: number,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { connection } = lease;
  const leftMs = deadline - performance.now();
  if (leftMs <= 0) {
    throw tookTooLong(kind);
  }
  let overdue: Unavailable | undefined;
  const timer = setTimeout(
    () => {
      overdue = tookTooLong(kind);
      connection.destroy(overdue);
    },
    lease.kind === 'shared' ? Math.min(SHARED_ATTEMPT_MS, leftMs) : leftMs,
  );
  try {
    return await work(connection);
  } catch (error) {
    if (failureOf(error) === 'stale') {
      connection.destroy(error as Error);
    }
    // An overdue read is not sent again. The error of a write says what is known of its outcome.
    throw (kind === 'read' ? overdue : undefined) ?? error;
  } finally {
    clearTimeout(timer);
  }
}

function tookTooLong(kind: Kind): Unavailable {
  return new Unavailable(`A ${kind} took too long.`);
}

/** The kind of a failure after which another attempt may succeed. */
function failureOf(error: unknown): Failure | undefined {
  if (error instanceof ConnectionLost) {
    return 'lost';
  }
  if (!isStatementError(error)) {
    return undefined;
  }
  const { code, routine } = error as typeof error & { routine?: string };
  if (STALE_PLANS.includes(`${code} ${routine}`)) {
    return 'stale';
  }
  return TRANSIENT.includes(code) ? 'transient' : undefined;
}
