import sensible from '@fastify/sensible';
import plugin from 'fastify-plugin';
import { syncHook } from './sync-hook.js';

/** The request headers on which a response depends. */
const VARY = ['Authorization', 'X-Tenant-Id'];

/**
 * The headers of every response, but for Vary.
 *
 * Security (https://owasp.org/www-project-secure-headers/): browsers do not guess the type of a response, frame it, or embed
 * it in a page of another origin. CORS allows scripts to read it.
 */
const headersOf = (requestId: string) => ({
  'x-request-id': requestId,
  // A response depends on the caller and the club, so only the caller's own cache may store it.
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  // Browsers use it over TLS only.
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-xss-protection': '0',
});

/** Sets the headers of every response of a route. */
export const responseHeaders = plugin(
  async (app) => {
    await app.register(sensible);
    app.addHook(
      'onRequest',
      syncHook((request, reply) => {
        reply.headers(headersOf(request.id)).vary(VARY);
      }),
    );
  },
  { name: 'response-headers' },
);

/** All headers of a response to a message for which Fastify runs no hook. */
export function headersWithoutHooks(requestId: string): Record<string, string> {
  return { ...headersOf(requestId), vary: VARY.join(', ') };
}
