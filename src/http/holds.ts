import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How long a connection is held at most, in milliseconds: less than whoever is refused is asked to wait (Retry-After). */
const HOLD_MS = 600;
/** How often it is looked whose hold may end, in milliseconds, and how many of a group that has room are released. */
const LOOK_EVERY_MS = 5;
const RELEASED_AT_ONCE = 4;
/** A connection that carries more groups than this is taken for a proxy's. */
const MOST_GROUPS = 16;
/** A request that came through a proxy has one of these. */
const PROXY_HEADERS = ['x-forwarded-for', 'forwarded', 'via'];

export interface HoldOptions {
  /** Whether the group asks for so much that its requests may be delayed, even such as would not be refused. */
  mayWait: (group: string) => boolean;
  /** Whether a request of the group would not be refused at this moment. */
  hasRoom: (group: string) => boolean;
}

/** What is known of a connection. */
interface Carrier {
  /** Whose requests it has carried. */
  groups: Set<string>;
  /** How many it has carried, and how many it had when one was refused last. */
  requests: number;
  refusedAt: number;
  /** When it is read again at the latest, while it is held. */
  heldUntil: number | undefined;
}

/**
 * Leaves connections unread for a while on which one request after the other is refused: until there is room, but not
 * for long. What is sent on them waits in the kernel. Read and kept here it would be copied by every garbage collection,
 * for which everybody waits. It saves work and keeps nobody out: what has been read of several requests at once is
 * answered meanwhile.
 *
 * Groups can share a connection, above all behind a proxy, and whose request comes next is not known. So one is held
 * only if all that it has carried may wait, and no proxy has put its name to the request.
 */
export class Holds {
  readonly #options: HoldOptions;
  readonly #carriers = new WeakMap<Socket, Carrier>();
  /** What is held, by the group that was refused; the longest held comes first. */
  readonly #held = new Map<string, Map<Socket, Carrier>>();

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  /** Notes that this request is one of this group. The group's name is kept, so it must not be any text of any length. */
  note({ socket }: IncomingMessage, group: string): void {
    let carrier = this.#carriers.get(socket);
    if (carrier === undefined) {
      carrier = { groups: new Set(), requests: 0, refusedAt: -1, heldUntil: undefined };
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
    if (carrier === undefined || carrier.heldUntil !== undefined) {
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
    const own = this.#held.get(group) ?? new Map<Socket, Carrier>();
    this.#held.set(group, own.set(socket, carrier));
    carrier.heldUntil = performance.now() + HOLD_MS;
    socket.pause();
  }

  #plan(): void {
    setTimeout(() => this.#look(), LOOK_EVERY_MS);
  }

  #look(): void {
    const now = performance.now();
    for (const [group, own] of this.#held) {
      let early = this.#options.hasRoom(group) ? RELEASED_AT_ONCE : 0;
      for (const [socket, carrier] of own) {
        if ((carrier.heldUntil ?? 0) > now) {
          if (early === 0) {
            break;
          }
          early -= 1;
        }
        own.delete(socket);
        carrier.heldUntil = undefined;
        socket.resume();
      }
      if (own.size === 0) {
        this.#held.delete(group);
      }
    }
    if (this.#held.size > 0) {
      this.#plan();
    }
  }
}
