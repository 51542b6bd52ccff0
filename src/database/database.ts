import { setTimeout as sleep } from 'node:timers/promises';
import { isStatementError, Unavailable } from './errors.js';
import { Pool, type PoolOptions } from './pool.js';
import { type Answer, type Entry, type ReadOptions, read } from './read.js';
import type { Query } from './sql.js';
import { type Mode, runTransaction, type Transaction } from './transaction.js';

export type DatabaseOptions = PoolOptions;

/** A transaction with both attempts, from its first lease on; above the statement_timeout of the role (5 s). */
const DEADLINE_MS = 8_000;
const RETRY_PAUSE_MS = 10;

/** A serialization failure or a deadlock: nothing was kept, and the same work may well succeed now. */
const TRANSIENT = ['40001', '40P01'];
const TRANSIENT_ATTEMPTS = 2;
/**
 * DDL changed the columns that a prepared statement answers with, or those of a row in a PL/pgSQL function; by SQLSTATE,
 * the routine that finds out. The function does not recover in its session, so the connection is destroyed: each
 * connection meets this once.
 */
const STALE_PLANS: Record<string, string> = {
  '0A000': 'RevalidateCachedQuery',
  '42804': 'plpgsql_param_eval_recfield',
};

/** The database as the service sees it: reads and transactions, and nothing outside of them. */
export class Database {
  readonly #pool: Pool;
  readonly #readsShare: boolean;
  readonly #staleAttempts: number;

  /** Opens nothing yet. */
  constructor(options: DatabaseOptions) {
    this.#pool = new Pool(options);
    this.#readsShare = options.prepare && options.readsPerConnection > 1;
    this.#staleAttempts = options.size + 1;
  }

  /** How many connections there are at most. */
  get size(): number {
    return this.#pool.size;
  }

  /** Connections in use and requests in the queue. */
  get load(): { inUse: number; queued: number } {
    return this.#pool.load;
  }

  /** Connections opened and destroyed since the start. */
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
    return this.#retry(() => read(this.#pool, entry, query, { ...options, lease }));
  }

  /**
   * Runs work in one transaction on a connection of its own.
   *
   * The work runs again from its beginning after a serialization failure or a deadlock (two attempts in all) and after
   * a deploy changed a prepared statement, so it does nothing but query and decide.
   *
   * @param name of the operation, for the comment that each statement begins with
   * @throws Unavailable; UnsafeDatabase; what the work, `accept` or a statement threw
   */
  transaction<Context, Result>(
    mode: Mode,
    name: string,
    entry: Entry<Context>,
    accept: (context: Context) => void,
    work: (tx: Transaction) => Promise<Result>,
  ): Promise<Result> {
    let deadline: number | undefined;
    return this.#retry(async () => {
      const lease = await this.#pool.acquire('exclusive', entry.tenant);
      const { connection } = lease;
      deadline ??= lease.since + DEADLINE_MS;
      const leftMs = deadline - performance.now();
      const overdue = new Unavailable('The transaction took too long.');
      const timer = setTimeout(() => connection.destroy(overdue), leftMs);
      try {
        if (leftMs <= 0) {
          throw overdue;
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

  /** Refuses new work, lets the work in progress finish, closes every connection. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #retry<Result>(attempt: () => Promise<Result>): Promise<Result> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt();
      } catch (error) {
        const limit = isStalePlan(error) ? this.#staleAttempts : isTransient(error) ? TRANSIENT_ATTEMPTS : 1;
        if (attempts >= limit) {
          throw error;
        }
        await sleep(Math.random() * RETRY_PAUSE_MS);
      }
    }
  }
}

function isStalePlan(error: unknown): error is Error {
  const routine = isStatementError(error) ? STALE_PLANS[error.code] : undefined;
  return routine !== undefined && routine === (error as { routine?: string }).routine;
}

function isTransient(error: unknown): boolean {
  return isStatementError(error) && TRANSIENT.includes(error.code);
}
