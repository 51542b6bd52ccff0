/** The callers, and the errors of authentication and authorization that the contract requires for them. */
import { ROLES, type Role } from '../../../src/roles.js';
import { MISSING } from '../../setup/endpoints.js';
import type { TestService } from '../../setup/service.js';
import type { CanaryClub } from './clubs.js';
import type { Operation } from './operations.js';

export interface Identity {
  name: string;
  authorization: string | undefined;
  /** The code that rejects the identity; undefined for a valid one. */
  refusal?: 'unauthenticated' | 'invalid_token';
  roles: Map<string, Role>;
}

export interface Tenant {
  name: string;
  /** The header; undefined for none. */
  value: string | undefined;
}

/** Callers with each role in north, a Member of south, one of both, one of neither, and two without a valid token. */
export async function makeIdentities(
  service: TestService,
  north: CanaryClub,
  south: CanaryClub,
): Promise<Identity[]> {
  const known = async (name: string, clubs: Record<string, Role>): Promise<Identity> => ({
    name,
    authorization: `Bearer ${service.token({ sub: name, name, clubs })}`,
    roles: new Map(Object.entries(clubs)),
  });
  const people = await Promise.all([
    known('a stranger', {}),
    ...ROLES.map((role) => known(`a ${role}`, { [north.id]: role })),
    known('a Member of south', { [south.id]: 'Member' }),
    known('a Viewer of south and Admin of north', { [south.id]: 'Viewer', [north.id]: 'Admin' }),
  ]);
  // Each sends one request first, so that later attempts create no member.
  for (const { authorization = '', roles } of people) {
    for (const id of roles.keys()) {
      await service.send('GET', '/api/members/me', { headers: { authorization, 'x-tenant-id': id } });
    }
  }
  const altered = people[4]?.authorization?.replace(/.(?=.{20}$)/, (sign) => (sign === 'A' ? 'B' : 'A'));
  return [
    ...people,
    { name: 'nobody', authorization: undefined, refusal: 'unauthenticated', roles: new Map() },
    { name: 'an Admin of an altered token', authorization: altered, refusal: 'invalid_token', roles: new Map() },
  ]; // biome-ignore format: an identity a line
}

export const tenantsOf = (north: CanaryClub, south: CanaryClub): Tenant[] => [
  { name: 'north', value: north.id },
  { name: 'south', value: south.id },
  { name: 'none', value: undefined },
  { name: 'unknown', value: MISSING },
  { name: 'malformed', value: `${north.id.slice(0, -1)}g` },
];

/** Whether the operation belongs to a club: all except the list of clubs. */
export const isInClub = ({ headers }: Operation): boolean => headers.includes('X-Tenant-Id');

/** The code of the authentication, tenant or role error; undefined when access is granted. */
export function accessErrorOf(
  operation: Operation,
  { refusal, roles }: Identity,
  { name, value }: Tenant,
): string | undefined {
  if (refusal !== undefined || !isInClub(operation)) {
    return refusal;
  }
  if (value === undefined || name === 'malformed') {
    return value === undefined ? 'tenant_header_missing' : 'tenant_header_invalid';
  }
  const role = roles.get(value);
  if (role === undefined) {
    return 'tenant_forbidden';
  }
  return ROLES.indexOf(role) < ROLES.indexOf(operation.role) ? 'insufficient_role' : undefined;
}

/** The headers of a request of the identity. */
export function headersOf({ authorization }: Identity, { value }: Tenant): Record<string, string> {
  return {
    ...(authorization === undefined ? {} : { authorization }),
    ...(value === undefined ? {} : { 'x-tenant-id': value }),
  };
}
