import { findRole, isAtLeast, type Role } from '../roles.js';
import { isUuid } from '../validation/uuid.js';
import type { ClubsPattern } from './clubs-pattern.js';

export type Claims = Record<string, unknown>;

/** Where a token names the clubs of its user, and how. */
export interface ClubsClaim {
  /** The name of a claim, or the JSON Pointer (RFC 6901) of a value inside of one. */
  name: string;
  /** Whether the value may be a string that holds JSON: some providers have no other values. */
  json: boolean;
  /** With a pattern the value is a list of texts, of which each names a club and a role; without, a map. */
  pattern: ClubsPattern | undefined;
  /** The ids of clubs that the token calls otherwise. */
  clubNames: ReadonlyMap<string, string>;
  /** The roles that the token calls otherwise. */
  roleNames: ReadonlyMap<string, Role>;
}

/** The claim as it is when nothing is configured. */
export const plainClubsClaim = (name: string): ClubsClaim => ({
  name,
  json: false,
  pattern: undefined,
  clubNames: new Map(),
  roleNames: new Map(),
});

/** What a clubs claim gives. */
export interface ClubRoles {
  /** By club id, in lower case. */
  roles: Map<string, Role>;
  /** Why the claim, or a part of it, gives no role; says nothing of what stands in it. */
  fault: string | undefined;
}

/**
 * The roles that a token gives. What does not fit gives none.
 *
 * A club that a map names twice, say in two letter cases, contradicts itself and gets the lower role. A list adds
 * up, because somebody in two groups has the rights of both: the higher role.
 */
export function readClubRoles(claims: Claims, clubs: ClubsClaim): ClubRoles {
  const roles = new Map<string, Role>();
  const entries = readEntries(findClaim(claims, clubs.name), clubs);
  if (typeof entries === 'string') {
    return { roles, fault: entries };
  }
  const faults = { club: 0, role: 0 };
  for (const [name, word] of entries) {
    const clubId = clubs.clubNames.get(name) ?? (isUuid(name) ? name.toLowerCase() : undefined);
    const role = clubs.roleNames.get(word as string) ?? findRole(word);
    if (clubId === undefined || role === undefined) {
      faults[clubId === undefined ? 'club' : 'role'] += 1;
      continue;
    }
    const other = roles.get(clubId) ?? role;
    roles.set(clubId, isAtLeast(role, other) === (clubs.pattern !== undefined) ? role : other);
  }
  const fault = Object.entries(faults)
    .filter(([, count]) => count > 0)
    .map(([part, count]) => `${count} of ${entries.length} entries name no known ${part}`)
    .join(', ');
  return { roles, fault: fault === '' ? undefined : fault };
}

/** @returns pairs of a club and a role, or the reason why there are none */
function readEntries(found: unknown, { json, pattern }: ClubsClaim): [string, unknown][] | string {
  if (found === undefined) {
    return 'the token has none';
  }
  const value = json && typeof found === 'string' ? parse(found) : found;
  if (pattern === undefined) {
    return isMap(value) ? Object.entries(value) : 'it is not a map of clubs to roles';
  }
  const list = isMap(value) ? pathsOf(value) : value;
  if (!Array.isArray(list)) {
    return 'it is neither a list nor a map of maps';
  }
  const matches = pattern.match(list);
  if (typeof matches === 'string') {
    return matches;
  }
  return matches.length === 0 && list.length > 0
    ? `none of its ${list.length} entries matches the pattern`
    : matches.map(({ club, role }) => [club, role]);
}

/** A map of maps is the list of its paths: `{"Manager": {"123": "…"}}` is `Manager/123`. */
function pathsOf(map: Claims): string[] | undefined {
  const paths = Object.entries(map).map(([outer, inner]) =>
    isMap(inner) ? Object.keys(inner).map((key) => `${outer}/${key}`) : undefined,
  );
  return paths.includes(undefined) ? undefined : paths.flatMap((path) => path ?? []);
}

/** Own properties only: no token inherits a claim. */
function findClaim(claims: Claims, name: string): unknown {
  const keys = name.startsWith('/')
    ? name.slice(1).split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [name]; // biome-ignore format: one line a case
  let value: unknown = claims;
  for (const key of keys) {
    value = isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

/** Whether the text names a claim: as a JSON Pointer it escapes with `~0` and `~1` and nothing else. */
export function isClaimName(text: string): boolean {
  return !text.startsWith('/') || !/~(?![01])/.test(text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isMap(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
