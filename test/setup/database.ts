import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Test } from 'tap';
import { OWNER, readLogins } from '../../src/deploy/roles.js';
import { urlOf } from '../../tools/database-url.js';
import type { TestCluster } from '../../tools/test-cluster.js';

/** A separate deployed database, dropped when the test ends. */
export interface TestDatabase {
  /** The URL of the service's login. */
  url: string;
  /** The URL of the deploy's login. */
  migrationUrl: string;
  /** The URL of an administrator, who bypasses every policy: for inspection only. */
  adminUrl: string;
  /** Runs SQL as the administrator. */
  queryAsAdmin<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    sql: string,
    values?: unknown[],
  ): Promise<Row[]>;
  /** Creates a club by the function for operators; returns its id. */
  makeClub(slug?: string): Promise<string>;
}

/** The server that `make test` has started. */
export function testCluster(): TestCluster {
  const cluster = process.env.TEST_CLUSTER;
  if (cluster === undefined) {
    throw new Error('Run the tests with make test, which starts PostgreSQL for them.');
  }
  return JSON.parse(cluster) as TestCluster;
}

/** Clones the deployed template, or makes an empty database with `{ empty: true }`, which can have an ICU locale. */
export async function makeDatabase(
  t: Test,
  { empty = false, locale }: { empty?: boolean; locale?: string } = {},
): Promise<TestDatabase> {
  const { adminUrl, template, api, migrator } = testCluster();
  const name = `${template}_${randomBytes(4).toString('hex')}`;
  const server = await connect(adminUrl);
  // A copy of the files: the default also writes every page to the log, which takes twice as long.
  const collation = locale === undefined ? '' : `locale_provider icu icu_locale '${locale}'`;
  await server.query(
    `create database ${name} template ${empty ? 'template0' : template} strategy file_copy ${collation}`,
  );
  // The per-database settings of roles.sql; a clone does not copy them.
  await server.query(`revoke connect, temporary on database ${name} from public`);
  await server.query(`grant connect on database ${name} to ${readLogins().join(', ')}`);
  await server.query(`grant create on database ${name} to ${OWNER}`);
  const admin = await connect(urlOf(adminUrl, name));
  let last: Promise<unknown> = Promise.resolve();
  t.teardown(async () => {
    await admin.end();
    await server.query(`drop database if exists ${name} with (force)`);
    await server.end();
  });
  let clubs = 0;
  const queryAsAdmin: TestDatabase['queryAsAdmin'] = async (sql, values = []) => {
    // One session: concurrent callers wait for each other.
    const result = last.then(() => admin.query(sql, values));
    last = result.catch(() => {});
    return (await result).rows;
  };
  return {
    url: urlOf(adminUrl, name, api),
    migrationUrl: urlOf(adminUrl, name, migrator),
    adminUrl: urlOf(adminUrl, name),
    queryAsAdmin,
    makeClub: async (slug = `club-${++clubs}`) => {
      // In the session that is open already.
      const made = await queryAsAdmin(`select app.provision_club($1, $2, 'Europe/Berlin') as id`, [
        `Club ${slug}`,
        slug,
      ]);
      return made[0]?.id;
    },
  };
}

/** Whether this machine has psql, which the embedded PostgreSQL does not include. */
export function hasPsql(): boolean {
  return spawnSync('psql', ['--version']).status === 0;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  return client;
}
