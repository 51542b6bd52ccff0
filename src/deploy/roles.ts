/**
 * The roles of the service in a database: those that sql/roles.sql creates. They are read from that file and not from the
 * catalog, where another role could have been added.
 */
import { readFileSync } from 'node:fs';
import { sqlDirectory } from './release.js';

/** The role that owns every object of the service; the deploy runs as this role. */
export const OWNER = 'club_owner';

/** The login of the deploy. */
export const MIGRATOR = 'club_migrator';

export interface DatabaseRole {
  name: string;
  canLogin: boolean;
  /** owner, deploy, runtime, auditor or capability. */
  purpose: string;
  why: string;
}

/** The statements of sql/roles.sql, which an administrator runs. */
export function readRolesFile(): string {
  return readFileSync(new URL('roles.sql', sqlDirectory), 'utf8');
}

/** The roles that sql/roles.sql creates. */
export function readRoles(): DatabaseRole[] {
  const rows = readRolesFile().matchAll(/^ *\('(\w+)', '(login|nologin)', '(\w+)', '((?:[^']|'')+)'\)/gm);
  return [...rows].map(([, name = '', login, purpose = '', why = '']) => ({
    name,
    canLogin: login === 'login',
    purpose,
    why: why.replaceAll("''", "'"),
  }));
}

/** The names of the roles that log in. */
export function readLogins(): string[] {
  return readRoles()
    .filter(({ canLogin }) => canLogin)
    .map(({ name }) => name);
}
