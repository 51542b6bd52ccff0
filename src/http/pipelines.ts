import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Takes one request of a connection at a time. A client may send the next before it has read the answer to the one
 * before (RFC 9112, 9.3.2), and Node.js hands over all that it has read and keeps the answers: thousands of them for who
 * never reads one, with whatever each of them holds open. So it is the request that waits.
 */
export class Pipelines {
  readonly #most: number;
  /** How many wait, and how many of each connection. */
  #waiting = 0;
  readonly #behind = new Map<Socket, number>();

  /** @param most how many may wait, of all connections; for one more, the connection with the most is cut off */
  constructor(most: number) {
    this.#most = most;
  }

  /** Does it once all answers before this one have been written, or never if the connection closes before. */
  take({ socket }: IncomingMessage, response: ServerResponse, task: () => void): void {
    if (socket.destroyed) {
      return;
    }
    // An answer has the socket when none is before it.
    if (response.socket !== null) {
      task();
      return;
    }
    this.#count(socket, 1);
    response.once('socket', () => {
      this.#count(socket, -1);
      // The answer is not to be written while Node.js hands it the socket.
      queueMicrotask(task);
    });
    if (this.#waiting > this.#most) {
      const longest = this.#longest(socket);
      this.#forget(longest);
      longest.destroy();
    }
  }

  #count(socket: Socket, change: number): void {
    const before = this.#behind.get(socket);
    if (before === undefined) {
      socket.once('close', () => this.#forget(socket));
    }
    this.#behind.set(socket, (before ?? 0) + change);
    this.#waiting += change;
  }

  #forget(socket: Socket): void {
    this.#waiting -= this.#behind.get(socket) ?? 0;
    this.#behind.delete(socket);
  }

  /** The connection on which the most wait; of several, this one. */
  #longest(socket: Socket): Socket {
    let longest = socket;
    let most = this.#behind.get(socket) ?? 0;
    for (const [other, waiting] of this.#behind) {
      if (waiting > most) {
        longest = other;
        most = waiting;
      }
    }
    return longest;
  }
}
