import net from 'node:net';
import postgres from 'postgres';
import { ConnectionLost, isStatementError } from './errors.js';
import { checkSession } from './session-setup.js';
import { connectSocket, parseDatabaseUrl, type Role, type Server } from './socket.js';
import type { Statement, Value } from './sql.js';
import { SQLSTATE } from './sql-states.js';

export interface ConnectionOptions {
  url: string;
  /** Named prepared statements; off behind a pooler in transaction mode. */
  prepare: boolean;
}

/** The rows of a statement and its command tag without the count, such as `COMMIT` or `INSERT`. */
export interface Result<Row = Record<string, unknown>> extends Array<Row> {
  command: string;
}

/** The limit for TCP, TLS, authentication and the check of the session together. */
const CONNECT_TIMEOUT_MS = 2_000;
const CLOSE_TIMEOUT_S = 1;
const KEEP_ALIVE_S = 60;
/** A connection older than this is to be closed. */
const MAX_AGE_MS = 30 * 60_000;
/**
 * A connection with more prepared statements than this is to be closed: the session keeps each until it ends, with its plan, in
 * some 100 kB. Lists have thousands of combinations of filters and orders; the usual ones are a few dozen.
 */
const MAX_STATEMENTS = 250;

/** Warnings of an unexpected transaction state: BEGIN inside a transaction, COMMIT or ROLLBACK outside of one. */
const TRANSACTION_WARNINGS: string[] = [SQLSTATE.ACTIVE_SQL_TRANSACTION, SQLSTATE.NO_ACTIVE_SQL_TRANSACTION];
/** The routine that warns that a COMMIT no longer waits for its synchronous standby. The message is translated, this is not. */
const UNREPLICATED_COMMIT = 'SyncRepWaitForLSN';

/**
 * One connection to PostgreSQL, with one session.
 *
 * It has one socket and never reconnects: a reconnect could happen in the middle of another tenant's transaction. Any
 * error other than the failure of a single statement destroys it, and its statements in flight fail at once.
 */
export class Connection {
  readonly openedAt = performance.now();
  /** Resolves when the session is open and checked; rejects with the reason otherwise. */
  readonly ready: Promise<void>;
  readonly #sql: postgres.Sql;
  readonly #socket = new net.Socket();
  /** The stream of the driver: the socket, or TLS over it. Destroy this one: after the socket alone, a TLS write fails. */
  #stream = this.#socket;
  readonly #onDestroyed: () => void;
  readonly #prepares: boolean;
  /** The prepared statements: the driver prepares one for each text, and keeps it. */
  readonly #prepared = new Set<TemplateStringsArray>();
  readonly #inFlight = new Set<(reason: Error) => void>();
  #isReady = false;
  #destroyed: Error | undefined;
  #expectsNoTransaction = false;

  /** @param onDestroyed called once when the connection is destroyed; not when it is closed */
  constructor({ url, prepare }: ConnectionOptions, onDestroyed = () => {}) {
    this.#onDestroyed = onDestroyed;
    this.#prepares = prepare;
    const server = parseDatabaseUrl(url);
    this.#sql = this.#createDriver(server, prepare);
    this.ready = this.#open(server.role);
    this.ready.catch(() => {});
  }

  /** Whether the session is open and checked. */
  get isOpen(): boolean {
    return this.#isReady && !this.isDestroyed;
  }

  get isDestroyed(): boolean {
    return this.#destroyed !== undefined;
  }

  /** Whether the pool closes it when its last lease is released: it is old, or has prepared many statements. */
  get isExpired(): boolean {
    return performance.now() - this.openedAt > MAX_AGE_MS || this.#prepared.size > MAX_STATEMENTS;
  }

  /**
   * Sends a statement after those in flight, without waiting for their results.
   *
   * @throws postgres.PostgresError when the statement failed; ConnectionLost for any other failure
   */
  query<Row extends object = Record<string, unknown>>({ strings, values }: Statement): Promise<Result<Row>> {
    if (this.#destroyed !== undefined) {
      return Promise.reject(new ConnectionLost(this.#destroyed));
    }
    const template = templateOf(strings);
    return new Promise((resolve, reject) => {
      this.#inFlight.add(reject);
      if (this.#prepares) {
        this.#prepared.add(template);
      }
      this.#sql<Row[]>(template, ...values.map(toText)).then(
        (result) => {
          if (this.#inFlight.delete(reject)) {
            resolve(result);
          }
        },
        (error: Error) => {
          if (isStatementError(error) && this.#inFlight.delete(reject)) {
            reject(error);
          } else {
            this.destroy(error);
          }
        },
      );
    });
  }

  /** Sends ROLLBACK after COMMIT failed. The transaction has ended, so the warning 25P01 is expected here. */
  async rollbackAfterFailedCommit(rollback: Statement): Promise<Result> {
    this.#expectsNoTransaction = true;
    try {
      return await this.query(rollback);
    } finally {
      this.#expectsNoTransaction = false;
    }
  }

  /** Closes the socket at once: statements in flight fail, later ones are rejected. A second call does nothing. */
  destroy(reason: Error): void {
    if (this.#destroyed !== undefined) {
      return;
    }
    this.#destroyed = reason;
    this.#onDestroyed();
    this.#abandon(reason);
  }

  /** Closes an idle session with the Terminate message; does nothing for a destroyed one. */
  async close(): Promise<void> {
    if (this.#destroyed !== undefined) {
      return;
    }
    this.#destroyed = new Error('the connection was closed');
    await this.#sql.end({ timeout: CLOSE_TIMEOUT_S }).catch(() => {});
    // The driver never settles statements that it has not sent.
    this.#abandon(this.#destroyed);
  }

  #abandon(reason: Error): void {
    for (const reject of this.#inFlight) {
      reject(new ConnectionLost(reason));
    }
    this.#inFlight.clear();
    this.#stream.destroy();
  }

  async #open(role: Role): Promise<void> {
    const timer = setTimeout(
      () => this.destroy(new Error('the connection was not ready in time')),
      CONNECT_TIMEOUT_MS,
    );
    try {
      await checkSession(role, (statement) => this.query(statement));
      this.#isReady = true;
    } catch (error) {
      this.destroy(error as Error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #createDriver(server: Server, prepare: boolean): postgres.Sql {
    let sockets = 0;
    const openSocket = async () => {
      sockets += 1;
      if (sockets > 1) {
        throw new Error('the connection closed');
      }
      this.#stream = await connectSocket(this.#socket, server);
      if (this.#destroyed !== undefined) {
        this.#stream.destroy();
      }
      return this.#stream;
    };
    const options = {
      host: server.host,
      port: server.port,
      database: server.database,
      user: server.user,
      pass: server.password,
      max: 1,
      prepare,
      // The socket already uses TLS. The driver's own timers are off: they could end a session between two statements.
      ssl: false,
      socket: openSocket,
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: 0,
      keep_alive: KEEP_ALIVE_S,
      fetch_types: false,
      types,
      connection: {
        application_name: 'club-management-service',
        ...server.settings,
        TimeZone: 'UTC',
        DateStyle: 'ISO',
      },
      onnotice: (notice: postgres.Notice) => this.#onNotice(notice),
      onclose: () => this.destroy(new Error('the connection closed')),
    };
    // The published types leave out `socket`.
    return postgres(options as postgres.Options<typeof types>) as postgres.Sql;
  }

  #onNotice({ code = '', routine }: postgres.Notice): void {
    const isUnexpectedState = TRANSACTION_WARNINGS.includes(code) && !this.#expectsNoTransaction;
    if (isUnexpectedState || routine === UNREPLICATED_COMMIT) {
      this.destroy(new Error(`the server warned with ${code} in ${routine}`));
    }
  }
}

/** The templates by their text. The combinations in the code bound their number. */
const templates = new Map<string, TemplateStringsArray>();

/** One template for each text: the driver keeps every template that it has seen, with an error for its stack. */
function templateOf(strings: readonly string[]): TemplateStringsArray {
  const text = strings.join('\0');
  let template = templates.get(text);
  if (template === undefined) {
    template = Object.assign([...strings], { raw: strings });
    templates.set(text, template);
  }
  return template;
}

/** Sends every parameter as text; PostgreSQL converts it to the type of the parameter. */
function toText(value: Value): string | null {
  return value === null || typeof value === 'string' ? value : String(value);
}

/**
 * How values are parsed and serialized, by the OID in pg_type. No function here may throw: an error inside the driver
 * leaves its connection in the middle of a message.
 */
const asText = (text: string) => text;
const types = {
  text: { to: 25, from: [25, 17, 1082, 1114], serialize: asText, parse: asText },
  unknown: { to: 0, from: [], serialize: asText, parse: asText },
  boolean: { to: 16, from: [16], serialize: asText, parse: (text: string) => text === 't' },
  // A bigint stays text: JavaScript's numbers cannot represent it.
  number: { to: 23, from: [21, 23, 26, 700, 701], serialize: asText, parse: Number },
  json: { to: 114, from: [114, 3802], serialize: asText, parse: parseJson },
  // Text: a Date would cut microseconds to milliseconds.
  instant: { to: 1184, from: [1184], serialize: asText, parse: toRfc3339 },
  // Every other type is text, such as an array, which a statement can select as JSON.
};

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** PostgreSQL prints a timestamptz in UTC as `2026-05-01 18:00:00.123456+00`; `infinity` is returned unchanged. */
function toRfc3339(text: string): string {
  return text.endsWith('+00') ? `${text.slice(0, 10)}T${text.slice(11, -3)}Z` : text;
}
