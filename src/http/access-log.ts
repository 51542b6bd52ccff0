import { isIP } from 'node:net';
import sensible from '@fastify/sensible';
import plugin from 'fastify-plugin';
import { immediate } from './immediate.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends, for the log; kept, because a connection that was closed has forgotten. */
    address: string;
  }
}

/**
 * What every answer carries, and the one log line of every request: route and not URL, so that no parameter,
 * body or token is logged.
 */
export const responses = plugin(
  async (app) => {
    await app.register(sensible);

    app.decorateRequest('address', '');
    app.addHook(
      'onRequest',
      immediate((request, reply) => {
        // A trusted proxy may pass on anything as X-Forwarded-For.
        request.address = isIP(request.ip) === 0 ? 'unknown' : request.ip;
        reply.header('x-request-id', request.id);
        // An answer depends on who asks and for which club; only the caller's own cache may keep it.
        reply.header('cache-control', 'private, no-cache');
        reply.vary(['Authorization', 'X-Tenant-Id']);
      }),
    );

    app.addHook(
      'onResponse',
      immediate((request, reply) => {
        request.log.info(
          {
            method: request.method,
            route: request.routeOptions.url ?? null,
            status: reply.statusCode,
            code: request.problem?.code,
            reason: request.problem?.reason,
            ms: Math.round(reply.elapsedTime * 10) / 10,
            ip: request.address,
            tenant: request.tenant?.id,
            member: request.memberId ?? undefined,
          },
          'request',
        );
      }),
    );
  },
  { name: 'responses' },
);
