import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { addressOf, type LoggedCaller, logRequest } from './log-line.js';
import { onRequestEnd } from './request-end.js';
import { syncHook } from './sync-hook.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's IP address for the log. It is stored, because a closed socket has no address any more. */
    address: string;
  }
}

/**
 * The access log: one line per request.
 *
 * @param callerOf reads who sent a request, from what later plugins have set
 */
export const accessLog = plugin<{ callerOf: (request: FastifyRequest) => LoggedCaller }>(
  async (app, { callerOf }) => {
    app.decorateRequest('address', '');
    app.addHook(
      'onRequest',
      syncHook((request) => {
        request.address = addressOf(request);
      }),
    );

    onRequestEnd(app, (request, reply, status) => {
      const { method, routeOptions, address: ip, problem } = request;
      const ms = Math.round(reply.elapsedTime * 10) / 10;
      const line = { method, route: routeOptions.url ?? null, status, ms, ip, ...callerOf(request) };
      logRequest(request.log, line, problem);
    });
  },
  { name: 'access-log', dependencies: ['error-handler'] },
);
