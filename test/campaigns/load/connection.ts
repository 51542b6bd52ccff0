import { connect, type Socket } from 'node:net';

/** The result of a request: a status, or 0 for a broken connection or a time-out. */
type OnStatus = (status: number) => void;

/** The time-out of a client, in milliseconds. In the short run, where nothing is timed, it finds a hang only. */
const PATIENCE_MS = process.env.LOAD === 'whole' ? 10_000 : 60_000;
const NOTHING = Buffer.alloc(0);
/** A read buffer shared by all connections; each chunk is parsed before the next is read. */
const READ = Buffer.alloc(65_536);

/**
 * A keep-alive connection with one request at a time, which parses as little of a response as possible, because
 * the generator shares the machine with the service.
 */
export class Connection {
  readonly #socket: Socket;
  #onStatus: OnStatus | undefined;
  #status = 0;
  /** Remaining bytes of the body; -1 during the head. */
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
    this.#socket.setTimeout(PATIENCE_MS, () => this.#onStatus && this.end());
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#finish(0));
  }

  get isBroken(): boolean {
    return this.#socket.destroyed;
  }

  /** Sends a request; `onStatus` is called once. */
  send(request: Uint8Array, onStatus: OnStatus): void {
    this.#onStatus = onStatus;
    this.#socket.write(request);
  }

  /** Aborts the current request. */
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
    const onStatus = this.#onStatus;
    this.#onStatus = undefined;
    onStatus?.(status);
  }
}
