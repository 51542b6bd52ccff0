import { once } from 'node:events';
import net from 'node:net';

/** A raw response, decoded as Latin-1, which is cheapest. */
export interface WireResponse {
  status: number;
  head: string;
  body: string;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);

/**
 * A keep-alive connection of HTTP/1.1 that sends a request after the response to the one before. It supports only the format
 * of the contenders' responses, to use little of the processors that the load generator shares with them.
 */
export class Wire {
  readonly #socket: net.Socket;
  #unread: Buffer = NOTHING;
  #onResponse: ((response: WireResponse) => void) | undefined;
  #onFailure: ((error: Error) => void) | undefined;
  #failure: Error | undefined;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  /** Connects to a port of this machine. */
  static async connect(port: number): Promise<Wire> {
    const socket = net.connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Wire(socket);
  }

  /** Sends a complete request; the callbacks get its response. */
  send(
    request: string,
    onResponse: (response: WireResponse) => void,
    onFailure: (error: Error) => void,
  ): void {
    if (this.#failure !== undefined) {
      onFailure(this.#failure);
      return;
    }
    this.#onResponse = onResponse;
    this.#onFailure = onFailure;
    this.#socket.write(request, 'latin1');
  }

  /** The same as a promise, for requests that are not measured. */
  request(request: string): Promise<WireResponse> {
    return new Promise((resolve, reject) => this.send(request, resolve, reject));
  }

  close(): void {
    this.#onFailure = undefined;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    const fail = this.#onFailure;
    this.#onFailure = undefined;
    fail?.(this.#failure);
  }

  #read(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    const end = this.#unread.indexOf(HEAD_END);
    if (end < 0) {
      return;
    }
    const head = this.#unread.toString('latin1', 0, end);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (/\r\ntransfer-encoding:/i.test(head)) {
      this.#fail(new Error('the response is chunked, which the load generator does not support'));
      return;
    }
    const whole = end + HEAD_END.length + length;
    if (this.#unread.length < whole) {
      return;
    }
    const body = this.#unread.toString('latin1', end + HEAD_END.length, whole);
    this.#unread = this.#unread.length === whole ? NOTHING : this.#unread.subarray(whole);
    this.#onFailure = undefined;
    this.#onResponse?.({ status: Number(head.slice(9, 12)), head, body });
  }
}
