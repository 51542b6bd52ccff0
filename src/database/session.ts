import net from 'node:net';
import type pg from 'pg';
import { Client } from './client.js';
import { type Answer, Exchange, type Layouts, type Outcome } from './exchange.js';
import { Unavailable } from './failures.js';
import type { Statement } from './sql.js';

export interface SessionOptions {
  url: string;
  /** Named prepared statements; off behind a pooler in transaction mode. */
  prepare: boolean;
}

/** Warnings that mean our picture of the transaction is wrong: BEGIN inside one, COMMIT outside of one. */
const DOUBTFUL_NOTICES = ['25001', '25P01'];
/** Where PostgreSQL warns that a COMMIT waits no longer for its synchronous standby. Only its name tells that in any language. */
const UNREPLICATED = 'SyncRepWaitForLSN';
/** An unreachable database is found out this quickly; a longer time only lengthens the recovery. */
const CONNECT_TIMEOUT_MS = 1_000;
/** How long an idle session may take to end the polite way. */
const CLOSE_TIMEOUT_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;

/**
 * One connection to PostgreSQL, with one socket for life.
 *
 * A connection that came back in place could come back inside another tenant's transaction. The driver's client
 * never reconnects: when its socket dies the session is lost, for good, and whoever waits on it is told at once.
 */
export class Session {
  readonly openedAt = Date.now();
  /** Whether it has a backend of its own for life; behind a pooler in transaction mode, each transaction has another. */
  readonly ownsBackend: boolean;
  /** True until its first borrower has checked it. */
  isNew = true;
  readonly #url: string;
  readonly #socket = new net.Socket();
  readonly #onLost: () => void;
  readonly #layouts: Layouts | undefined;
  readonly #underWay = new Map<Exchange, (reason: Error) => void>();
  #client: pg.Client | undefined;
  #lost: Error | undefined;

  /** @param onLost called once if the session is lost; not when it is closed */
  constructor(options: SessionOptions, onLost = () => {}) {
    this.#onLost = onLost;
    this.ownsBackend = options.prepare;
    this.#layouts = options.prepare ? new Map() : undefined;
    this.#url = options.url;
  }

  get lost(): boolean {
    return this.#lost !== undefined;
  }

  /** Whether the server is in no transaction, as it said after the last exchange. */
  get isIdle(): boolean {
    return this.#client?.getTransactionStatus() === 'I';
  }

  /**
   * Sends statements in one piece. Where one fails the server runs none behind it.
   *
   * @throws Unavailable when anything but a statement failed; the session is lost then
   */
  exchange(...statements: Statement[]): Promise<Outcome> {
    if (this.#lost !== undefined) {
      return Promise.reject(this.#unavailable());
    }
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(statements, this.#layouts, (outcome) => {
        if (!this.#underWay.delete(exchange)) {
          return;
        }
        if (outcome instanceof Error) {
          this.lose(outcome);
          reject(this.#unavailable());
        } else {
          resolve(outcome);
        }
      });
      this.#underWay.set(exchange, reject);
      try {
        this.#client ??= this.#connect();
        this.#client.query(exchange);
      } catch (error) {
        // As when a certificate that the URL names is not there.
        this.lose(error as Error);
      }
    });
  }

  /**
   * Sends one statement and answers with what the server made of it.
   *
   * @throws pg.DatabaseError when the server refused it; otherwise as `exchange` does
   */
  async send(statement: Statement): Promise<Answer> {
    const { answers, failure } = await this.exchange(statement);
    if (failure !== undefined) {
      throw failure;
    }
    return answers[0] as Answer;
  }

  /** Gives the session up: its statements are refused from now on, and those under way fail. Repeatable. */
  lose(reason: Error): void {
    if (this.#lost !== undefined) {
      return;
    }
    this.#lost = reason;
    this.#onLost();
    for (const reject of this.#underWay.values()) {
      reject(this.#unavailable());
    }
    this.#underWay.clear();
    this.#socket.destroy();
  }

  /** Ends an idle session the polite way. */
  async close(): Promise<void> {
    this.#lost ??= new Error('the session was closed');
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    await this.#client?.end().catch(() => {});
    clearTimeout(timer);
    this.#socket.destroy();
  }

  #connect(): pg.Client {
    const client = new Client({
      connectionString: this.#url,
      application_name: 'club-management-service',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      stream: () => this.#socket,
    });
    client.on('error', (error) => this.lose(this.#refusal() ?? error));
    client.on('end', () => this.lose(new Error('the connection closed')));
    client.on('notice', ({ code = '', routine }) => {
      if (DOUBTFUL_NOTICES.includes(code) || routine === UNREPLICATED) {
        this.lose(new Error(`the server warned with ${code} in ${routine}`));
      }
    });
    client.connect().catch((error) => this.lose(error));
    return client;
  }

  /** What the server refused with before it hung up, if it did. */
  #refusal(): Error | undefined {
    const [exchange] = this.#underWay.keys();
    return exchange?.failure;
  }

  #unavailable(): Unavailable {
    return new Unavailable('The connection to the database was lost.', 'nothing', { cause: this.#lost });
  }
}
