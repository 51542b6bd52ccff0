import { OVERLOADED, Unavailable } from './failures.js';
import { FairQueue } from './fair-queue.js';

export interface WaitingOptions {
  /** How long one waits at most, in milliseconds. */
  waitMs: number;
  /** How many wait at most; when there are more, every line is cut to what it may be when it stands. */
  queueLength: number;
  /** How long a group's line may stand before it is no burst any more, in milliseconds. */
  burstMs: number;
  /** How long one may have to wait in a line that stands longer, in milliseconds. */
  standingWaitMs: number;
}

interface Waiter<Good> {
  group: string;
  resolve: (good: Good) => void;
  reject: (reason: Error) => void;
  timer: NodeJS.Timeout;
}

/** A line that was away for less than this has stood all the time, in milliseconds. */
const GAP_MS = 1_000;
/** Over how long it is counted how many are served, in milliseconds; and a guess, as long as nobody has counted. */
const COUNT_MS = 500;
const GUESS_PER_MS = 0.5;

/**
 * Those who wait for something, in groups that take turns, and none of them for long.
 *
 * A burst is worked off: whoever came with it waits as long as it takes, up to a limit. A line that never ends, or
 * that fills the house, is no burst but an overload. There a long wait helps nobody, because as many are served as
 * without it, only later; so the line is kept short, and who would stand too far back is sent away at the door
 * ("controlled delay", Nichols and Jacobson, ACM Queue 10(5), 2012; here by how long the line is and how fast it moves).
 */
export class Waiting<Good> {
  readonly #options: WaitingOptions;
  readonly #queue: FairQueue<Waiter<Good>>;
  /** Since when each group's line has stood, and when somebody last came into it. */
  readonly #lines = new Map<string, { since: number; seen: number }>();
  readonly #pace = { count: 0, since: 0, perMs: GUESS_PER_MS };

  constructor(options: WaitingOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.queueLength);
  }

  get size(): number {
    return this.#queue.size;
  }

  /** Whether one more of this group would be sent away. */
  isOverloaded(group: string): boolean {
    const since = this.#lines.get(group)?.since;
    return (
      since !== undefined &&
      performance.now() - since > this.#options.burstMs &&
      this.#queue.sizeOf(group) >= this.#standingLength()
    );
  }

  /**
   * Waits for its turn.
   *
   * @throws OVERLOADED at once, or when the line is cut; Unavailable when the wait runs out
   */
  wait(group: string): Promise<Good> {
    this.#see(group);
    if (this.#queue.isFull) {
      this.#cut();
    }
    if (this.#queue.isFull || this.isOverloaded(group)) {
      throw OVERLOADED;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.remove(group, waiter);
        reject(new Unavailable('No connection to the database became free in time.'));
      }, this.#options.waitMs);
      const waiter: Waiter<Good> = { group, resolve, reject, timer };
      this.#queue.push(group, waiter);
    });
  }

  /** Gives to whoever's turn it is, of the groups that may have it; false when there is nobody. */
  serve(mayGo: (group: string) => boolean, give: (group: string) => Good): boolean {
    const waiter = this.#queue.shift(mayGo);
    if (waiter === undefined) {
      return false;
    }
    clearTimeout(waiter.timer);
    this.#keepPace();
    waiter.resolve(give(waiter.group));
    return true;
  }

  /** Sends everybody away. */
  dismiss(reason: Error): void {
    for (const waiter of this.#queue.clear()) {
      clearTimeout(waiter.timer);
      waiter.reject(reason);
    }
  }

  /** How long a line may be that stands: groups take turns, so each moves at its part of the pace. */
  #standingLength(): number {
    const { standingWaitMs } = this.#options;
    return Math.max(1, Math.floor((standingWaitMs * this.#pace.perMs) / Math.max(1, this.#queue.width)));
  }

  /** The house is full: every line that is too long is cut, and is a standing one from now on. */
  #cut(): void {
    const length = this.#standingLength();
    for (const group of this.#queue.groups) {
      for (const waiter of this.#queue.cut(group, length)) {
        clearTimeout(waiter.timer);
        waiter.reject(OVERLOADED);
        this.#lines.set(group, { since: Number.NEGATIVE_INFINITY, seen: performance.now() });
      }
    }
  }

  /** Notes that a group waits; forgets those that have not for a while. */
  #see(group: string): void {
    const now = performance.now();
    if (this.#queue.size === 0) {
      this.#pace.count = 0;
      this.#pace.since = now;
    }
    const line = this.#lines.get(group);
    if (line !== undefined && now - line.seen <= GAP_MS) {
      line.seen = now;
      return;
    }
    for (const [other, { seen }] of this.#lines) {
      if (now - seen > GAP_MS) {
        this.#lines.delete(other);
      }
    }
    this.#lines.set(group, { since: now, seen: now });
  }

  #keepPace(): void {
    const now = performance.now();
    this.#pace.count += 1;
    if (now - this.#pace.since >= COUNT_MS) {
      this.#pace.perMs = this.#pace.count / (now - this.#pace.since);
      this.#pace.count = 0;
      this.#pace.since = now;
    }
  }
}
