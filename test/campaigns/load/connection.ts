import { connect, type Socket } from 'node:net';

/** What became of a request: a status, or 0 when the connection broke or patience ran out. */
type Heard = (status: number) => void;

/** Whoever waits longer for an answer has gone, in milliseconds. */
const PATIENCE_MS = 10_000;
const NOTHING = Buffer.alloc(0);
/** What comes is read into this, by whichever connection, and looked at before the next is read. */
const READ = Buffer.alloc(65_536);

/**
 * A keep-alive connection that carries one request at a time and reads of an answer no more than it must, because
 * the generator shares the machine with what it measures.
 */
export class Connection {
  readonly #socket: Socket;
  #heard: Heard | undefined;
  #status = 0;
  /** Bytes of the body that are still to come; -1 while the head is. */
  #rest = -1;
  #head: Buffer = NOTHING;

  constructor(port: number) {
    const read = (bytes: number) => {
      this.#read(READ.subarray(0, bytes));
      return true;
    };
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: READ, callback: read },
    });
    this.#socket.setTimeout(PATIENCE_MS, () => this.#heard && this.end());
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#finish(0));
  }

  get isBroken(): boolean {
    return this.#socket.destroyed;
  }

  /** Sends a request; `heard` is called once. */
  send(request: Uint8Array, heard: Heard): void {
    this.#heard = heard;
    this.#socket.write(request);
  }

  /** Gives up on whatever is under way. */
  end(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    let bodyBytes = chunk.length;
    if (this.#rest < 0) {
      const bytes = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) {
        this.#head = Buffer.from(bytes);
        return;
      }
      const head = bytes.toString('latin1', 0, end);
      this.#status = Number(head.slice(9, 12));
      this.#rest = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      bodyBytes = bytes.length - end - 4;
      this.#head = NOTHING;
    }
    this.#rest -= bodyBytes;
    if (this.#rest <= 0) {
      this.#rest = -1;
      this.#finish(this.#status);
    }
  }

  #finish(status: number): void {
    const heard = this.#heard;
    this.#heard = undefined;
    heard?.(status);
  }
}
