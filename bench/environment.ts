import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { withClient } from '../src/deploy/client.js';
import { readLogins, readRolesFile } from '../src/deploy/roles.js';
import { type Issuer, startIssuer } from '../test/setup/issuer.js';
import { type EmbeddedPostgres, startPostgres } from '../tools/postgres.js';
import { root } from '../tools/root.js';
import { loadData, type Size } from './data.js';
import { plan } from './plan.js';

/** Settings that fit a server for such a database, with full durability. */
export const SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '2GB',
  effective_cache_size: '6GB',
  maintenance_work_mem: '512MB',
  work_mem: '8MB',
  wal_compression: 'on',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  max_connections: '200',
};

/** The databases: many clubs, one club with the same number of rows, and one club with a hundredth of them. */
const sizes: Record<DatabaseName, Size> = {
  many: plan,
  one: { ...plan, clubs: 1, members: 20_000 },
  few: { clubs: 1, members: 2_000, tasks: plan.tasks / 100, shifts: plan.shifts / 100 },
};
export type DatabaseName = 'many' | 'one' | 'few';

/** The environment of the contenders. */
export interface Environment {
  server: EmbeddedPostgres;
  /** The process id of the postmaster. */
  postmaster: number;
  postgresVersion: string;
  issuer: Issuer;
  /** The URL of a database with the login of the service. */
  apiUrl(database: DatabaseName): string;
  queryAsAdmin<Row extends pg.QueryResultRow>(
    database: DatabaseName | 'copy',
    sql: string,
    values?: unknown[],
  ): Promise<Row[]>;
  /** Ends what was started; `startContender` adds the processes. */
  teardowns: (() => Promise<void>)[];
  /** Calls all teardowns, the last first, even if one fails. */
  close(): Promise<void>;
}

/** Starts PostgreSQL and the issuer, and loads the databases. */
export async function startEnvironment(say: (line: string) => void): Promise<Environment> {
  const teardowns: Environment['teardowns'] = [];
  const close = async (): Promise<void> => {
    try {
      await teardowns.pop()?.();
    } finally {
      if (teardowns.length > 0) {
        await close();
      }
    }
  };
  try {
    const dataDir = await mkdtemp(join(tmpdir(), 'club-bench-'));
    const server = await startPostgres({ dataDir, throwaway: true, settings: SETTINGS });
    teardowns.push(() => server.stop());
    const issuer = await startIssuer({ teardown: (stop) => teardowns.push(async () => stop()) });
    const queryAsAdmin: Environment['queryAsAdmin'] = (database, sql, values = []) =>
      withClient(server.url(database), async (client) => (await client.query(sql, values)).rows);
    const started = Date.now();
    for (const name of Object.keys(sizes)) {
      await deploy(server, name);
    }
    await Promise.all(Object.entries(sizes).map(([name, size]) => loadData(server.url(name), size)));
    say(`databases loaded in ${((Date.now() - started) / 1000).toFixed(0)} s`);
    const [{ directory, version } = { directory: '', version: '' }] = await queryAsAdmin<{
      directory: string;
      version: string;
    }>(
      'many',
      "select current_setting('data_directory') as directory, current_setting('server_version') as version",
    );
    const postmaster = Number((await readFile(join(directory, 'postmaster.pid'), 'utf8')).split('\n')[0]);
    return {
      server,
      postmaster,
      postgresVersion: version,
      issuer,
      apiUrl: (database) => server.url(database, 'club_api', server.password),
      queryAsAdmin,
      teardowns,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Creates the database, the roles and the schema, as an administrator and a deploy do. */
async function deploy(server: EmbeddedPostgres, database: string): Promise<void> {
  await withClient(server.url('postgres'), (client) => client.query(`create database ${database}`));
  await withClient(server.url(database), async (client) => {
    await client.query(readRolesFile());
    for (const login of readLogins()) {
      await client.query(`alter role ${login} password ${client.escapeLiteral(server.password)}`);
    }
  });
  await promisify(execFile)(process.execPath, [join(root, 'dist/migrate.js')], {
    env: {
      ...process.env,
      NODE_ENV: 'production',
      MIGRATION_DATABASE_URL: server.url(database, 'club_migrator', server.password),
    },
  });
}
