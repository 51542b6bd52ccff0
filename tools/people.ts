import { type Claims, plainClubsClaim } from '../src/auth/club-roles.js';
import { type Identity, readIdentity } from '../src/auth/identity.js';
import type { Caller } from '../src/database/tenant-context.js';
import type { Role } from '../src/roles.js';

/** The demo clubs. Their ids are fixed, so that commands of the README work. */
export const demoClubs = {
  north: {
    id: '11111111-1111-4111-8111-111111111111',
    name: 'Rowing Club North',
    slug: 'north',
    timeZone: 'Europe/Berlin',
  },
  south: {
    id: '22222222-2222-4222-8222-222222222222',
    name: 'Tennis Club South',
    slug: 'south',
    timeZone: 'Europe/Lisbon',
  },
} as const;

export type DemoClub = keyof typeof demoClubs;

/** The demo people and their roles at the identity provider. */
export const demoPeople: Record<string, { name: string; roles: Partial<Record<DemoClub, Role>> }> = {
  anna: { name: 'Anna Albers', roles: { north: 'Manager' } },
  ben: { name: 'Ben Brandt', roles: { north: 'Member' } },
  cleo: { name: 'Cleo Costa', roles: { north: 'Member', south: 'Manager' } },
  dora: { name: 'Dora Dias', roles: { north: 'Admin', south: 'Admin' } },
  emil: { name: 'Emil Engel', roles: { north: 'Viewer' } },
};

/** The settings for tokens of the development issuer; they override those for a real provider. */
export const ownClaims = {
  AUTH_JWKS_URL: '',
  AUTH_AUDIENCE_CLAIM: '',
  AUTH_CLUBS_CLAIM: '',
  AUTH_CLUBS_JSON: '',
  AUTH_CLUBS_PATTERN: '',
  AUTH_CLUB_NAMES: '',
  AUTH_ROLE_NAMES: '',
};

/** The claims of a token: name, e-mail address and the given roles by club id. */
export function claimsOf(subject: string, roles: Record<string, Role>): Claims {
  return {
    sub: subject,
    name: demoPeople[subject]?.name ?? subject,
    email: `${subject.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-')}@example.org`,
    clubs: roles,
  };
}

/** A demo person's roles, by club id. */
export function demoRoles(subject: string): Record<string, Role> {
  const roles = demoPeople[subject]?.roles ?? {};
  return Object.fromEntries(
    Object.entries(roles).map(([slug, role]) => [demoClubs[slug as DemoClub].id, role]),
  );
}

/** The caller of a request in a club, from the claims of a valid token. */
export function callerWith(claims: Claims, tenantId: string, role: Role): Caller {
  const identity = readIdentity(claims, plainClubsClaim('clubs')) as Identity;
  return { ...identity, tenantId, role, testMemberId: null };
}

/** A person as the caller of a request. */
export function demoCaller(subject: string, tenantId: string, role: Role): Caller {
  return callerWith(claimsOf(subject, { [tenantId]: role }), tenantId, role);
}
