import { setImmediate } from 'node:timers/promises';
import { OVERLOADED, Unavailable } from './failures.js';
import { FairQueue } from './fair-queue.js';
import { Line, type LineOptions } from './line.js';
import { Pace } from './pace.js';

export interface WaitingOptions extends LineOptions {
  /** How long one waits at most, in milliseconds. */
  waitMs: number;
  /**
   * How many wait at most, beside the first of each group; when there are more, every line is cut to what it may be when
   * it stands.
   */
  queueLength: number;
}

interface Waiter<Good> {
  group: string;
  since: number;
  resolve: (good: Good) => void;
  reject: (reason: Error) => void;
  timer: NodeJS.Timeout;
}

/** A line of so many is no overload, however slowly it moves; but ten clubs with such lines wait for each other's. */
const SHORT_LINE = 16;
/** Of those whose line is cut so many are told at once. */
const TOLD_AT_ONCE = 8;

/**
 * Those who wait for something, in groups that take turns, and none of them for long.
 *
 * A burst is worked off: whoever came with it waits as long as it takes, up to a limit. Where everybody waits long all
 * the time, or the line fills the house, it is no burst but an overload. There a long wait helps nobody, because as
 * many are served as without it, only later; so the line is kept short, and who would stand too far back is sent away
 * at the door ("controlled delay", Nichols and Jacobson, ACM Queue 10(5), 2012; here by how long the line is and how
 * fast it moves).
 */
export class Waiting<Good> {
  readonly #options: WaitingOptions;
  readonly #queue: FairQueue<Waiter<Good>>;
  /** Of the groups that have somebody waiting, or had more than they may a moment ago. */
  readonly #lines = new Map<string, Line>();
  readonly #pace = new Pace();

  constructor(options: WaitingOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.queueLength);
  }

  get size(): number {
    return this.#queue.size;
  }

  /** Whether this group asks for more than it can have. */
  isStanding(group: string): boolean {
    this.#forget(group);
    return this.#lines.get(group)?.isStanding === true;
  }

  /** Whether one more of this group would be sent away, behind so many that are on their way to the line. */
  isOverloaded(group: string, coming = 0): boolean {
    return this.isStanding(group) && this.#queue.sizeOf(group) + coming >= this.#standingLength();
  }

  /**
   * Waits for its turn.
   *
   * @throws OVERLOADED at once, or when the line is cut; Unavailable when the wait runs out
   */
  wait(group: string): Promise<Good> {
    const since = performance.now();
    if (this.#queue.isFull) {
      this.#cut();
    }
    const isFirst = this.#queue.sizeOf(group) === 0;
    if ((this.#queue.isFull && !isFirst) || this.isOverloaded(group)) {
      throw OVERLOADED;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.remove(group, waiter);
        this.#forget(group);
        reject(new Unavailable('No connection to the database became free in time.'));
      }, this.#options.waitMs);
      if (this.#queue.size === 0) {
        this.#pace.restart();
      }
      const waiter: Waiter<Good> = { group, since, resolve, reject, timer };
      this.#queue.push(group, waiter);
      this.#note(group, since);
    });
  }

  /** Gives to whoever's turn it is, of the groups that may have it; false when there is nobody. */
  serve(mayGo: (group: string) => boolean, give: (group: string) => Good): boolean {
    const waiter = this.#queue.shift(mayGo);
    if (waiter === undefined) {
      return false;
    }
    clearTimeout(waiter.timer);
    this.#pace.count();
    const now = performance.now();
    this.#lines.get(waiter.group)?.look(now - waiter.since, now);
    this.#forget(waiter.group);
    waiter.resolve(give(waiter.group));
    return true;
  }

  /** Sends everybody away. */
  dismiss(reason: Error): void {
    this.#lines.clear();
    for (const waiter of this.#queue.clear()) {
      clearTimeout(waiter.timer);
      waiter.reject(reason);
    }
  }

  /** How long a line may be that stands: groups take turns, so each moves at its part of the pace. */
  #standingLength(): number {
    const { standingWaitMs } = this.#options;
    return Math.max(
      SHORT_LINE,
      Math.floor((standingWaitMs * this.#pace.perMs) / Math.max(1, this.#queue.width)),
    );
  }

  /** Notes that somebody has come. */
  #note(group: string, now: number): void {
    const line = this.#lines.get(group);
    if (line === undefined) {
      this.#lines.set(group, new Line(this.#options, now));
    } else if (line.isStanding && this.#queue.sizeOf(group) >= this.#standingLength()) {
      line.stand(now);
    }
  }

  /** The house is full: every line that is too long is cut, and is a standing one from now on. */
  #cut(): void {
    const now = performance.now();
    const cut: Pick<Waiter<Good>, 'reject' | 'timer'>[] = [];
    for (const group of this.#queue.groups) {
      const waiters = this.#queue.cut(group, this.#standingLength());
      if (waiters.length > 0) {
        this.#lines.get(group)?.stand(now);
        cut.push(...waiters);
      }
    }
    void sendAway(cut);
  }

  /** A group of whom nobody waits has no line, once it is calm. */
  #forget(group: string): void {
    const line = this.#lines.get(group);
    if (line && this.#queue.sizeOf(group) === 0 && line.isCalm(performance.now())) {
      this.#lines.delete(group);
    }
  }
}

/** Some at a time: to tell a thousand at once takes a tenth of a second, in which nobody is served. */
async function sendAway(waiters: Pick<Waiter<never>, 'reject' | 'timer'>[]): Promise<void> {
  while (waiters.length > 0) {
    for (const { reject, timer } of waiters.splice(0, TOLD_AT_ONCE)) {
      clearTimeout(timer);
      reject(OVERLOADED);
    }
    await setImmediate();
  }
}
