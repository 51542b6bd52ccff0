/**
 * What an administrator decides with a deploy: which roles outside of the service may be beyond row-level security, and whose
 * server it is. A deploy without these decisions leaves those of an earlier one.
 */
import type pg from 'pg';
import { DeployError } from './locks.js';
import type { Release } from './release.js';
import { OWNER, readRoles } from './roles.js';

export interface Decisions {
  /** The roles to approve, and no others; undefined leaves the list as it is. */
  approve?: string[] | undefined;
  /** The provider of the server, null for none; undefined leaves it as it is. */
  provider?: string | null | undefined;
}

/** An approved role, with the powers that it has now. */
export interface Approved {
  role: string;
  powers: string[];
}

/** @throws DeployError when the server has no such role outside of the service, or the audit does not know the provider */
export async function requireKnown(
  client: pg.Client,
  release: Release,
  { approve = [], provider }: Decisions,
): Promise<void> {
  const { rows } = await client.query<{ role: string }>(
    `select role from unnest($1::text[]) as role
     where role not in (select rolname from pg_roles where rolname !~ '^pg_' and rolname <> all ($2))`,
    [approve, readRoles().map(({ name }) => name)],
  );
  if (rows.length > 0) {
    const unknown = rows.map(({ role }) => role).join(', ');
    throw new DeployError(
      `APPROVE takes roles of the server that are neither the service's nor PostgreSQL's own, not ${unknown}. ` +
        'Write names as in pg_roles, without quotes.',
    );
  }
  const providers = readProviders(release);
  if (provider && !providers.includes(provider)) {
    throw new DeployError(`PROVIDER must be none or one of ${providers.join(', ')}.`);
  }
}

/** The providers in audit.provider_roles. They are read from its file: a new database has no audit yet. */
function readProviders({ audit }: Release): string[] {
  const text = audit.map((file) => file.text).join('');
  const [roles = ''] = text.split('create view audit.provider_roles ')[1]?.split(';\n') ?? [];
  const providers = [...roles.matchAll(/\('\w+'(?:::name)?, '(\w+)'/g)].map(([, provider = '']) => provider);
  return [...new Set(providers)].sort();
}

/** Records the decisions. @returns the approved roles; undefined when the list stays as it was */
export async function recordDecisions(
  client: pg.Client,
  { approve, provider }: Decisions,
): Promise<Approved[] | undefined> {
  await client.query(`set role ${OWNER}`);
  if (provider !== undefined) {
    await client.query('select audit.record_provider($1)', [provider]);
  }
  const approved = approve && (await approveRoles(client, approve));
  await client.query('reset role');
  return approved;
}

async function approveRoles(client: pg.Client, roles: string[]): Promise<Approved[]> {
  const { rows } = await client.query<{ role: string; power: string }>(
    'select role, power from audit.approve($1)',
    [roles],
  );
  const powersOf = (name: string) => rows.filter(({ role }) => role === name).map(({ power }) => power);
  return roles.map((role) => ({ role, powers: powersOf(role) }));
}
