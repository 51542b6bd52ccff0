import plugin from 'fastify-plugin';
import { Problem } from '../errors/problem.js';
import { testUserInvalid } from '../errors/test-user.js';
import { syncHook } from '../http/sync-hook.js';
import { isUuid } from '../validation/uuid.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The member to act as in a test set-up; null otherwise. */
    testMemberId: string | null;
  }
}

/**
 * Lets a test set-up act as another member: `X-Test-UserId` replaces the member, and the role still comes from the token.
 * TEST_USER_HEADER turns it on; the configuration rejects that in production.
 */
export const testUser = plugin<{ enabled: boolean }>(
  async (app, { enabled }) => {
    app.decorateRequest('testMemberId', null);
    if (!enabled) {
      return;
    }
    app.addHook(
      'onRequest',
      syncHook((request) => {
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
