/** One request: when it was to leave, and after how long which answer was there, in milliseconds. */
export interface Arrival {
  intendedMs: number;
  latencyMs: number;
  /** 0 for a connection that broke, or no answer within the patience; UNSENT for want of a connection. */
  status: number;
}

/** The numbers of one arrival. */
const WIDTH = 3;

/**
 * What is noted of arrivals while they come: as numbers in a row, because the generator shares the processors with
 * what it measures. Hundreds of thousands of objects would be collected while others are waiting for an answer.
 */
export class Arrivals {
  #numbers = new Float64Array(1_024 * WIDTH);
  #length = 0;

  note(intendedMs: number, latencyMs: number, status: number): void {
    if (this.#length === this.#numbers.length) {
      const numbers = new Float64Array(2 * this.#length);
      numbers.set(this.#numbers);
      this.#numbers = numbers;
    }
    this.#numbers[this.#length] = intendedMs;
    this.#numbers[this.#length + 1] = latencyMs;
    this.#numbers[this.#length + 2] = status;
    this.#length += WIDTH;
  }

  /** All of them, in the order in which they were noted. */
  list(): Arrival[] {
    return Array.from({ length: this.#length / WIDTH }, (_, place) => {
      const [intendedMs, latencyMs, status] = this.#numbers.subarray(place * WIDTH, (place + 1) * WIDTH);
      return { intendedMs, latencyMs, status } as Arrival;
    });
  }
}
