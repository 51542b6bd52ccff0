import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { syncHook } from './sync-hook.js';

/** The status of a request whose connection was closed before its response was sent; logs of nginx have the same. */
const CLOSED = 499;

/**
 * Calls a function once for each request when it has ended, unless the connection was closed before the request was complete
 * or had a response. Fastify's hook onResponse is not called if the connection was closed before.
 *
 * @param ended gets the status of the response; 499 when the connection was closed before it was sent
 */
export function onRequestEnd(
  app: FastifyInstance,
  ended: (request: FastifyRequest, reply: FastifyReply, status: number) => void,
): void {
  app.addHook(
    'onRequest',
    syncHook((request, reply) => {
      let isSent = false;
      reply.raw.once('finish', () => {
        isSent = true;
        ended(request, reply, reply.statusCode);
      });
      reply.raw.once('close', () => {
        if (isSent) {
          return;
        }
        if (request.raw.complete) {
          ended(request, reply, CLOSED);
        } else if (reply.raw.headersSent) {
          // An early response is sent before its request is complete.
          ended(request, reply, reply.statusCode);
        }
      });
    }),
  );
}
