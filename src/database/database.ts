import { setTimeout as sleep } from 'node:timers/promises';
import { isStatementError, Unavailable } from './errors.js';
import { Pool, type PoolOptions } from './pool.js';
import { type Answer, type Entry, type ReadOptions, read } from './read.js';
import type { Query } from './sql.js';
import { type Mode, runTransaction, type Transaction } from './transaction.js';

export type DatabaseOptions = PoolOptions;

/** The limit for a transaction with all its attempts, from its first lease; above the role's statement_timeout (5 s). */
const DEADLINE_MS = 8_000;
const RETRY_PAUSE_MS = 10;

/** Serialization failure and deadlock: the transaction was rolled back, and a second attempt can succeed. */
const TRANSIENT = ['40001', '40P01'];
const TRANSIENT_ATTEMPTS = 2;
/**
 * Errors after DDL changed the result columns of a prepared statement, or of a row in a PL/pgSQL function: the SQLSTATE
 * and the routine that raises it. A function does not recover within its session, so the connection is destroyed. This
 * happens once on each connection.
 */
const STALE_PLANS: Record<string, string> = {
  '0A000': 'RevalidateCachedQuery',
  '42804': 'plpgsql_param_eval_recfield',
};

/** The database: every statement runs in a read or in a transaction. */
export class Database {
  readonly #pool: Pool;
  readonly #readsShare: boolean;
  readonly #staleAttempts: number;

  /** Opens no connection. */
  constructor(options: DatabaseOptions) {
    this.#pool = new Pool(options);
    this.#readsShare = options.prepare && options.readsPerConnection > 1;
    this.#staleAttempts = options.size + 1;
  }

  /** The maximum number of connections. */
  get size(): number {
    return this.#pool.size;
  }

  /** Connections in use and requests in the queue. */
  get load(): { inUse: number; queued: number } {
    return this.#pool.load;
  }

  /** Connections that were opened, and those of them that were destroyed, since the start. */
  get connections(): { opened: number; lost: number } {
    return this.#pool.counts;
  }

  /**
   * Reads with one statement.
   *
   * @param options.lease `shared` only for a query that an index bounds
   * @throws what `read` throws
   */
  read<Context, Row>(
    entry: Entry<Context>,
    query: Query<Row>,
    options: ReadOptions,
  ): Promise<Answer<Context, Row>> {
    const lease = this.#readsShare ? options.lease : 'exclusive';
    return this.#retry(1, () => read(this.#pool, entry, query, { ...options, lease }));
  }

  /**
   * Runs work in one transaction with exclusive use of a connection.
   *
   * The work is repeated after a serialization failure or a deadlock (two attempts in all) and after a deploy changed a
   * prepared statement, so the work must have no effects outside of the transaction.
   *
   * @param name the name of the operation, for the comment at the start of each statement
   * @throws Unavailable; UnsafeDatabase; what the work, `accept` or a statement threw
   */
  transaction<Context extends object, Accepted, Result>(
    mode: Mode,
    name: string,
    entry: Entry<Context>,
    accept: (context: Context) => Accepted,
    work: (tx: Transaction<Accepted>) => Promise<Result>,
  ): Promise<Result> {
    let deadline: number | undefined;
    return this.#retry(this.#staleAttempts, async () => {
      const lease = await this.#pool.acquire('exclusive', entry.tenant);
      const { connection } = lease;
      deadline ??= lease.since + DEADLINE_MS;
      const leftMs = deadline - performance.now();
      const timer = setTimeout(() => connection.destroy(tookTooLong()), leftMs);
      try {
        if (leftMs <= 0) {
          throw tookTooLong();
        }
        return await runTransaction(connection, mode, name, entry, accept, work);
      } catch (error) {
        if (isStalePlan(error)) {
          connection.destroy(error);
        }
        throw error;
      } finally {
        clearTimeout(timer);
        this.#pool.release(lease);
      }
    });
  }

  /** Rejects new work, waits for the work in progress and closes every connection. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** @param staleAttempts the maximum of attempts after stale plans; the statement of a read cannot have one */
  async #retry<Result>(staleAttempts: number, attempt: () => Promise<Result>): Promise<Result> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt();
      } catch (error) {
        const limit = isStalePlan(error) ? staleAttempts : isTransient(error) ? TRANSIENT_ATTEMPTS : 1;
        if (attempts >= limit) {
          throw error;
        }
        await sleep(Math.random() * RETRY_PAUSE_MS);
      }
    }
  }
}

function tookTooLong(): Unavailable {
  return new Unavailable('The transaction took too long.');
}

function isStalePlan(error: unknown): error is Error {
  const routine = isStatementError(error) ? STALE_PLANS[error.code] : undefined;
  return routine !== undefined && routine === (error as { routine?: string }).routine;
}

function isTransient(error: unknown): boolean {
  return isStatementError(error) && TRANSIENT.includes(error.code);
}
