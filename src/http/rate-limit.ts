import limit from '@fastify/rate-limit';
import plugin from 'fastify-plugin';
import { rateLimited } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';

const WINDOW_MS = 60_000;
/**
 * How many callers are counted at once. Beyond that whoever has been silent the longest is forgotten, and begins
 * anew when they come back: memory is bounded, and nobody is refused for it.
 */
const COUNTED_CALLERS = 10_000;

/**
 * How often one caller may ask in one club, a minute; `0` for as often as they like. Each club that somebody is in
 * counts for itself, so what is done in one never shows in another, and members share no allowance.
 *
 * A request is counted once it is known who sends it, and that they may: what is refused before (401, 400 of the
 * tenant header, 403 of the club or the role) is counted under nobody's name, because anybody could use it up.
 */
export const rateLimit = plugin<{ perMinute: number }>(
  async (app, { perMinute }) => {
    if (perMinute === 0) {
      return;
    }
    // A hook of each route, so it runs behind those of the scope (token, club, role), and before a body is read.
    await app.register(limit, {
      max: perMinute,
      timeWindow: WINDOW_MS,
      cache: COUNTED_CALLERS,
      // The tenant's id has one length, so no subject can pass for a tenant and another subject.
      keyGenerator: ({ tenant, identity }) => `${tenant?.id ?? ''} ${identity.subject}`,
      enableDraftSpec: true,
      errorResponseBuilder: () => new Problem(rateLimited),
    });
  },
  { name: 'rate-limit', dependencies: ['test-user'] },
);
