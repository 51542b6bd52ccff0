import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import type { App } from '../../src/app.js';

/** An answer as received. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * Sends bytes, or chunks as they are produced, on a new connection, which is closed after this many answers: 0
 * closes it at once, with Infinity the service closes it. Resolves when it is closed.
 */
export type Raw = (
  bytes: string | Buffer | AsyncIterable<string | Buffer>,
  answers: number,
) => Promise<{ replies: Reply[]; text: string }>;

/** Longer than any correct answer takes, on a slow machine too; a connection that is still open counts as a hang. */
const HANG_MS = 60_000;

/** Makes the service listen, unless it does. */
export async function openWires(app: App): Promise<Raw> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return (bytes, answers) =>
    new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      const socket = connect(port, '127.0.0.1', async () => {
        for await (const part of typeof bytes === 'string' || Buffer.isBuffer(bytes) ? [bytes] : bytes) {
          if (!socket.writable) {
            return;
          }
          socket.write(part);
        }
        if (answers === 0) {
          socket.end();
        }
      });
      socket.setTimeout(HANG_MS, () => socket.destroy(new Error('The connection hangs.')));
      let failure: Error | undefined;
      socket.on('data', (part) => {
        parts.push(part);
        if (readReplies(Buffer.concat(parts).toString('latin1')).length >= answers) {
          socket.end();
        }
      });
      socket.on('error', (error: Error & { code?: string }) => {
        // A service that closes while data is sent resets the connection.
        failure = ['ECONNRESET', 'EPIPE'].includes(error.code ?? '') ? undefined : error;
      });
      socket.on('close', () => {
        const text = Buffer.concat(parts).toString('latin1');
        return failure ? reject(failure) : resolve({ replies: readReplies(text), text });
      });
    });
}

function readReplies(text: string): Reply[] {
  const replies: Reply[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) {
      break;
    }
    const [line = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((header) => [
        header.slice(0, header.indexOf(':')).toLowerCase(),
        header.slice(header.indexOf(':') + 1).trim(),
      ]),
    );
    const size = Number(headers['content-length'] ?? 0);
    const start = end + 4;
    replies.push({ status: Number(line.split(' ')[1]), headers, body: rest.slice(start, start + size) });
    rest = rest.slice(start + size);
  }
  return replies;
}
