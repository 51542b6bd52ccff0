import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How long a connection is held at most, in milliseconds: less than whoever is refused is asked to wait (Retry-After). */
const HOLD_MS = 600;
/** How often it is looked whose hold may end, in milliseconds, and at how many of those who have been held longest. */
const LOOK_EVERY_MS = 5;
const LOOK_AT = 16;
/** A connection that carries more groups than this is taken for a proxy's. */
const MOST_GROUPS = 16;
/** A request that came through a proxy has one of these. */
const PROXY_HEADERS = ['x-forwarded-for', 'forwarded', 'via'];

export interface HoldOptions {
  /** Whether it is right to let a group wait that is refused nothing at this moment. */
  mayWait: (group: string) => boolean;
  /** Whether a request of the group would not be refused. */
  hasRoom: (group: string) => boolean;
}

/** What is known of a connection. */
interface Carrier {
  /** Whose requests it has carried. */
  groups: Set<string>;
  /** How many it has carried, and how many it had when one was refused last. */
  requests: number;
  refusedAt: number;
}

/**
 * Leaves connections unread for a while on which one request after the other is refused: until there is room, but not
 * for long. What is sent on them waits in the kernel. Read and kept here it would be copied by every garbage collection,
 * for which everybody waits.
 *
 * Groups can share a connection, above all behind a proxy. So one is held only if all that it has carried may wait, and
 * no proxy has put its name to the request.
 */
export class Holds {
  readonly #options: HoldOptions;
  readonly #carriers = new WeakMap<Socket, Carrier>();
  /** Of each held connection who was refused, and when it is read again at the latest; the longest held comes first. */
  readonly #held = new Map<Socket, { group: string; until: number }>();

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  /** Notes that this request is one of this group. */
  note({ socket }: IncomingMessage, group: string): void {
    let carrier = this.#carriers.get(socket);
    if (carrier === undefined) {
      carrier = { groups: new Set(), requests: 0, refusedAt: -1 };
      this.#carriers.set(socket, carrier);
    }
    carrier.requests += 1;
    if (carrier.groups.size <= MOST_GROUPS) {
      carrier.groups.add(group);
    }
  }

  /** Holds the connection of this request, which was refused like the one before, if nobody is on it who may not wait. */
  hold({ socket, headers }: IncomingMessage, group: string): void {
    const carrier = this.#carriers.get(socket);
    if (carrier === undefined || this.#held.has(socket)) {
      return;
    }
    const isFirst = carrier.refusedAt !== carrier.requests - 1;
    carrier.refusedAt = carrier.requests;
    const isShared = carrier.groups.size > MOST_GROUPS || PROXY_HEADERS.some((name) => name in headers);
    if (isFirst || isShared || ![...carrier.groups].every(this.#options.mayWait)) {
      return;
    }
    if (this.#held.size === 0) {
      this.#plan();
    }
    this.#held.set(socket, { group, until: performance.now() + HOLD_MS });
    socket.pause();
  }

  #plan(): void {
    setTimeout(() => this.#look(), LOOK_EVERY_MS);
  }

  #look(): void {
    const now = performance.now();
    let looks = 0;
    for (const [socket, { group, until }] of this.#held) {
      if (until > now) {
        looks += 1;
        if (looks > LOOK_AT) {
          break;
        }
        if (!this.#options.hasRoom(group)) {
          continue;
        }
      }
      this.#held.delete(socket);
      socket.resume();
    }
    if (this.#held.size > 0) {
      this.#plan();
    }
  }
}
