import plugin from 'fastify-plugin';
import { tenantForbidden, tenantHeaderInvalid, tenantHeaderMissing } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { immediate } from '../http/immediate.js';
import type { Role } from '../roles.js';
import { isUuid } from '../validation/uuid.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The club that the request is about, and the caller's role in it. Null only for `/api/clubs/me`. */
    tenant: { id: string; role: Role } | null;
  }
}

/** The one path that belongs to no club: it is how a caller finds the clubs to choose from. */
export const TENANTLESS_PATH = '/api/clubs/me';

/** Which club: resolves `X-Tenant-Id` against the token, before any connection is taken. */
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
          // A club that does not exist answers alike: who is not in a club does not learn that there is one.
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
  // Node joins a header that is sent twice with a comma, which no UUID holds.
  if (typeof value !== 'string' || !isUuid(value)) {
    throw new Problem(tenantHeaderInvalid);
  }
  return value.toLowerCase();
}
