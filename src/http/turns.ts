/** A turn begins this often, in milliseconds, and so much of that time it takes. */
const TURN_MS = 10;
const SPENT_MS = 2;

/**
 * Does what is small but can come in floods in turns, so that most of the time is left for everything else. What does
 * not fit into a turn waits for a later one; where the process is busy, turns come later, and so fewer of them.
 */
export class Turns {
  readonly #line: (() => void)[] = [];
  readonly #longestLine: number;
  #leftMs = SPENT_MS;
  #isUnderWay = false;

  /** @param longestLine how many may wait for their turn */
  constructor(longestLine: number) {
    this.#longestLine = longestLine;
  }

  /** Does it at once while the turn lasts, else in a later turn; false when the line is full, and it will not be done. */
  take(task: () => void): boolean {
    if (!this.#isUnderWay) {
      this.#begin();
    }
    if (this.#leftMs > 0) {
      this.#do(task);
      return true;
    }
    return this.#line.length < this.#longestLine && this.#line.push(task) > 0;
  }

  #begin(): void {
    this.#isUnderWay = true;
    this.#leftMs = SPENT_MS;
    setTimeout(() => this.#end(), TURN_MS);
  }

  #end(): void {
    this.#isUnderWay = false;
    if (this.#line.length === 0) {
      return;
    }
    this.#begin();
    let done = 0;
    while (this.#leftMs > 0 && done < this.#line.length) {
      this.#do(this.#line[done] as () => void);
      done += 1;
    }
    this.#line.splice(0, done);
  }

  #do(task: () => void): void {
    const began = performance.now();
    task();
    this.#leftMs -= performance.now() - began;
  }
}
