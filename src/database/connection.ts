import { ConnectionLost, Standby, UnsafeDatabase } from './errors.js';
import { type Attempt, openFirst } from './open-first.js';
import { parseServers } from './servers.js';
import { type Result, Session, type SessionOptions } from './session.js';
import type { Statement } from './sql.js';

export type { Result } from './session.js';

export interface ConnectionOptions {
  /** The URL of one or several hosts. */
  url: string;
  /** Named prepared statements; off behind a pooler in transaction mode. */
  prepare: boolean;
}

/** The limit for TCP, TLS, authentication and the check of the session together, for all hosts. */
const CONNECT_TIMEOUT_MS = 2_000;
/** A connection older than this is to be closed. */
const MAX_AGE_MS = 30 * 60_000;
/**
 * A connection with more prepared statements than this is to be closed: the session keeps each until it ends, with its plan, in
 * some 100 kB. Lists have thousands of combinations of filters and orders; the usual ones are a few dozen.
 */
const MAX_STATEMENTS = 250;

/**
 * One connection to PostgreSQL: the first session that opens, of the hosts of the URL.
 *
 * It never reconnects, and ends with its session.
 */
export class Connection {
  readonly openedAt = performance.now();
  /** Resolves when the session is open and checked; rejects with the reason otherwise. */
  readonly ready: Promise<void>;
  readonly #onDestroyed: () => void;
  /** All sessions until one is open, then this one. */
  readonly #sessions = new Map<Session, string>();
  #open: Session | undefined;
  #destroyed: Error | undefined;

  /**
   * @param onDestroyed called once when the connection is destroyed; not when it is closed
   * @param first the URL of the host to try first, of those of the list
   */
  constructor({ url, prepare }: ConnectionOptions, onDestroyed = () => {}, first?: string) {
    this.#onDestroyed = onDestroyed;
    const { urls, role } = parseServers(url);
    const order = [...urls].sort((one, other) => Number(other === first) - Number(one === first));
    this.ready = this.#openFirst(order.map((host) => ({ url: host, role, prepare })));
    this.ready.catch(() => {});
  }

  /** The URL of its host, once it is open. */
  get url(): string | undefined {
    return this.#open && this.#sessions.get(this.#open);
  }

  /** Whether the session is open and checked. */
  get isOpen(): boolean {
    return this.#open !== undefined && this.#destroyed === undefined;
  }

  get isDestroyed(): boolean {
    return this.#destroyed !== undefined;
  }

  /** Whether the pool closes it when its last lease is released: it is old, or has prepared many statements. */
  get isExpired(): boolean {
    return performance.now() - this.openedAt > MAX_AGE_MS || (this.#open?.statements ?? 0) > MAX_STATEMENTS;
  }

  /**
   * Sends a statement after those in flight, without waiting for their results.
   *
   * @throws postgres.PostgresError when the statement failed; ConnectionLost for any other failure
   */
  query<Row extends object = Record<string, unknown>>(statement: Statement): Promise<Result<Row>> {
    return this.#open === undefined
      ? this.#opened().then((session) => session.query(statement))
      : this.#open.query(statement);
  }

  /** Sends ROLLBACK after COMMIT failed. The transaction has ended, so the warning 25P01 is expected here. */
  async rollbackAfterFailedCommit(rollback: Statement): Promise<Result> {
    return (await this.#opened()).rollbackAfterFailedCommit(rollback);
  }

  /** Closes the socket at once: statements in flight fail, later ones are rejected. A second call does nothing. */
  destroy(reason: Error): void {
    if (this.#destroyed !== undefined) {
      return;
    }
    this.#destroyed = reason;
    this.#onDestroyed();
    for (const session of this.#sessions.keys()) {
      session.destroy(reason);
    }
  }

  /** Closes an idle session with the Terminate message; does nothing for a destroyed one. */
  async close(): Promise<void> {
    if (this.#destroyed !== undefined) {
      return;
    }
    this.#destroyed = new Error('the connection was closed');
    await Promise.all([...this.#sessions.keys()].map((session) => session.close()));
  }

  async #opened(): Promise<Session> {
    await this.ready;
    return this.#open as Session;
  }

  async #openFirst(hosts: SessionOptions[]): Promise<void> {
    const timer = setTimeout(
      () => this.destroy(new Error('the connection was not ready in time')),
      CONNECT_TIMEOUT_MS,
    );
    try {
      this.#open = await openFirst(hosts.map((host) => () => this.#attempt(host)));
    } catch (error) {
      const reason = error instanceof AggregateError ? ofAll(error) : (error as Error);
      this.destroy(reason);
      throw reason;
    } finally {
      clearTimeout(timer);
    }
  }

  #attempt(host: SessionOptions): Attempt<Session> {
    // The next host has its turn when this connection is destroyed, too.
    if (this.#destroyed !== undefined) {
      return { opened: Promise.reject(new ConnectionLost(this.#destroyed)), abandon: () => {} };
    }
    const session = new Session(host, (reason) => {
      this.#sessions.delete(session);
      if (session === this.#open) {
        this.destroy(reason);
      }
    });
    this.#sessions.set(session, host.url);
    return {
      opened: session.ready.then(() => session),
      abandon: () => session.destroy(new Error('another host was faster')),
    };
  }
}

/** The reason why no host can be used. */
function ofAll(all: AggregateError): Error {
  const errors: Error[] = all.errors;
  if (errors.every((error) => error instanceof Standby)) {
    return new Standby(`None of the ${errors.length} servers of DATABASE_URL is the primary.`);
  }
  return errors.find((error) => error instanceof UnsafeDatabase) ?? new ConnectionLost(all);
}
