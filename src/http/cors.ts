import fastifyCors from '@fastify/cors';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';

/** How long a browser may cache the result of a preflight. */
const MAX_AGE_S = 600;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'X-Tenant-Id',
  'If-Match',
  'If-None-Match',
  'Idempotency-Key',
  'Club-Cells',
];

/** The URL of the OPTIONS route that @fastify/cors adds for every path. Preflights end before it, others are rejected. */
export const PREFLIGHT_URL = '*';

/**
 * CORS: pages of the listed origins may read every response, errors included; not the 400 of a path that cannot be decoded,
 * for which Fastify runs no hook. With an empty list CORS is off, and OPTIONS is a method that no path has.
 *
 * Pages send the token in a header, so CORS credentials (cookies) are not allowed.
 */
export const cors = plugin<{ origins: string[]; exposedHeaders: string[] }>(
  async (app, { origins, exposedHeaders }) => {
    if (origins.length === 0) {
      return;
    }
    const allowed = new Set(origins);
    const options = {
      methods: METHODS,
      allowedHeaders: REQUEST_HEADERS,
      exposedHeaders,
      maxAge: MAX_AGE_S,
    };
    await app.register(fastifyCors, {
      // Called for each request: by default the package exposes headers to any origin and treats every OPTIONS as a preflight.
      delegator: (request: FastifyRequest, done) => {
        const { origin, 'access-control-request-method': asked } = request.headers;
        done(null, {
          ...options,
          origin: origin !== undefined && allowed.has(origin),
          preflight: asked !== undefined,
        });
      },
    });
  },
  { name: 'cors', dependencies: ['access-log'] },
);
