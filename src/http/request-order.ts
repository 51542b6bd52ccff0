import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The maximum number of pipelined requests that wait on one connection. */
const MAX_WAITING = 16;

interface Connection {
  /** Resolves when every request so far has its response. */
  responded: Promise<void>;
  pending: number;
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Handles the requests of a connection one after another. RFC 9112, 9.3.2, allows parallel handling of pipelined requests
 * only if their methods are safe, and requires responses in the order of the requests.
 */
export class RequestOrder {
  readonly #connections = new WeakMap<Socket, Connection>();

  /** Handles a request after the previous one of its connection; more than `MAX_WAITING` close the connection. */
  take(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const { socket } = request;
    const before = this.#connections.get(socket);
    const pending = before?.pending ?? 0;
    if (pending > MAX_WAITING) {
      socket.destroy();
      return;
    }
    const connection: Connection = before ?? { responded: Promise.resolve(), pending, request, response };
    this.#connections.set(socket, Object.assign(connection, { request, response, pending: pending + 1 }));
    const closed = new Promise<void>((resolve) => response.once('close', resolve)).then(() => {
      connection.pending -= 1;
    });
    // After a response with Connection: close no further request is handled (RFC 9112, 9.6).
    const handleWhileOpen = () => {
      if (socket.writable) {
        handle();
      }
      return closed;
    };
    connection.responded = pending === 0 ? handleWhileOpen() : connection.responded.then(handleWhileOpen);
  }

  /** Whether an unreadable message is the rest of a request that has its response. */
  isRestOfRequest(socket: Socket): boolean {
    const { request, response } = this.#connections.get(socket) ?? {};
    return request?.complete === false && response?.headersSent === true;
  }

  /**
   * Whether the error of an unreadable message may be written to the socket: every complete request before it has its
   * response, and no response to it has started.
   */
  mayWriteError(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) {
      return true;
    }
    const { request, response, pending } = connection;
    // If the last request is complete, the unreadable message follows it; otherwise it is the body of that request.
    return request.complete ? pending === 0 : pending === 1 && !response.headersSent;
  }
}
