import { createHash } from 'node:crypto';
import limit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { rateLimited } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';

const WINDOW_MS = 60_000;
/**
 * The maximum number of callers or links that are counted, which bounds memory. Beyond it the least recently active one is
 * dropped, and its count starts again at zero.
 */
const COUNTED = 10_000;

/** How often a link is read in a minute: calendar programs read it every hour, several devices at once. */
const LINK_READS_PER_MINUTE = 20;

export interface RateLimitOptions {
  /** The requests of a caller; 0 for no limit, of links either. */
  perMinute: number;
}

/**
 * Limits the requests of one caller in one club per minute. Each pair of caller and club has a separate count.
 *
 * A request is counted after authentication and authorization. A request that fails before (401, 400 of the tenant header,
 * 403 of the club or the role) is not counted, so that it cannot use up the limit of somebody else.
 */
export const callerRateLimit = plugin<RateLimitOptions>(
  // The tenant's id has a fixed length, so the key is unambiguous.
  (app, options) =>
    addLimit(app, options, ({ tenant, identity }) => `${tenant?.id ?? ''} ${identity.subject}`),
  { name: 'caller-rate-limit', dependencies: ['test-user'] },
);

/**
 * Limits the requests of one link per minute. The secret of the link is the last parameter of its path, the same in every
 * spelling. A path that no route has is counted as it is written; its 404 reads nothing.
 */
export const linkRateLimit = plugin<RateLimitOptions>(
  (app, { perMinute }) =>
    addLimit(app, { perMinute: perMinute === 0 ? 0 : LINK_READS_PER_MINUTE }, ({ params }) => {
      const secret = Object.values(params as Record<string, string>).at(-1) ?? '';
      return createHash('sha256').update(secret).digest('base64url');
    }),
  { name: 'link-rate-limit' },
);

async function addLimit(
  app: FastifyInstance,
  { perMinute }: RateLimitOptions,
  keyOf: (request: FastifyRequest) => string,
): Promise<void> {
  if (perMinute === 0) {
    return;
  }
  // A hook of each route: it runs after the hooks of the scope (token, club, role) and before the body is read.
  await app.register(limit, {
    max: perMinute,
    timeWindow: WINDOW_MS,
    cache: COUNTED,
    keyGenerator: keyOf,
    enableDraftSpec: true,
    errorResponseBuilder: () => new Problem(rateLimited),
  });
}
