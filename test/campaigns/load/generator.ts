import { randomOf, seedOf } from '../random.js';
import { type Arrival, Arrivals } from './arrivals.js';
import { Connection } from './connection.js';

/** Which requests are sent, and when: the same in every run without SEED, so that runs can be compared. */
export const random = randomOf(seedOf(false));

/** The bytes of a request. */
export type Request = Uint8Array;

export interface Drive {
  ratePerSecond: number;
  seconds: number;
  next: () => Request;
}

/** The status of a request that was not sent, because all connections were busy. */
export const UNSENT = -1;
/** The part of the service's limit that it uses. */
const SHARE_OF_CONNECTIONS = 0.9;
const CONNECTED_AT_ONCE = 500;

/**
 * An open-loop generator: requests are sent on a schedule, independent of earlier responses, and their
 * latency counts from the scheduled time. A generator that waits for responses sends less to a slow
 * service and so underestimates its latency ("coordinated omission", Gil Tene).
 */
export class Generator {
  readonly #port: number;
  readonly #maxConnections: number;
  /** The connections that it leaves to others. */
  readonly rest: number;
  readonly #idle: Connection[] = [];
  #open = 0;

  /** @param limit the connections that the service allows */
  constructor(url: string, limit: number) {
    this.#port = Number(new URL(url).port);
    this.#maxConnections = Math.ceil(limit * SHARE_OF_CONNECTIONS);
    this.rest = limit - this.#maxConnections;
  }

  /** Sends at a rate, as a Poisson process; resolves when each request is answered or timed out. */
  drive({ ratePerSecond, seconds, next }: Drive): Promise<Arrival[]> {
    let leaveMs = 0;
    return this.#run(() => {
      leaveMs += (-Math.log(1 - random()) * 1_000) / ratePerSecond;
      return leaveMs < seconds * 1_000 ? { leaveMs, request: next() } : undefined;
    });
  }

  /** Sends these requests, spread evenly over this many seconds. */
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
   * Opens new connections, up to the maximum, and sends this request on each. The service would close
   * connections that are idle for too long during a request; and the system drops connections beyond
   * the accept backlog.
   */
  async connect(request: Request): Promise<void> {
    this.close();
    while (this.#open < this.#maxConnections) {
      const length = Math.min(CONNECTED_AT_ONCE, this.#maxConnections - this.#open);
      const some = Array.from({ length }, () => new Connection(this.#port));
      this.#open += some.length;
      await Promise.all(
        some.map((connection) => new Promise<number>((onStatus) => connection.send(request, onStatus))),
      );
      this.#idle.push(...some);
    }
  }

  /** Closes all connections. */
  close(): void {
    for (const connection of this.#idle.splice(0)) {
      connection.end();
      this.#open -= 1;
    }
  }

  #run(nextArrival: () => { leaveMs: number; request: Request } | undefined): Promise<Arrival[]> {
    const arrivals = new Arrivals();
    const began = performance.now();
    let under = 0;
    let next = nextArrival();
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
          next = nextArrival();
        }
        if (next !== undefined) {
          setTimeout(leave, 1);
        }
        resolveWhenOver();
      };
      leave();
    });
  }

  #send(request: Request, onStatus: (status: number) => void): void {
    const connection = this.#take();
    if (connection === undefined) {
      onStatus(UNSENT);
      return;
    }
    connection.send(request, (status) => {
      if (connection.isBroken) {
        this.#open -= 1;
      } else {
        this.#idle.push(connection);
      }
      onStatus(status);
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
    if (this.#open >= this.#maxConnections) {
      return undefined;
    }
    this.#open += 1;
    return new Connection(this.#port);
  }
}
