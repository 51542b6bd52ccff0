import plugin from 'fastify-plugin';
import { insufficientRole } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { syncHook } from '../http/sync-hook.js';
import { isAtLeast, type Role } from '../roles.js';

/** The policies and their minimum roles; each route names one. `sql/policies` enforces the same rules in the database. */
const policies = {
  RequireViewer: 'Viewer',
  RequireMember: 'Member',
  RequireManager: 'Manager',
  RequireAdmin: 'Admin',
} as const satisfies Record<string, Role>;

export type Policy = keyof typeof policies;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The policy of the route; required for every route below /api. */
    policy?: Policy;
  }
}

/**
 * Authorization: compares the caller's role in the club with the policy of the route. A route without a policy is an error
 * at the start of the service.
 */
export const authorize = plugin(
  async (app) => {
    app.addHook('onRoute', ({ method, url, config }) => {
      if (config?.policy === undefined) {
        throw new Error(`The route ${method} ${url} names no policy.`);
      }
    });
    app.addHook(
      'onRequest',
      syncHook(({ routeOptions, tenant }) => {
        const required = policies[routeOptions.config.policy as Policy];
        if (tenant !== null && !isAtLeast(tenant.role, required)) {
          throw new Problem(insufficientRole, {
            requiredRole: required,
            yourRole: tenant.role,
          });
        }
      }),
    );
  },
  { name: 'authorize', dependencies: ['tenant'] },
);
