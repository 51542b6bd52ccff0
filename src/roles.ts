/** The roles of a caller in a club, in order: each may do what the ones before it may. */
export const ROLES = ['Viewer', 'Member', 'Manager', 'Admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role reaches another. */
export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** The role of exactly that name; undefined when there is none. */
export function findRole(name: unknown): Role | undefined {
  return ROLES.find((role) => role === name);
}
