import { randomBytes } from 'node:crypto';
import { access, constants, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { ConfigurationError, type DevelopmentConfig } from '../src/config.js';
import { ConnectionFailed, withClient } from '../src/deploy/client.js';
import { deploy } from '../src/deploy/deploy.js';
import { readRoles, readRolesFile } from '../src/deploy/roles.js';
import { type Login, urlOf } from './database-url.js';
import { startPostgres } from './postgres.js';

/** The server on which a test file creates its databases; passed as JSON in TEST_CLUSTER. */
export interface TestCluster {
  /** The URL of an administrator, in the maintenance database. */
  adminUrl: string;
  /** The name of a deployed database without rows, to be cloned. */
  template: string;
  /** The logins club_api and club_migrator, or logins with exactly their rights. */
  api: Login;
  migrator: Login;
  /** The directory with the programs of PostgreSQL; undefined for the embedded one. */
  bin: string | undefined;
}

/** More than the 160 databases of a run, of some 10 MB, and a gigabyte of log would take if none were dropped. */
const NEEDED_BYTES = 4 * 1024 ** 3;

/**
 * Prepares the server for the tests: a temporary one of the embedded PostgreSQL or of the programs in TEST_POSTGRES_BIN,
 * or the running one of TEST_DATABASE_URL.
 *
 * Existing roles of a given server are not altered: the tests get separate logins that are members of club_api and
 * club_migrator. Everything that is created here is dropped at the end.
 *
 * @throws ConfigurationError when TEST_POSTGRES_BIN has no programs; ConnectionFailed
 */
export async function openTestCluster({
  TEST_DATABASE_URL: givenUrl,
  TEST_POSTGRES_BIN: bin,
}: DevelopmentConfig): Promise<{ cluster: TestCluster; close: () => Promise<void> }> {
  if (givenUrl !== undefined) {
    return prepare(givenUrl, bin, async () => {});
  }
  if (bin !== undefined) {
    await requirePrograms(bin);
  }
  const dataDir = await mkdtemp(join(await parentDirectory(), 'club-test-'));
  // Autovacuum sometimes holds a lock that a test requests without waiting.
  const server = await startPostgres({ dataDir, throwaway: true, bin, settings: { autovacuum: 'off' } });
  return prepare(server.url('postgres'), bin, () => server.stop());
}

async function requirePrograms(bin: string): Promise<void> {
  await access(join(bin, 'initdb'), constants.X_OK).catch(() => {
    throw new ConfigurationError([
      `TEST_POSTGRES_BIN must be the directory with the programs of a PostgreSQL server: there is no initdb in ${bin}.`,
    ]);
  });
}

/**
 * The memory-backed file system of Linux, as PostgreSQL's chapter on non-durable settings recommends, where it has room;
 * otherwise the directory of temporary files.
 */
export async function parentDirectory(): Promise<string> {
  const { bavail, bsize } = await statfs('/dev/shm').catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= NEEDED_BYTES ? '/dev/shm' : tmpdir();
}

async function prepare(adminUrl: string, bin: string | undefined, stop: () => Promise<void>) {
  const suffix = randomBytes(4).toString('hex');
  const template = `club_test_${suffix}`;
  const admin = new pg.Client(adminUrl);
  // Some tests crash the server; this process must continue.
  admin.on('error', () => {});
  await admin.connect().catch((error) => {
    throw new ConnectionFailed(error, 'TEST_DATABASE_URL');
  });
  const roles = readRoles().map(({ name }) => name);
  const { rows } = await admin.query('select from pg_roles where rolname = any ($1)', [roles]);
  const ownRoles = rows.length === 0;

  await admin.query(`create database ${template}`);
  if (ownRoles) {
    await withClient(urlOf(adminUrl, template), (client) => client.query(readRolesFile()));
  } else {
    await admin.query(`grant create on database ${template} to club_owner`);
  }
  const api = await makeLogin(admin, 'club_api', ownRoles, suffix);
  const migrator = await makeLogin(admin, 'club_migrator', ownRoles, suffix);
  await deploy(urlOf(adminUrl, template, migrator));

  const close = async () => {
    const { rows: databases } = await admin.query(
      "select datname from pg_database where datname like $1 || '%'",
      [template],
    );
    for (const { datname } of databases) {
      await admin.query(`drop database if exists ${datname} with (force)`);
    }
    for (const role of ownRoles ? roles : [api.user, migrator.user]) {
      await admin.query(`drop role ${role}`);
    }
    await admin.end();
    await stop();
  };
  return { cluster: { adminUrl, template, api, migrator, bin }, close };
}

/** Sets a password for the role if this process created it; otherwise creates a login with its rights and settings. */
async function makeLogin(admin: pg.Client, role: string, own: boolean, suffix: string): Promise<Login> {
  const password = randomBytes(16).toString('hex');
  if (own) {
    await admin.query(`alter role ${role} password '${password}'`);
    return { user: role, password };
  }
  const user = `${role}_test_${suffix}`;
  await admin.query(`create role ${user} login password '${password}' in role ${role}`);
  const { rows } = await admin.query<{ setting: string }>(
    `select unnest(setconfig) as setting from pg_db_role_setting where setdatabase = 0 and setrole = $1::regrole`,
    [role],
  );
  for (const { setting } of rows) {
    const [name = '', value = ''] = setting.split(/=(.*)/s);
    // The value of search_path is a list, which must not be quoted as one text.
    await admin.query(
      `alter role ${user} set ${name} = ${name === 'search_path' ? value : admin.escapeLiteral(value)}`,
    );
  }
  return { user, password };
}
