import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';

/** The maximum number of bytes of a body that are discarded after the response. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/**
 * Sends a response that does not depend on the body at once, and discards the rest of the body before the connection closes: a
 * client that is still sending when it closes may see a reset and no response (RFC 9112, section 9.6). The time-out of the
 * request applies to the rest too. After a response without a body nothing is discarded.
 */
export const earlyResponse = plugin(
  async (app) => {
    app.addHook<string | Buffer | null>('onSend', (request, reply, payload, done) => {
      if (payload && request.method !== 'HEAD') {
        done(null, discardingRest(payload, request, reply));
        return;
      }
      if (isCutOff(request, reply)) {
        reply.header('connection', 'close');
      }
      done();
    });
  },
  { name: 'early-response' },
);

/** The payload of a response, which ends when the rest of the body has been discarded, if there is such a rest. */
export function discardingRest(
  payload: string | Buffer,
  request: FastifyRequest,
  reply: FastifyReply,
): string | Buffer | Readable {
  if (!isCutOff(request, reply)) {
    return payload;
  }
  reply.header('connection', 'close').header('content-length', Buffer.byteLength(payload));
  return Readable.from(thenDiscard(payload, request.raw));
}

/**
 * Whether the rest of a body would be cut off: it may exceed the limit, or the connection closes. Node.js discards the rest of a
 * shorter one by itself if the connection stays open, and drops what follows a request with Upgrade.
 */
function isCutOff({ raw, headers, server }: FastifyRequest, reply: FastifyReply): boolean {
  if (raw.complete || headers.upgrade !== undefined) {
    return false;
  }
  const bytes = Number(headers['content-length'] ?? 0);
  const closes = reply.getHeader('connection') === 'close' || !reply.raw.shouldKeepAlive;
  return (
    headers['transfer-encoding'] !== undefined ||
    bytes > Number(server.initialConfig.bodyLimit) ||
    (bytes > 0 && closes)
  );
}

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
