import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';

/** The maximum number of bytes of a body that are discarded after the response. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/**
 * Sends a response that does not depend on the body at once. Then the rest of a long body is discarded, and the connection
 * closes: a client that is still sending when it closes may see a reset and no response (RFC 9112, section 9.6). The time-out
 * of the request applies to the rest too.
 */
export const earlyResponse = plugin(
  async (app) => {
    app.addHook<string | Buffer | null>('onSend', (request, reply, payload, done) => {
      if (!hasLongRest(request)) {
        done();
        return;
      }
      reply.header('connection', 'close');
      if (payload) {
        reply.header('content-length', Buffer.byteLength(payload));
        done(null, Readable.from(thenDiscard(payload, request.raw)));
      } else {
        done();
      }
    });
  },
  { name: 'early-response' },
);

/** Whether a body is incomplete and may exceed the limit. Node.js discards the rest of a shorter one by itself. */
export function hasLongRest({ raw, headers, server }: FastifyRequest): boolean {
  const isLong =
    headers['transfer-encoding'] !== undefined ||
    Number(headers['content-length']) > Number(server.initialConfig.bodyLimit);
  return isLong && !raw.complete;
}

/** The payload, which ends when the rest of the body has been discarded. */
async function* thenDiscard(payload: string | Buffer, body: IncomingMessage) {
  yield payload;
  let discarded = 0;
  try {
    for await (const bytes of body.iterator({ destroyOnReturn: false })) {
      discarded += bytes.length;
      if (discarded > MAX_DISCARDED_BYTES) {
        return;
      }
    }
  } catch {
    // The client has closed the connection.
  }
}
