import { RoundRobinQueue } from '../database/round-robin-queue.js';

/** What requests may take of one round of the event loop, in milliseconds; and of one in which somebody has connected. */
const ROUND_MS = 0.5;
const ROUND_OF_ARRIVAL_MS = 0.1;

/**
 * Keeps the rounds of the event loop short. Node.js accepts one connection in each (libuv does since 1.45), so while a
 * flood is read and refused in long rounds, whoever connects waits for seconds, the probe of an orchestrator as well.
 * What does not fit into a round waits in groups that take turns, so that who asks now and then is not behind a flood.
 */
export class Rounds {
  readonly #line = new RoundRobinQueue<() => void>();
  #leftMs = ROUND_MS;
  #isUnderWay = false;
  #hasArrival = false;

  /** Somebody has connected, and more may be waiting for it. */
  arrive(): void {
    this.#hasArrival = true;
    this.#begin();
  }

  /** Does it at once while there is time for it in this round, else in a later one. */
  take(group: string, task: () => void): void {
    this.#begin();
    if (this.#leftMs > 0 && this.#line.size === 0) {
      this.#do(task);
    } else {
      this.#line.push(group, task);
    }
  }

  #begin(): void {
    if (!this.#isUnderWay) {
      this.#isUnderWay = true;
      setImmediate(() => this.#end());
    }
  }

  #end(): void {
    this.#isUnderWay = false;
    this.#leftMs = this.#hasArrival ? ROUND_OF_ARRIVAL_MS : ROUND_MS;
    this.#hasArrival = false;
    while (this.#leftMs > 0 && this.#line.size > 0) {
      this.#line.shift((task) => {
        this.#do(task);
        return true;
      });
    }
    if (this.#line.size > 0) {
      this.#begin();
    }
  }

  #do(task: () => void): void {
    const began = performance.now();
    task();
    this.#leftMs -= performance.now() - began;
  }
}
