import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import type { Test } from 'tap';
import { withClient } from '../../../src/deploy/client.js';
import { readLogins } from '../../../src/deploy/roles.js';
import { urlOf } from '../../../tools/database-url.js';
import { startPostgres } from '../../../tools/postgres.js';
import { openTestCluster } from '../../../tools/test-cluster.js';
import { makeDatabase } from '../../setup/database.js';
import { until } from '../../setup/wait.js';

/** Deployed databases of a PostgreSQL server. */
export interface Databases {
  /** Creates a deployed database; returns its name. */
  makeDatabase(): Promise<string>;
  /** The current URLs: each start uses another port. */
  urls(database: string): { admin: string; api: string; migration: string };
  /** Runs SQL as the superuser, on its own connection. */
  queryAsAdmin<Row extends pg.QueryResultRow>(
    database: string,
    sql: string,
    values?: unknown[],
  ): Promise<Row[]>;
}

/** A PostgreSQL server to crash. */
export interface Victim extends Databases {
  /** Ends the server and starts it again: SIGKILL, SIGQUIT (immediately) or SIGINT (fast). */
  restart(signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Promise<void>;
  /** Waits until it accepts connections. */
  untilAccepting(): Promise<void>;
}

/** Without fsync: a crash of a process loses no written data, only a crash of the machine does. */
const SETTINGS = { synchronous_commit: 'on', full_page_writes: 'on', max_connections: '60' };

export async function startVictim(t: Test): Promise<Victim> {
  const bin = process.env.TEST_POSTGRES_BIN || undefined;
  const options = {
    dataDir: await mkdtemp(join(tmpdir(), 'club-chaos-')),
    throwaway: true,
    bin,
    settings: SETTINGS,
  };
  let server = await startPostgres(options);
  t.teardown(() => server.stop());
  const databases = await openDatabases((database) => server.url(database));
  const { queryAsAdmin } = databases;
  const isAccepting = () =>
    queryAsAdmin('postgres', 'select').then(
      () => true,
      () => false,
    );

  return {
    ...databases,
    untilAccepting: async () => void (await until(isAccepting, Boolean)),
    restart: async (signal) => {
      const [row] = await queryAsAdmin<{ path: string }>(
        'postgres',
        `select current_setting('data_directory') as path`,
      );
      const pid = Number.parseInt(await readFile(join(row?.path ?? '', 'postmaster.pid'), 'utf8'), 10);
      process.kill(pid, signal);
      await until(
        () => isAlive(pid),
        (alive) => !alive,
      );
      server = await startPostgres(options);
      await until(isAccepting, Boolean);
    },
  };
}

/**
 * Creates the roles on a server, and deployed databases.
 *
 * @param admin the current URL of a database as the superuser
 */
export async function openDatabases(admin: (database: string) => string): Promise<Databases> {
  const { cluster } = await openTestCluster({ TEST_DATABASE_URL: admin('postgres') } as Parameters<
    typeof openTestCluster
  >[0]);
  const queryAsAdmin: Databases['queryAsAdmin'] = (database, sql, values) =>
    withClient(admin(database), async (client) => (await client.query(sql, values)).rows);
  return {
    urls: (database) => ({
      admin: admin(database),
      api: urlOf(admin(database), database, cluster.api),
      migration: urlOf(admin(database), database, cluster.migrator),
    }),
    queryAsAdmin,
    makeDatabase: async () => {
      const name = `${cluster.template}_${randomBytes(4).toString('hex')}`;
      await queryAsAdmin('postgres', `create database ${name} template ${cluster.template}`);
      await queryAsAdmin('postgres', `revoke connect, temporary on database ${name} from public`);
      await queryAsAdmin('postgres', `grant connect on database ${name} to ${readLogins().join(', ')}`);
      await queryAsAdmin('postgres', `grant create on database ${name} to club_owner`);
      return name;
    },
  };
}

/** A database on the common server of the tests, which is not restarted. */
export async function makeCommonDatabase(t: Test): Promise<Victim> {
  const { adminUrl, url, migrationUrl } = await makeDatabase(t);
  return {
    urls: () => ({ admin: adminUrl, api: url, migration: migrationUrl }),
    queryAsAdmin: (_, sql, values) =>
      withClient(adminUrl, async (client) => (await client.query(sql, values)).rows),
    untilAccepting: async () => {},
    makeDatabase: async () => new URL(url).pathname.slice(1),
    restart: async () => {
      throw new Error('Other tests use the common server.');
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
