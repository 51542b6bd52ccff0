import plugin from 'fastify-plugin';
import { testUserInvalid } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { immediate } from '../http/immediate.js';
import { isUuid } from '../validation/uuid.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The member that a test set-up acts as; null in any other case. */
    testMemberId: string | null;
  }
}

/**
 * Lets a test set-up act as a member: `X-Test-UserId` replaces the member, and only the member. The token still
 * gives the role. The configuration switches it on, and refuses to in production.
 */
export const testUser = plugin<{ enabled: boolean }>(
  async (app, { enabled }) => {
    app.decorateRequest('testMemberId', null);
    if (!enabled) {
      return;
    }
    app.addHook(
      'onRequest',
      immediate((request) => {
        const value = request.headers['x-test-userid'];
        if (value === undefined || request.tenant === null) {
          return;
        }
        if (typeof value !== 'string' || !isUuid(value)) {
          throw new Problem(testUserInvalid);
        }
        request.testMemberId = value.toLowerCase();
      }),
    );
  },
  { name: 'test-user', dependencies: ['authorize'] },
);
