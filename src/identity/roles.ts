import { isUuid } from '../validation/uuid.js';

/** The roles of a caller in a club, in order: each may do what the ones before it may. */
export const ROLES = ['Viewer', 'Member', 'Manager', 'Admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role reaches another. */
export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/**
 * The roles that a clubs claim gives: `{"<club id>": "Viewer|Member|Manager|Admin"}`.
 *
 * What does not have this shape gives no role. An id that stands twice, in two letter cases, gets the lower role.
 *
 * @returns roles by club id, in lower case
 */
export function readRoles(claim: unknown): Map<string, Role> {
  const roles = new Map<string, Role>();
  if (typeof claim !== 'object' || claim === null || Array.isArray(claim)) {
    return roles;
  }
  for (const [id, word] of Object.entries(claim)) {
    const role = ROLES.find((known) => known === word);
    if (role === undefined || !isUuid(id)) {
      continue;
    }
    const clubId = id.toLowerCase();
    const other = roles.get(clubId);
    roles.set(clubId, other !== undefined && isAtLeast(role, other) ? other : role);
  }
  return roles;
}
