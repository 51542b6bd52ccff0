/**
 * A deploy: brings a database to the release of this checkout.
 *
 * Migrations (the past: tables, constraints, indexes) run once each, by node-pg-migrate. The chapters of
 * `sql/policies` (the present: policies, grants, functions) are applied whole, every time, in one transaction.
 * The login of the deploy becomes `club_owner` for the migrations; the service never holds that login.
 */
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { reasonOf } from '../database/errors.js';
import { withClient } from './client.js';
import { DeployError, lockDeploys, whenLocksAreFree } from './locks.js';

export { DeployError } from './locks.js';

import { type Release, readRelease, type SqlFile, sqlDirectory } from './release.js';

const OWNER = 'club_owner';
const LOGINS = ['club_api', 'club_auditor'];
const ROLES = [...LOGINS, OWNER, 'club_signup', 'club_idempotency', 'club_directory', 'club_operator'];

export interface Deployed {
  /** The migrations that this deploy ran, by name. */
  migrations: string[];
  /** Whether the chapters were applied; not when they are those that were applied last and nothing was changed by hand. */
  applied: boolean;
}

/**
 * Deploys the release to the database.
 *
 * @param url the database, with the migration login
 * @throws DeployError when the roles are missing, the database is newer, or a migration was edited after it ran
 */
export async function deploy(url: string, release: Release = readRelease()): Promise<Deployed> {
  return withClient(url, async (client) => {
    // Names mean PostgreSQL's own objects, whatever the login's search_path says: a function in a schema that others may
    // create in must not become part of the service's.
    await client.query('set search_path = pg_catalog, pg_temp');
    await requireRoles(client);
    await lockDeploys(client);
    if ((await lastApplied(client)) === release.fingerprint && !(await hasDrift(client))) {
      return { migrations: [], applied: false };
    }
    const before = await readFacts(client);
    const migrations = await migrate(client, release);
    await whenLocksAreFree(client, () => applyChapters(client, release, before));
    return { migrations, applied: true };
  });
}

/** Whether somebody changed the database by hand since the last deploy, as far as the audit sees. */
async function hasDrift(client: pg.Client): Promise<boolean> {
  await client.query(`set role ${OWNER}`);
  const { rows } = await client.query('select exists (select from audit.drift) as found');
  await client.query('reset role');
  return rows[0].found;
}

/** What the audit saw before this deploy, so that a change made by hand is not taken for the deploy's; null at first. */
async function readFacts(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query(`select to_regclass('audit.facts') is not null as exists`);
  if (!rows[0].exists) {
    return null;
  }
  await client.query(`set role ${OWNER}`);
  const facts = await client.query('select kind, object, fact from audit.facts');
  await client.query('reset role');
  return JSON.stringify(facts.rows);
}

/** Deploys only verify the roles: making them is an administrator's, once. */
async function requireRoles(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ role: string }>(
    `select role from unnest($1::text[]) as role
     where not exists (select from pg_roles where rolname = role)
        or (role <> all ($2) and not pg_has_role(session_user, role, case
          -- From PostgreSQL 16 a member may lack SET: so does the administrator who made the roles.
          when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end))`,
    [ROLES, LOGINS],
  );
  if (rows.length > 0) {
    throw new DeployError(
      `The login of the deploy needs the role ${rows.map((row) => row.role).join(', ')}: ` +
        'an administrator runs sql/roles.sql in this database once.',
    );
  }
}

/** The fingerprint of the release that was applied last. */
async function lastApplied(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query(`select to_regclass('deploy.releases') is not null as exists`);
  if (!rows[0].exists) {
    return undefined;
  }
  const last = await client.query<{ fingerprint: string }>(
    'select fingerprint from deploy.releases order by applied_at desc limit 1',
  );
  return last.rows[0]?.fingerprint;
}

async function migrate(client: pg.Client, release: Release): Promise<string[]> {
  await client.query(`set role ${OWNER}`);
  await client.query('create schema if not exists deploy');
  await refuseForeignHistory(client, release);
  const ran = await whenLocksAreFree(client, () =>
    runner({
      dbClient: client,
      dir: fileURLToPath(new URL('migrations', sqlDirectory)),
      ignorePattern: '(?!.*\\.sql$).*',
      migrationsSchema: 'deploy',
      migrationsTable: 'migrations',
      direction: 'up',
      singleTransaction: true,
      noLock: true,
      log: () => {},
    }),
  );
  for (const { name, sha256 } of release.migrations) {
    await client.query(
      'insert into deploy.migration_files (name, sha256) values ($1, $2) on conflict (name) do nothing',
      [name, sha256],
    );
  }
  await client.query('reset role');
  return ran.map(({ name }) => name);
}

/** What ran here must be what this release knows, to the letter: node-pg-migrate compares only names. */
async function refuseForeignHistory(client: pg.Client, release: Release): Promise<void> {
  const { rows } = await client.query(`select to_regclass('deploy.migration_files') is not null as exists`);
  if (!rows[0].exists) {
    return;
  }
  const known = new Map(release.migrations.map((file: SqlFile) => [file.name, file.sha256]));
  const ran = await client.query<{ name: string; sha256: string }>(
    'select name, sha256 from deploy.migration_files',
  );
  for (const { name, sha256 } of ran.rows) {
    if (!known.has(name)) {
      throw new DeployError(
        `This database has the migration ${name}, which this release does not know: a newer release was deployed. ` +
          'An older one runs beside it as it is and needs no deploy.',
      );
    }
    if (known.get(name) !== sha256) {
      throw new DeployError(
        `The migration ${name} was edited after it ran here. Restore it and add a new one instead.`,
      );
    }
  }
}

/**
 * One transaction: whoever reads meanwhile sees the old chapters whole, or the new ones.
 *
 * It locks app.members first, because every request inside a club does: whoever holds it is let through, whoever
 * comes waits there, and nobody holds what the other waits for.
 */
async function applyChapters(client: pg.Client, release: Release, before: string | null): Promise<void> {
  await client.query('begin');
  try {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname in ('app', 'deploy') order by (schemaname, tablename) <> ('app', 'members'), 1`,
    );
    await client.query(`set local role ${OWNER}`);
    for (const { name } of rows) {
      await client.query(`lock table ${name} in access exclusive mode`);
    }
    await client.query('set local role none');
    for (const { name, text } of release.chapters) {
      await client.query(text).catch((error) => {
        throw Object.assign(error, { message: `${name}: ${error.message}` });
      });
    }
    await client.query(`set local role ${OWNER}`);
    await recordFacts(client, before);
    await client.query(
      `insert into deploy.releases (fingerprint) values ($1)
       on conflict (fingerprint) do update set applied_at = clock_timestamp()`,
      [release.fingerprint],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** Leaves behind what this release means to be there; a release without an audit leaves nothing. */
async function recordFacts(client: pg.Client, before: string | null): Promise<void> {
  const { rows } = await client.query(
    `select to_regprocedure('audit.record_facts(jsonb)') is not null as exists`,
  );
  if (rows[0].exists) {
    await client.query('select audit.record_facts($1)', [before]);
  }
}

/** Why a deploy failed: a sentence where an operator can do something about it, the whole error where it is a bug. */
export function explainFailure(error: unknown): unknown {
  if (error instanceof DeployError) {
    return error.message;
  }
  if (error instanceof pg.DatabaseError) {
    return `The deploy failed, and nothing of its last step was kept: ${error.message} (SQLSTATE ${error.code}).`;
  }
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? error
    : `The database of MIGRATION_DATABASE_URL cannot be reached: ${reasonOf(error)}.`;
}
