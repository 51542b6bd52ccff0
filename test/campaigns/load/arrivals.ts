/** One request: its scheduled time, its latency in milliseconds, and its status. */
export interface Arrival {
  intendedMs: number;
  latencyMs: number;
  /** 0 for a broken connection or a time-out; UNSENT when no connection was free. */
  status: number;
}

/** The numbers of one arrival. */
const WIDTH = 3;

/**
 * Records arrivals as numbers in an array, because the generator shares the processors with
 * the service. Hundreds of thousands of objects would cause garbage collection during the measurement.
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

  /** All arrivals, in order of recording. */
  list(): Arrival[] {
    return Array.from({ length: this.#length / WIDTH }, (_, place) => {
      const [intendedMs, latencyMs, status] = this.#numbers.subarray(place * WIDTH, (place + 1) * WIDTH);
      return { intendedMs, latencyMs, status } as Arrival;
    });
  }
}
