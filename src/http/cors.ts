import fastifyCors from '@fastify/cors';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';

/** How long a browser may remember what a preflight told it. */
const MAX_AGE_S = 600;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const REQUEST_HEADERS = ['Authorization', 'Content-Type', 'X-Tenant-Id', 'If-Match', 'Idempotency-Key'];

/** The URL of the one route that the package makes, for every path: a preflight ends before it, the rest is refused. */
export const PREFLIGHT_URL = '*';

/**
 * Which pages of other origins a browser lets at the answers: those of the list, refusals too, so that a page can
 * say what was wrong. With an empty list there is none of this, and an OPTIONS is a method that no path has.
 *
 * Tokens come in a header that a page sets itself, so no credentials of the browser are asked for.
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
      // Asked for each request: the package by itself exposes headers to any origin, and takes every OPTIONS for a preflight.
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
  { name: 'cors', dependencies: ['responses'] },
);
