import limit from '@fastify/rate-limit';
import plugin from 'fastify-plugin';
import { rateLimited } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';

const WINDOW_MS = 60_000;
/**
 * The maximum number of callers that are counted, which bounds memory. Beyond it the least recently active caller is
 * dropped, and its count starts again at zero.
 */
const COUNTED_CALLERS = 10_000;

/**
 * Limits the requests of one caller in one club per minute; `0` for no limit. Each pair of caller and club has a separate
 * count.
 *
 * A request is counted after authentication and authorization. A request that fails before (401, 400 of the tenant header,
 * 403 of the club or the role) is not counted, so that it cannot use up the limit of somebody else.
 */
export const rateLimit = plugin<{ perMinute: number }>(
  async (app, { perMinute }) => {
    if (perMinute === 0) {
      return;
    }
    // A hook of each route: it runs after the hooks of the scope (token, club, role) and before the body is read.
    await app.register(limit, {
      max: perMinute,
      timeWindow: WINDOW_MS,
      cache: COUNTED_CALLERS,
      // The tenant's id has a fixed length, so the key is unambiguous.
      keyGenerator: ({ tenant, identity }) => `${tenant?.id ?? ''} ${identity.subject}`,
      enableDraftSpec: true,
      errorResponseBuilder: () => new Problem(rateLimited),
    });
  },
  { name: 'rate-limit', dependencies: ['test-user'] },
);
