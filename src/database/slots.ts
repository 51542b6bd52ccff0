import { Unavailable } from './failures.js';
import { Session, type SessionOptions } from './session.js';
import { Waiting, type WaitingOptions } from './waiting.js';

export interface SlotOptions extends SessionOptions, WaitingOptions {
  /** How many sessions there are at most; each serves one transaction at a time. */
  slots: number;
  /** How old a session gets, in milliseconds; it is replaced when it comes home, never under a transaction. */
  maxAgeMs: number;
  /** Runs once on every new session, before any transaction: throws to refuse it. */
  admit: (session: Session) => Promise<void>;
}

/** Whoever belongs to no group: what the service does for itself. */
const NO_GROUP = '';
/** How long a group is not alone after another has asked, in milliseconds. */
const BESIDE_MS = 1_000;

/**
 * A bounded number of sessions, each lent to one transaction at a time.
 *
 * Borrowers come in groups, the clubs. Groups that wait take turns, and one slot is always left to the others, so
 * a club that sends a thousand requests, or slow ones, delays itself. Whoever asks for more than they can have leaves
 * half of the slots to the others, as long as others ask.
 *
 * A session that is lost, at home or away, only frees its slot; the next borrower gets a new one.
 */
export class Slots {
  readonly #options: SlotOptions;
  readonly #idle: Session[] = [];
  /** Each session that is away, and for which group. */
  readonly #lent = new Map<Session, string>();
  /** How many sessions each group has. */
  readonly #shares = new Map<string, number>();
  readonly #waiting: Waiting<Session>;
  /** Which group borrowed last, and when that was another than the one before. */
  #last: string | undefined;
  #changedAt = Number.NEGATIVE_INFINITY;
  /** How many sessions were opened since the start, and how many of them were lost. */
  readonly sessions = { opened: 0, lost: 0 };
  #closed: Promise<void> | undefined;
  /** Called when a session comes home after the end. */
  #onHome: () => void = () => {};

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#waiting = new Waiting(options);
  }

  /** Sessions lent and transactions waiting, for tests and metrics. */
  get load(): { lent: number; waiting: number } {
    return { lent: this.#lent.size, waiting: this.#waiting.size };
  }

  /** Whether one more transaction of this group would be refused at once, behind so many that are coming. */
  isOverloaded(group: string, coming: number): boolean {
    return this.#waiting.isOverloaded(group, coming);
  }

  /** Whether this group asks for more than it can have, and not only for a moment. */
  isStanding(group: string): boolean {
    return this.#waiting.isStanding(group);
  }

  /**
   * Lends a session.
   *
   * @param group whose turn it is and whose share it counts to
   * @throws OVERLOADED when too many are waiting; Unavailable when the wait runs out or no session can be opened
   */
  async borrow(group = NO_GROUP): Promise<Session> {
    this.#meet(group);
    const session = (this.#mayTake(group) && this.#take(group)) || (await this.#wait(group));
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
    this.#settle(session);
    if (this.#closed || Date.now() - session.openedAt > this.#options.maxAgeMs) {
      void session.close().then(() => this.#onHome());
    } else if (!session.lost) {
      this.#idle.push(session);
    }
    this.#serve();
  }

  /** Refuses new borrowers, lets lent sessions come home, ends every session. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#waiting.dismiss(new Unavailable('The service is stopping.'));
    await Promise.all(this.#idle.splice(0).map((session) => session.close()));
    while (this.#lent.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onHome = resolve;
      });
    }
  }

  /** Lends what is free to whoever's turn it is. */
  #serve(): void {
    const mayTake = (group: string) => this.#mayTake(group);
    const take = (group: string) => this.#take(group) as Session;
    while (!this.#closed && this.#hasRoom() && this.#waiting.serve(mayTake, take)) {}
  }

  /** Notes who borrows, so that it is known whether groups ask beside each other. */
  #meet(group: string): void {
    if (group === NO_GROUP || group === this.#last) {
      return;
    }
    if (this.#last !== undefined) {
      this.#changedAt = performance.now();
    }
    this.#last = group;
  }

  #mayTake(group: string): boolean {
    return (this.#shares.get(group) ?? 0) < this.#mostOf(group);
  }

  /** How many sessions a group may have. */
  #mostOf(group: string): number {
    const { slots } = this.#options;
    if (group === NO_GROUP) {
      return slots;
    }
    const isBesideOthers = performance.now() - this.#changedAt < BESIDE_MS;
    const most = isBesideOthers && this.isStanding(group) ? Math.floor(slots / 2) : slots - 1;
    return Math.max(1, most);
  }

  #hasRoom(): boolean {
    return this.#lent.size < this.#options.slots;
  }

  /** The session that came home last, a new one while there is room, or none. */
  #take(group: string): Session | undefined {
    if (this.#closed) {
      throw new Unavailable('The service is stopping.');
    }
    let session = this.#idle.pop();
    while (session?.lost) {
      session = this.#idle.pop();
    }
    if (session === undefined && this.#hasRoom()) {
      this.sessions.opened += 1;
      session = new Session(this.#options, () => {
        this.sessions.lost += 1;
      });
    }
    if (session !== undefined) {
      this.#lent.set(session, group);
      this.#shares.set(group, (this.#shares.get(group) ?? 0) + 1);
    }
    return session;
  }

  #settle(session: Session): void {
    const group = this.#lent.get(session);
    if (group === undefined) {
      return;
    }
    this.#lent.delete(session);
    const share = (this.#shares.get(group) ?? 0) - 1;
    if (share > 0) {
      this.#shares.set(group, share);
    } else {
      this.#shares.delete(group);
    }
  }

  #wait(group: string): Promise<Session> {
    if (this.#closed) {
      throw new Unavailable('The service is stopping.');
    }
    return this.#waiting.wait(group);
  }
}
