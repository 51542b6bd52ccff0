/**
 * What an administrator decides with a deploy: which roles outside of the service may be beyond row-level security and own
 * objects in the database. A deploy without this decision leaves that of an earlier one.
 */
import type pg from 'pg';
import { DeployError } from './locks.js';
import { OWNER, readRoles } from './roles.js';

/** An approved role, with the powers and objects that it has now. */
export interface Approved {
  role: string;
  approved: string[];
}

/** @throws DeployError when a role to approve is the service's or PostgreSQL's own */
export function requireOutside(roles: string[]): void {
  const ours = readRoles().map(({ name }) => name);
  const inside = roles.filter((role) => role.startsWith('pg_') || ours.includes(role));
  if (inside.length > 0) {
    throw new DeployError(
      `APPROVE takes roles that are neither the service's nor PostgreSQL's own, not ${inside.join(', ')}.`,
    );
  }
}

/**
 * The roles of these that the server does not have.
 *
 * @throws DeployError when it has none of them, which would remove all approvals by mistake
 */
export async function missingRoles(client: pg.Client, roles: string[]): Promise<string[]> {
  const { rows } = await client.query<{ role: string }>(
    'select role from unnest($1::text[]) as role where role not in (select rolname from pg_roles)',
    [roles],
  );
  if (roles.length > 0 && rows.length === roles.length) {
    throw new DeployError(
      `The server has no role ${roles.join(', ')} of APPROVE. To remove all approvals set APPROVE=none.`,
    );
  }
  return rows.map(({ role }) => role);
}

/** Approves these roles, which the server has, and no others. */
export async function approve(client: pg.Client, roles: string[]): Promise<Approved[]> {
  await client.query(`set role ${OWNER}`);
  const { rows } = await client.query<{ role: string; approved: string }>(
    'select role, approved from audit.approve($1)',
    [roles],
  );
  await client.query('reset role');
  return roles.map((role) => ({
    role,
    approved: rows.filter((row) => row.role === role).map(({ approved }) => approved),
  }));
}
