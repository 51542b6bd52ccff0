import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry } from './entry.js';
import { isStatementError, Unavailable } from './failures.js';
import { admit } from './login.js';
import { look } from './look.js';
import { Slots } from './slots.js';
import { type Mode, runTransaction, type Transaction } from './transaction.js';

export interface DatabaseOptions {
  url: string;
  slots: number;
  prepare: boolean;
}

/** How long a request waits for a slot before it is told to come back. */
const SLOT_WAIT_MS = 5_000;
/** How many requests wait: a thousand members at one shift, and then some. */
const QUEUE_LENGTH = 1_500;
/** A thousand members at one shift are served within this. */
const BURST_MS = 5_000;
/** Where everybody of a club waits longer than this, and longer than with a burst, more is asked for than can be had… */
const LONG_MS = 250;
/** …and one waits no more than this: as many are served, and V8 has fewer of them to copy. */
const STANDING_WAIT_MS = 100;
/** How long none of a club must have been sent away before it may bring a burst again. */
const CALM_MS = 1_000;
/** How long one attempt at a transaction may take altogether, above the server's own statement_timeout. */
const DEADLINE_MS = 8_000;
const SESSION_MAX_AGE_MS = 30 * 60_000;

/** A serialization failure or a deadlock: nothing was kept, and the same work may well succeed now. */
const TRANSIENT = ['40001', '40P01'];
const TRANSIENT_ATTEMPTS = 2;
/** A prepared statement's columns changed under a deploy. Each session can meet it, so a fresh one tries again. */
const STALE_PLAN = { code: '0A000', routine: 'RevalidateCachedQuery' };

/** The database as the service sees it: transactions, and nothing outside of them. */
export class Database {
  readonly #slots: Slots;
  readonly #attempts: number;
  /** How many sessions there are at most. */
  readonly size: number;

  /** Opens nothing yet: sessions connect when they are first borrowed. */
  constructor(options: DatabaseOptions) {
    this.size = options.slots;
    this.#attempts = options.slots + 1;
    this.#slots = new Slots({
      ...options,
      waitMs: SLOT_WAIT_MS,
      queueLength: QUEUE_LENGTH,
      burstMs: BURST_MS,
      longMs: LONG_MS,
      standingWaitMs: STANDING_WAIT_MS,
      calmMs: CALM_MS,
      maxAgeMs: SESSION_MAX_AGE_MS,
      admit,
    });
  }

  get load(): { lent: number; waiting: number } {
    return this.#slots.load;
  }

  /** Whether one more transaction of this group, a club, would be refused at once, behind so many that are coming. */
  isOverloaded(group: string, coming: number): boolean {
    return this.#slots.isOverloaded(group, coming);
  }

  /** Whether this group, a club, asks for more than it can have, and not only for a moment. */
  isStanding(group: string): boolean {
    return this.#slots.isStanding(group);
  }

  /** How many sessions were opened since the start, and how many of them were lost. */
  get sessions(): { opened: number; lost: number } {
    return this.#slots.sessions;
  }

  /**
   * Runs work in one transaction, on a slot of its own.
   *
   * The work runs again from its beginning when the database asks for it (2 attempts in all for a serialization
   * failure or a deadlock), so it does nothing but query and decide.
   *
   * @throws Unavailable when there is no database to be had, or no answer within the deadline
   * @throws whatever the work, the entry or one of its statements threw
   */
  async transaction<Result, Row>(
    mode: Mode,
    entry: Entry<Row>,
    work: (tx: Transaction) => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(mode, entry, work);
      } catch (error) {
        const limit = isStalePlan(error) ? this.#attempts : isTransient(error) ? TRANSIENT_ATTEMPTS : 1;
        if (attempt >= limit) {
          throw error;
        }
        await sleep(Math.random() * 10);
      }
    }
  }

  /** Refuses new transactions and ends idle sessions; those at work finish first. */
  async close(): Promise<void> {
    await this.#slots.close();
  }

  async #attempt<Result, Row>(
    mode: Mode,
    entry: Entry<Row>,
    work: (tx: Transaction) => Promise<Result>,
  ): Promise<Result> {
    const session = await this.#slots.borrow(entry.group);
    const deadline = setTimeout(() => session.lose(new Unavailable('The deadline passed.')), DEADLINE_MS);
    try {
      return mode === 'read once' && session.ownsBackend
        ? await look(session, entry, work)
        : await runTransaction(session, mode, entry, work);
    } catch (error) {
      if (isStalePlan(error)) {
        session.lose(error);
      }
      throw error;
    } finally {
      clearTimeout(deadline);
      this.#slots.giveBack(session);
    }
  }
}

function isStalePlan(error: unknown): error is Error {
  return isStatementError(error) && error.code === STALE_PLAN.code && error.routine === STALE_PLAN.routine;
}

function isTransient(error: unknown): boolean {
  return isStatementError(error) && TRANSIENT.includes(error.code);
}
