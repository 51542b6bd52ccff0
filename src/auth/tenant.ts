import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { tenantForbidden, tenantHeaderInvalid, tenantHeaderMissing } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { syncHook } from '../http/sync-hook.js';
import type { Role } from '../roles.js';
import { isUuid } from '../validation/uuid.js';

/** The club of a request, and the caller's role in it. */
export interface Tenant {
  id: string;
  role: Role;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null for a route without a tenant. */
    tenant: Tenant | null;
  }
  interface FastifyContextConfig {
    /** False for a route that belongs to no club: it needs no X-Tenant-Id, and no role. */
    tenant?: false;
  }
}

/** Resolves `X-Tenant-Id` against the roles of the token, before a database connection is acquired. */
export const tenant = plugin(
  async (app) => {
    app.decorateRequest('tenant', null);
    app.addHook(
      'onRequest',
      syncHook((request) => {
        if (request.routeOptions.config.tenant === false) {
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

/** The club of a request. @throws Error for a route without a tenant, which is a bug of its handler */
export function tenantOf({ tenant }: FastifyRequest): Tenant {
  if (tenant === null) {
    throw new Error('This route belongs to no club.');
  }
  return tenant;
}

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
