/** How long a turn is, in milliseconds, and how late it may come before fewer fit into the next. */
const TURN_MS = 20;
const LATE_MS = 10;
const FEWEST = 20;
const MOST = 200;
const MORE = 20;

/**
 * Does what is small but can come in floods in turns, so that it leaves time for everything else. A turn that comes late
 * says that there is too much to do: half as many fit into the next one. One that comes in time lets some more in.
 */
export class Turns {
  readonly #line: (() => void)[] = [];
  readonly #longestLine: number;
  #size = MOST;
  #left = MOST;
  #dueAt = 0;
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
    if (this.#left > 0) {
      this.#left -= 1;
      task();
      return true;
    }
    return this.#line.length < this.#longestLine && this.#line.push(task) > 0;
  }

  #begin(): void {
    this.#isUnderWay = true;
    this.#left = this.#size;
    this.#dueAt = performance.now() + TURN_MS;
    setTimeout(() => this.#end(), TURN_MS);
  }

  #end(): void {
    const isLate = performance.now() - this.#dueAt > LATE_MS;
    this.#size = isLate ? Math.max(FEWEST, this.#size >> 1) : Math.min(MOST, this.#size + MORE);
    this.#isUnderWay = false;
    if (this.#line.length > 0) {
      this.#begin();
      for (const task of this.#line.splice(0, this.#left)) {
        this.#left -= 1;
        task();
      }
    }
  }
}
