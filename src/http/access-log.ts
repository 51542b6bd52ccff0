import { isIP } from 'node:net';
import sensible from '@fastify/sensible';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { immediate } from './immediate.js';
import { onRequestEnd } from './request-end.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's IP address for the log. It is stored, because a closed socket has no address any more. */
    address: string;
  }
}

/** A response depends on the caller and the club, so only the caller's own cache may store it. */
export const CACHE_CONTROL = 'private, no-cache';
/** The request headers on which a response depends. */
export const VARY = ['Authorization', 'X-Tenant-Id'];

/**
 * The headers of every response, and the access log: one line per request. It has the route and not the URL, so no
 * parameter, body or token is logged.
 */
export const accessLog = plugin(
  async (app) => {
    await app.register(sensible);

    app.decorateRequest('address', '');
    app.addHook(
      'onRequest',
      immediate((request, reply) => {
        request.address = addressOf(request);
        reply.header('x-request-id', request.id);
        reply.header('cache-control', CACHE_CONTROL);
        reply.vary(VARY);
      }),
    );

    onRequestEnd(app, (request, reply, status) => {
      request.log.info(
        {
          method: request.method,
          route: request.routeOptions.url ?? null,
          status,
          code: request.problem?.code,
          reason: request.problem?.reason,
          committed: request.problem?.committed,
          ms: Math.round(reply.elapsedTime * 10) / 10,
          ip: request.address,
          tenant: request.tenant?.id,
          member: request.memberId ?? undefined,
        },
        'request',
      );
    });
  },
  { name: 'access-log' },
);

/** The address of the client; `unknown` when X-Forwarded-For of a trusted proxy holds another text. */
export function addressOf({ ip }: FastifyRequest): string {
  return isIP(ip) === 0 ? 'unknown' : ip;
}
