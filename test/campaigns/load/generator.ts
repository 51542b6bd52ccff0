import { type Arrival, Arrivals } from './arrivals.js';
import { Connection } from './connection.js';

/** A request as it goes over the wire. */
export type Request = Uint8Array;

export interface Drive {
  ratePerSecond: number;
  seconds: number;
  next: () => Request;
}

/** The status of a request that was not sent, because all connections were waiting for answers. */
export const UNSENT = -1;
/** Fewer than the service takes by default. */
const MOST_CONNECTIONS = 4_500;
const CONNECTED_AT_ONCE = 500;

/**
 * An open-loop generator: requests leave on a schedule, whether or not earlier ones have been answered, and their
 * latency counts from the moment they were to leave. A generator that waits for answers asks less of a service that
 * is slow, and so never sees how slow it is ("coordinated omission", Gil Tene).
 */
export class Generator {
  readonly #port: number;
  readonly #idle: Connection[] = [];
  #open = 0;

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  /** Sends at a rate, with the gaps of a Poisson process; resolves when each request has been answered or given up. */
  drive({ ratePerSecond, seconds, next }: Drive): Promise<Arrival[]> {
    let leaveMs = 0;
    return this.#run(() => {
      leaveMs += (-Math.log(1 - Math.random()) * 1_000) / ratePerSecond;
      return leaveMs < seconds * 1_000 ? { leaveMs, request: next() } : undefined;
    });
  }

  /** Sends these requests, spread evenly over so many seconds. */
  send(requests: Request[], seconds: number): Promise<Arrival[]> {
    let sent = 0;
    return this.#run(() => {
      const request = requests[sent];
      const leaveMs = (sent * seconds * 1_000) / requests.length;
      sent += 1;
      return request && { leaveMs, request };
    });
  }

  /**
   * Connects anew, as often as may be, by connections each of which has been accepted and carried this request. What was
   * idle for longer than the service keeps it open would be closed under a request; and of more than wait to be accepted
   * at a time the system drops some.
   */
  async connect(request: Request): Promise<void> {
    this.close();
    while (this.#open < MOST_CONNECTIONS) {
      const some = Array.from({ length: CONNECTED_AT_ONCE }, () => new Connection(this.#port));
      this.#open += some.length;
      await Promise.all(
        some.map((connection) => new Promise<number>((heard) => connection.send(request, heard))),
      );
      this.#idle.push(...some);
    }
  }

  /** Closes what is open. */
  close(): void {
    for (const connection of this.#idle.splice(0)) {
      connection.end();
      this.#open -= 1;
    }
  }

  #run(draw: () => { leaveMs: number; request: Request } | undefined): Promise<Arrival[]> {
    const arrivals = new Arrivals();
    const began = performance.now();
    let under = 0;
    let next = draw();
    return new Promise((resolve) => {
      const resolveWhenOver = () => {
        if (next === undefined && under === 0) {
          resolve(arrivals.list());
        }
      };
      const leave = () => {
        while (next !== undefined && next.leaveMs <= performance.now() - began) {
          const { request, leaveMs: intendedMs } = next;
          under += 1;
          this.#send(request, (status) => {
            arrivals.note(intendedMs, performance.now() - began - intendedMs, status);
            under -= 1;
            resolveWhenOver();
          });
          next = draw();
        }
        if (next !== undefined) {
          setTimeout(leave, 1);
        }
        resolveWhenOver();
      };
      leave();
    });
  }

  #send(request: Request, heard: (status: number) => void): void {
    const connection = this.#take();
    if (connection === undefined) {
      heard(UNSENT);
      return;
    }
    connection.send(request, (status) => {
      if (connection.isBroken) {
        this.#open -= 1;
      } else {
        this.#idle.push(connection);
      }
      heard(status);
    });
  }

  #take(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) {
        break;
      }
      if (!connection.isBroken) {
        return connection;
      }
      this.#open -= 1;
    }
    if (this.#open >= MOST_CONNECTIONS) {
      return undefined;
    }
    this.#open += 1;
    return new Connection(this.#port);
  }
}
