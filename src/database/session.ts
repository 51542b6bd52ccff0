import net from 'node:net';
import postgres from 'postgres';
import { isStatementError, Unavailable } from './failures.js';
import type { Statement } from './sql.js';

export interface SessionOptions {
  url: string;
  /** Named prepared statements; off behind a pooler in transaction mode. */
  prepare: boolean;
}

/** Warnings that mean our picture of the transaction is wrong: BEGIN inside one, COMMIT outside of one. */
const DOUBTFUL_NOTICES = ['25001', '25P01'];
/** An unreachable database is found out this quickly; a longer time only lengthens the recovery. */
const CONNECT_TIMEOUT_S = 1;
/** PostgreSQL prints a timestamptz in UTC as `2026-05-01 18:00:00.123456+00`. */
const UTC_SUFFIX = '+00';

type Driver = ReturnType<typeof connect>;

/**
 * One connection to PostgreSQL, with one socket for life.
 *
 * The driver reconnects by itself: a connection that dies in the middle of one tenant's transaction comes back
 * in place, possibly inside another tenant's. So each session is a driver of its own with room for one
 * connection, and its socket can be had only once: when it dies the session is lost, for good, and whoever
 * waits on it is told at once. Timers of the driver that would end a session between two statements are off.
 */
export class Session {
  readonly openedAt = Date.now();
  /** Whether it has a backend of its own for life; behind a pooler in transaction mode, each transaction has another. */
  readonly ownsBackend: boolean;
  /** True until its first borrower has checked it. */
  isNew = true;
  readonly #driver: Driver;
  readonly #onLost: () => void;
  readonly #waiting = new Set<(reason: Error) => void>();
  #socket: net.Socket | undefined;
  #lost: Error | undefined;

  /** @param onLost called once if the session is lost; not when it is closed */
  constructor(options: SessionOptions, onLost = () => {}) {
    this.#onLost = onLost;
    this.ownsBackend = options.prepare;
    this.#driver = connect(options, {
      socket: (target) => this.#openSocket(target),
      onNotice: (code) =>
        DOUBTFUL_NOTICES.includes(code) && this.lose(new Error(`the server warned with ${code}`)),
      onClose: () => this.lose(new Error('the connection closed')),
    });
  }

  get lost(): boolean {
    return this.#lost !== undefined;
  }

  /**
   * Sends a statement with its parameters and answers with its rows.
   *
   * @throws postgres.PostgresError when the server refused this statement
   * @throws Unavailable when anything else went wrong; the session is lost then
   */
  send<Row>(statement: Statement): Promise<Row[]> {
    return this.#settle(
      () => this.#driver(statement.strings, ...statement.values) as unknown as Promise<Row[]>,
    );
  }

  /** Sends BEGIN, COMMIT or ROLLBACK and answers with the server's command tag. Throws as `send` does. */
  async command(text: string): Promise<string> {
    const result = await this.#settle(
      () => this.#driver.unsafe(text) as unknown as Promise<{ command: string }>,
    );
    return result.command;
  }

  /** Gives the session up: its statements are refused from now on, and those under way fail. Repeatable. */
  lose(reason: Error): void {
    if (this.#lost !== undefined) {
      return;
    }
    this.#lost = reason;
    this.#onLost();
    for (const reject of this.#waiting) {
      reject(this.#unavailable());
    }
    this.#waiting.clear();
    this.#socket?.destroy();
    this.#driver.end({ timeout: 0 }).catch(() => {});
  }

  /** Ends an idle session the polite way. */
  async close(): Promise<void> {
    this.#lost ??= new Error('the session was closed');
    await this.#driver.end({ timeout: 1 }).catch(() => {});
    this.#socket?.destroy();
  }

  #settle<Result>(execute: () => Promise<Result>): Promise<Result> {
    if (this.#lost !== undefined) {
      return Promise.reject(this.#unavailable());
    }
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      execute().then(
        (result) => {
          this.#waiting.delete(reject);
          resolve(result);
        },
        (error) => {
          this.#waiting.delete(reject);
          if (isStatementError(error)) {
            reject(error);
          } else {
            this.lose(error);
            reject(this.#unavailable());
          }
        },
      );
    });
  }

  #unavailable(): Unavailable {
    return new Unavailable('The connection to the database was lost.', 'nothing', { cause: this.#lost });
  }

  #openSocket(target: SocketTarget): net.Socket {
    if (this.#socket !== undefined || this.#lost !== undefined) {
      // The driver does not tell the statement that waits when the URL names several hosts: we do.
      this.lose(new Error('the connection closed before it was ready'));
      throw new Error('a session never reconnects');
    }
    const [host, port] = [target.host[0] as string, target.port[0] as number];
    const socket = target.path ? net.connect(target.path) : net.connect(port, host);
    socket.setNoDelay(true);
    // The driver reads the name to verify in the server's certificate from here.
    this.#socket = Object.assign(socket, { host });
    return socket;
  }
}

interface SocketTarget {
  host: string[];
  port: number[];
  path: string | false;
}

interface Hooks {
  socket: (target: SocketTarget) => net.Socket;
  onNotice: (code: string) => void;
  onClose: () => void;
}

function connect(options: SessionOptions, hooks: Hooks) {
  return postgres(options.url, {
    max: 1,
    prepare: options.prepare,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: CONNECT_TIMEOUT_S,
    fetch_types: false,
    connection: { application_name: 'club-management-service', TimeZone: 'UTC', DateStyle: 'ISO' },
    onnotice: (notice) => hooks.onNotice(notice.code as string),
    onclose: hooks.onClose,
    transform: { column: { from: postgres.toCamel } },
    types: {
      // As text: JavaScript's Date would cut microseconds to milliseconds.
      date: { to: 1184, from: [1184], serialize: (text: string) => text, parse: toRfc3339 },
      // Arrays of text, which the driver would otherwise only know after asking the server for its types.
      textArray: { to: 1009, from: [1009], serialize: (items: string[]) => items, parse: parseTextArray },
    },
    // Not in the driver's published types: called for each connection instead of opening one.
    ...({ socket: hooks.socket } as object),
  });
}

/** `2026-05-01 18:00:00.5+00` becomes `2026-05-01T18:00:00.5Z`; `infinity`, a sort key, stays. */
function toRfc3339(text: string): string {
  if (text === 'infinity') {
    return text;
  }
  if (!text.endsWith(UTC_SUFFIX)) {
    throw new Error('The session is not in UTC.');
  }
  return `${text.slice(0, 10)}T${text.slice(11, -UTC_SUFFIX.length)}Z`;
}

/** Only for arrays of plain words, such as states. */
function parseTextArray(text: string): string[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',');
}
