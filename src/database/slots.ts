import { Unavailable } from './failures.js';
import { Session, type SessionOptions } from './session.js';

export interface SlotOptions extends SessionOptions {
  /** How many sessions there are at most; each serves one transaction at a time. */
  slots: number;
  /** How long a transaction waits for a slot, in milliseconds. */
  waitMs: number;
  /** How many transactions wait at most; the next one is refused at once. */
  queueLength: number;
  /** How old a session gets, in milliseconds; it is replaced when it comes home, never under a transaction. */
  maxAgeMs: number;
  /** Runs once on every new session, before any transaction: throws to refuse it. */
  admit: (session: Session) => Promise<void>;
}

interface Waiter {
  resolve: (session: Session) => void;
  reject: (reason: Error) => void;
  timer: NodeJS.Timeout;
}

/**
 * A bounded number of sessions, each lent to one transaction at a time.
 *
 * A session that is lost, at home or away, only frees its slot; the next borrower gets a new one.
 */
export class Slots {
  readonly #options: SlotOptions;
  readonly #idle: Session[] = [];
  readonly #lent = new Set<Session>();
  readonly #waiters: Waiter[] = [];
  #closed: Promise<void> | undefined;
  /** Called when a session comes home after the end. */
  #onHome: () => void = () => {};

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** Sessions lent and transactions waiting, for tests and metrics. */
  get load(): { lent: number; waiting: number } {
    return { lent: this.#lent.size, waiting: this.#waiters.length };
  }

  /**
   * Lends a session.
   *
   * @throws Unavailable when the queue is full, the wait runs out or no session can be opened
   */
  async borrow(): Promise<Session> {
    const session = this.#take() ?? (await this.#wait());
    if (session.isNew) {
      const timer = setTimeout(
        () => session.lose(new Error('the connection was not ready in time')),
        this.#options.waitMs,
      );
      try {
        await this.#options.admit(session);
        session.isNew = false;
      } catch (error) {
        session.lose(error as Error);
        this.giveBack(session);
        throw error;
      } finally {
        clearTimeout(timer);
      }
    }
    return session;
  }

  /** Takes a session back. One that was lost is forgotten. */
  giveBack(session: Session): void {
    this.#lent.delete(session);
    if (this.#closed || Date.now() - session.openedAt > this.#options.maxAgeMs) {
      void session.close().then(() => this.#onHome());
    } else if (!session.lost) {
      this.#idle.push(session);
    }
    const waiter = this.#waiters[0];
    const next = waiter && this.#take();
    if (next) {
      this.#waiters.shift();
      clearTimeout(waiter.timer);
      waiter.resolve(next);
    }
  }

  /** Refuses new borrowers, lets lent sessions come home, ends every session. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const waiter of this.#waiters.splice(0)) {
      clearTimeout(waiter.timer);
      waiter.reject(new Unavailable('The service is stopping.'));
    }
    await Promise.all(this.#idle.splice(0).map((session) => session.close()));
    while (this.#lent.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onHome = resolve;
      });
    }
  }

  /** The session that came home last, a new one while there is room, or none. */
  #take(): Session | undefined {
    if (this.#closed) {
      throw new Unavailable('The service is stopping.');
    }
    let session = this.#idle.pop();
    while (session?.lost) {
      session = this.#idle.pop();
    }
    if (session === undefined && this.#lent.size + this.#idle.length < this.#options.slots) {
      session = new Session(this.#options);
    }
    if (session !== undefined) {
      this.#lent.add(session);
    }
    return session;
  }

  #wait(): Promise<Session> {
    if (this.#waiters.length >= this.#options.queueLength) {
      throw new Unavailable('Too many requests are waiting for the database.');
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(new Unavailable('No connection to the database became free in time.'));
      }, this.#options.waitMs);
      const waiter: Waiter = { resolve, reject, timer };
      this.#waiters.push(waiter);
    });
  }
}
