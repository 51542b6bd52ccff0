import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that wait for the answers before theirs. */
const MAX_WAITING = 16;

interface Connection {
  /** Resolves when every request so far was answered. */
  answered: Promise<void>;
  unanswered: number;
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Handles the requests of a connection one after another: RFC 9112, 9.3.2, permits to handle pipelined requests in
 * parallel only where their methods are safe, and requires answers in the order of the requests.
 */
export class RequestOrder {
  readonly #connections = new WeakMap<Socket, Connection>();

  /** Handles a request once the one before it on its connection was answered; one too many closes the connection. */
  take(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const { socket } = request;
    const before = this.#connections.get(socket);
    const unanswered = before?.unanswered ?? 0;
    if (unanswered > MAX_WAITING) {
      socket.destroy();
      return;
    }
    const connection: Connection = before ?? { answered: Promise.resolve(), unanswered, request, response };
    this.#connections.set(
      socket,
      Object.assign(connection, { request, response, unanswered: unanswered + 1 }),
    );
    const closed = new Promise<void>((resolve) => response.once('close', resolve)).then(() => {
      connection.unanswered -= 1;
    });
    if (unanswered === 0) {
      connection.answered = closed;
      handle();
      return;
    }
    connection.answered = connection.answered.then(() => {
      if (!socket.destroyed) {
        handle();
      }
      return closed;
    });
  }

  /**
   * Whether the next answer on the socket is that of a message that could not be read: no complete request in front of
   * it is unanswered, and no answer to it has begun.
   */
  mayAnswerBroken(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) {
      return true;
    }
    const { request, response, unanswered } = connection;
    // Where the last request is complete, the broken message is behind it; otherwise it is the body of that request.
    return request.complete ? unanswered === 0 : unanswered === 1 && !response.headersSent;
  }
}
