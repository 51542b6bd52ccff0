/** How much time turns take, of that which everything else has taken. */
const SHARE = 0.25;
/** What one takes at most, in milliseconds, and how soon after the last it begins. */
const TURN_MS = 1;
const PAUSE_MS = 1;

/**
 * Does what is small but can come in floods in turns, so that most of the time is left for everything else. What does
 * not fit into a turn waits for a later one; where the process is busy, turns come later, and so fewer of them.
 *
 * Turns are short, because whoever is answered in one asks again at once, and all of that is read in one piece.
 */
export class Turns {
  readonly #line: (() => void)[] = [];
  readonly #longestLine: number;
  #leftMs = TURN_MS;
  #countedAt = performance.now();
  #isAhead = false;

  /** @param longestLine how many may wait for their turn */
  constructor(longestLine: number) {
    this.#longestLine = longestLine;
  }

  /** Does it at once while there is time, else in a later turn; false when the line is full, and it will not be done. */
  take(task: () => void): boolean {
    this.#count();
    if (this.#leftMs > 0 && this.#line.length === 0) {
      this.#do(task);
      return true;
    }
    if (this.#line.length >= this.#longestLine) {
      return false;
    }
    this.#line.push(task);
    this.#plan();
    return true;
  }

  /** Counts what everything else has taken; what it leaves beyond one turn is lost. */
  #count(): void {
    const now = performance.now();
    this.#leftMs = Math.min(TURN_MS, this.#leftMs + (now - this.#countedAt) * SHARE);
    this.#countedAt = now;
  }

  #plan(): void {
    if (!this.#isAhead) {
      this.#isAhead = true;
      setTimeout(() => this.#begin(), PAUSE_MS);
    }
  }

  #begin(): void {
    this.#isAhead = false;
    this.#count();
    let done = 0;
    while (this.#leftMs > 0 && done < this.#line.length) {
      this.#do(this.#line[done] as () => void);
      done += 1;
    }
    this.#line.splice(0, done);
    if (this.#line.length > 0) {
      this.#plan();
    }
  }

  /** Follows a count, or another task; something else that holds the process up meanwhile costs one turn at most. */
  #do(task: () => void): void {
    const began = this.#countedAt;
    task();
    this.#countedAt = performance.now();
    this.#leftMs = Math.max(-TURN_MS, this.#leftMs - (this.#countedAt - began));
  }
}
