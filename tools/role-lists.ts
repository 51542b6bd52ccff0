import type { DatabaseRole } from '../src/deploy/roles.js';

/** Capability roles in a chapter: this comment, and the names below it. */
const LIST = /(-- The capability roles; make snapshot writes this list\.\n *)club_\w+(?:, club_\w+)*/g;

/**
 * Writes the capability roles into the lists of a chapter.
 *
 * @throws Error when the chapter has no such list
 */
export function withCapabilityRoles(chapter: string, roles: DatabaseRole[]): string {
  if (chapter.search(LIST) === -1) {
    throw new Error('The chapter has no list of the capability roles.');
  }
  const names = roles.filter(({ purpose }) => purpose === 'capability').map(({ name }) => name);
  return chapter.replaceAll(LIST, `$1${names.join(', ')}`);
}

/** sql/audit/05_roles.sql: the roles that the audit intends. */
export function describeRoles(roles: DatabaseRole[]): string {
  const rows = roles.map(
    ({ name, canLogin, purpose, why }, index) =>
      `  ('${name}'${index === 0 ? '::name' : ''}, ${canLogin}, '${purpose}', '${why.replaceAll("'", "''")}')`,
  );
  return `-- Intent: the roles. Generated from sql/roles.sql by make snapshot; make verify fails when it is stale.

create view audit.intended_roles (role, can_login, purpose, why) with (security_invoker) as values
${rows.join(',\n')};
comment on view audit.intended_roles is 'The roles of the service. None has SUPERUSER, BYPASSRLS, CREATEROLE, CREATEDB or REPLICATION.';
`;
}
