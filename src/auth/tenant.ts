import plugin from 'fastify-plugin';
import { tenantForbidden, tenantHeaderInvalid, tenantHeaderMissing } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { immediate } from '../http/immediate.js';
import type { Role } from '../roles.js';
import { isUuid } from '../validation/uuid.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The club of the request and the caller's role in it. Null only for `/api/clubs/me`. */
    tenant: { id: string; role: Role } | null;
  }
}

/** The only path below /api without a club: it lists the clubs that a caller can choose from. */
export const TENANTLESS_PATH = '/api/clubs/me';

/** Resolves `X-Tenant-Id` against the roles of the token, before a database connection is acquired. */
export const tenant = plugin(
  async (app) => {
    app.decorateRequest('tenant', null);
    app.addHook(
      'onRequest',
      immediate((request) => {
        if (request.routeOptions.url === TENANTLESS_PATH) {
          return;
        }
        const id = readHeader(request.headers['x-tenant-id']);
        const role = request.identity.roles.get(id);
        if (role === undefined) {
          // The same error as for a club that does not exist, so that callers cannot find out which clubs exist.
          throw new Problem(tenantForbidden);
        }
        request.tenant = { id, role };
      }),
    );
  },
  { name: 'tenant', dependencies: ['authenticate'] },
);

function readHeader(value: string | string[] | undefined): string {
  if (value === undefined) {
    throw new Problem(tenantHeaderMissing);
  }
  // Node joins a repeated header with a comma, so the result is not a UUID.
  if (typeof value !== 'string' || !isUuid(value)) {
    throw new Problem(tenantHeaderInvalid);
  }
  return value.toLowerCase();
}
