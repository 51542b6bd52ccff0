export interface LineOptions {
  /** How long everybody of a group may wait long before that is no burst any more, in milliseconds. */
  burstMs: number;
  /** How long is long, in milliseconds. */
  longMs: number;
  /** What one waits at most when it is no burst, in milliseconds. */
  standingWaitMs: number;
  /** How long a line that stands must not have been full before its group may bring a burst again, in milliseconds. */
  calmMs: number;
}

/**
 * What is known of a group that waits, and above all whether its line stands: whether the group asks for more than it
 * can have, and does not only bring a burst. Times are of `performance.now()`.
 */
export class Line {
  readonly #options: LineOptions;
  #isStanding = false;
  /** When somebody of it last waited for a short time only. */
  #soonAt: number;
  /** When it was last as long as it may be while it stands. */
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(options: LineOptions, now: number) {
    this.#options = options;
    this.#soonAt = now;
  }

  get isStanding(): boolean {
    return this.#isStanding;
  }

  /** It stands, and is as long as it may be. */
  stand(now: number): void {
    this.#isStanding = true;
    this.#fullAt = now;
  }

  /** Somebody of it is served who waited so long: what that says of the line. */
  look(waitedMs: number, now: number): void {
    const { longMs, standingWaitMs, burstMs } = this.#options;
    if (waitedMs <= longMs) {
      this.#soonAt = now;
    } else if (now - this.#soonAt > burstMs) {
      this.#isStanding = true;
    }
    // A line that is kept short is waited in for a short time, so more than that is asked before it may grow again.
    if (waitedMs <= standingWaitMs / 2 && this.isCalm(now)) {
      this.#isStanding = false;
    }
  }

  /** Whether it has not been full for a while. */
  isCalm(now: number): boolean {
    return now - this.#fullAt >= this.#options.calmMs;
  }
}
