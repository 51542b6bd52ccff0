import { findRole, isAtLeast, type Role } from '../roles.js';
import { isUuid } from '../validation/uuid.js';
import type { ClubsPattern } from './clubs-pattern.js';

export type Claims = Record<string, unknown>;

/** Which claim of a token contains the roles in clubs, and in which form. */
export interface ClubsClaim {
  /** The name of a claim, or a JSON Pointer (RFC 6901) to a value inside of a claim. */
  name: string;
  /** Whether the value may be a string that contains JSON; some providers support only strings. */
  json: boolean;
  /** With a pattern, the value is a list of texts, each with a club and a role; without, it is a map of club to role. */
  pattern: ClubsPattern | undefined;
  /** The ids of clubs, by the provider's names for them. */
  clubNames: ReadonlyMap<string, string>;
  /** The roles, by the provider's names for them. */
  roleNames: ReadonlyMap<string, Role>;
}

/** The claim with the default configuration. */
export const plainClubsClaim = (name: string): ClubsClaim => ({
  name,
  json: false,
  pattern: undefined,
  clubNames: new Map(),
  roleNames: new Map(),
});

/** The result of reading a clubs claim. */
export interface ClubRoles {
  /** By club id, in lower case. */
  roles: Map<string, Role>;
  /** The reason why some or all of the claim gives no role; repeats no content of the token. */
  reason: string | undefined;
}

/**
 * Reads the roles of a token. An invalid entry gives no role.
 *
 * A club that a map names twice, for example in two letter cases, gets the lower role. A club that a list names twice gets
 * the higher role, because a user in two groups has the rights of both.
 */
export function readClubRoles(claims: Claims, clubs: ClubsClaim): ClubRoles {
  const roles = new Map<string, Role>();
  const entries = readEntries(findClaim(claims, clubs.name), clubs);
  if (typeof entries === 'string') {
    return { roles, reason: entries };
  }
  const ignored = { club: 0, role: 0 };
  for (const [name, word] of entries) {
    const clubId = clubs.clubNames.get(name) ?? (isUuid(name) ? name.toLowerCase() : undefined);
    const role = clubs.roleNames.get(word as string) ?? findRole(word);
    if (clubId === undefined || role === undefined) {
      ignored[clubId === undefined ? 'club' : 'role'] += 1;
      continue;
    }
    const other = roles.get(clubId) ?? role;
    roles.set(clubId, isAtLeast(role, other) === (clubs.pattern !== undefined) ? role : other);
  }
  const reason = Object.entries(ignored)
    .filter(([, count]) => count > 0)
    .map(([part, count]) => `${count} of ${entries.length} entries name no known ${part}`)
    .join(', ');
  return { roles, reason: reason === '' ? undefined : reason };
}

/** @returns pairs of a club and a role, or the reason why the claim cannot be read */
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

/** Converts a map of maps to a list of paths: `{"Manager": {"123": "…"}}` becomes `Manager/123`. */
function pathsOf(map: Claims): string[] | undefined {
  const paths = Object.entries(map).map(([outer, inner]) =>
    isMap(inner) ? Object.keys(inner).map((key) => `${outer}/${key}`) : undefined,
  );
  return paths.includes(undefined) ? undefined : paths.flatMap((path) => path ?? []);
}

/** Finds a claim by name or JSON Pointer, in own properties only. */
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

/** Whether the text is a valid claim name: a JSON Pointer may contain `~` only in `~0` and `~1`. */
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
