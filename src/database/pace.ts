/** Over how long it is counted, in milliseconds; and a guess, as long as nobody has counted. */
const COUNT_MS = 500;
const GUESS_PER_MS = 0.5;

/** How many are served in a millisecond. */
export class Pace {
  #count = 0;
  #since = 0;
  #perMs = GUESS_PER_MS;

  get perMs(): number {
    return this.#perMs;
  }

  /** Counts from now on: nobody was waiting, so what was not served says nothing. */
  restart(): void {
    this.#count = 0;
    this.#since = performance.now();
  }

  /** Counts one who is served. */
  count(): void {
    const now = performance.now();
    this.#count += 1;
    if (now - this.#since >= COUNT_MS) {
      this.#perMs = this.#count / (now - this.#since);
      this.#count = 0;
      this.#since = now;
    }
  }
}
