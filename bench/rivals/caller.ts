import { createVerifier } from 'fast-jwt';
import { createRemoteJWKSet, exportSPKI, type JWTHeaderParameters } from 'jose';
import { isUuid } from './input.js';
import { Refusal } from './refusal.js';

/** The caller and the club of a request. */
export interface Caller {
  tenantId: string;
  subject: string;
  role: string;
  displayName: string | null;
  email: string | null;
  issuedAt: string | null;
}

interface Claims {
  sub: string;
  name?: string;
  email?: string;
  iat?: number;
  clubs?: Record<string, string>;
}

const keys = createRemoteJWKSet(new URL(`${process.env.AUTH_ISSUER}/jwks`));

/** The issuer's keys as PEM, by their ids. */
const pems = new Map<string, Promise<string>>();

function findKey({ header }: { header: { kid?: string } }): Promise<string> {
  const id = String(header.kid);
  const pem = pems.get(id) ?? keys(header as JWTHeaderParameters).then(exportSPKI);
  pems.set(id, pem);
  return pem;
}

/** Verifies tokens as the service does: the issuer's keys are cached, and a verified token is cached for a minute. */
const verify = createVerifier({
  key: findKey,
  algorithms: ['ES256', 'RS256'],
  allowedIss: process.env.AUTH_ISSUER as string,
  allowedAud: 'club-management-service',
  requiredClaims: ['iss', 'aud', 'exp', 'sub'],
  clockTolerance: 5_000,
  cache: 10_000,
  // The library adds the tolerance.
  cacheTTL: 55_000,
}) as (token: string) => Promise<Claims>;

/**
 * The caller of a request, from the bearer token and the header X-Tenant-Id. Every rival calls it first.
 *
 * @throws Refusal 401, 400 or 403
 */
export async function readCaller(headers: NodeJS.Dict<string | string[]>): Promise<Caller> {
  const authorization = headers.authorization as string | undefined;
  if (authorization === undefined || !authorization.startsWith('Bearer ')) {
    throw new Refusal(401, 'unauthenticated');
  }
  const claims = await verify(authorization.slice(7)).catch(() => {
    throw new Refusal(401, 'invalid_token');
  });
  const tenantId = headers['x-tenant-id'];
  if (tenantId === undefined) {
    throw new Refusal(400, 'tenant_header_missing');
  }
  if (typeof tenantId !== 'string' || !isUuid(tenantId)) {
    throw new Refusal(400, 'tenant_header_invalid');
  }
  const role = claims.clubs?.[tenantId];
  if (role === undefined) {
    throw new Refusal(403, 'tenant_forbidden');
  }
  return {
    tenantId,
    subject: claims.sub,
    role,
    displayName: claims.name ?? null,
    email: claims.email ?? null,
    issuedAt: claims.iat === undefined ? null : new Date(claims.iat * 1000).toISOString(),
  };
}

/** @throws Refusal 403 for a Viewer */
export function requireMember({ role }: Caller): void {
  if (role === 'Viewer') {
    throw new Refusal(403, 'insufficient_role');
  }
}
