import { type Result, Session } from './session.js';
import type { Statement } from './sql.js';

export type { Result } from './session.js';

export interface ConnectionOptions {
  url: string;
  /** Named prepared statements; off behind a pooler in transaction mode. */
  prepare: boolean;
}

/** The limit for TCP, TLS, authentication and the check of the session together. */
const CONNECT_TIMEOUT_MS = 2_000;
/** A connection older than this is to be closed. */
const MAX_AGE_MS = 30 * 60_000;
/**
 * A connection with more prepared statements than this is to be closed: the session keeps each until it ends, with its plan, in
 * some 100 kB. Lists have thousands of combinations of filters and orders; the usual ones are a few dozen.
 */
const MAX_STATEMENTS = 250;

/** One connection to PostgreSQL: a session with a limit for its opening. It never reconnects, and ends with its session. */
export class Connection {
  readonly openedAt = performance.now();
  /** Resolves when the session is open and checked; rejects with the reason otherwise. */
  readonly ready: Promise<void>;
  readonly #session: Session;
  #isReady = false;

  /** @param onDestroyed called once when the connection is destroyed; not when it is closed */
  constructor(options: ConnectionOptions, onDestroyed = () => {}) {
    this.#session = new Session(options, onDestroyed);
    this.ready = this.#open();
    this.ready.catch(() => {});
  }

  /** Whether the session is open and checked. */
  get isOpen(): boolean {
    return this.#isReady && !this.isDestroyed;
  }

  get isDestroyed(): boolean {
    return this.#session.isDestroyed;
  }

  /** Whether the pool closes it when its last lease is released: it is old, or has prepared many statements. */
  get isExpired(): boolean {
    return performance.now() - this.openedAt > MAX_AGE_MS || this.#session.statements > MAX_STATEMENTS;
  }

  /**
   * Sends a statement after those in flight, without waiting for their results.
   *
   * @throws postgres.PostgresError when the statement failed; ConnectionLost for any other failure
   */
  query<Row extends object = Record<string, unknown>>(statement: Statement): Promise<Result<Row>> {
    return this.#session.query(statement);
  }

  /** Sends ROLLBACK after COMMIT failed. The transaction has ended, so the warning 25P01 is expected here. */
  rollbackAfterFailedCommit(rollback: Statement): Promise<Result> {
    return this.#session.rollbackAfterFailedCommit(rollback);
  }

  /** Closes the socket at once: statements in flight fail, later ones are rejected. A second call does nothing. */
  destroy(reason: Error): void {
    this.#session.destroy(reason);
  }

  /** Closes an idle session with the Terminate message; does nothing for a destroyed one. */
  close(): Promise<void> {
    return this.#session.close();
  }

  async #open(): Promise<void> {
    const timer = setTimeout(
      () => this.destroy(new Error('the connection was not ready in time')),
      CONNECT_TIMEOUT_MS,
    );
    try {
      await this.#session.ready;
      this.#isReady = true;
    } finally {
      clearTimeout(timer);
    }
  }
}
