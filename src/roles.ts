/** The roles of a caller in a club, in ascending order: each includes the rights of the roles before it. */
export const ROLES = ['Viewer', 'Member', 'Manager', 'Admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role is at least as high as another. */
export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** The role with exactly this name; undefined when there is none. */
export function findRole(name: unknown): Role | undefined {
  return ROLES.find((role) => role === name);
}
