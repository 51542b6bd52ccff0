import { join } from 'node:path';
import type { DevelopmentConfig } from '../src/config.js';
import { OperatorError } from '../src/database/errors.js';
import { withClient } from '../src/deploy/client.js';
import { DeployError, deploy } from '../src/deploy/deploy.js';
import { readLogins, readRolesFile } from '../src/deploy/roles.js';
import { type EmbeddedPostgres, hasCluster, startPostgres } from './postgres.js';

const DATABASE = 'club';

/** The database of DATABASE_URL. */
export interface GivenDatabase {
  embedded: false;
  url: string;
  /** Undefined when only DATABASE_URL is set: then there is no deploy, and no club can be created. */
  migrationUrl: string | undefined;
  stop(): Promise<void>;
}

/** The embedded database, with the URLs of its logins. */
export interface EmbeddedDatabase {
  embedded: true;
  url: string;
  migrationUrl: string;
  /** The URL of the superuser. */
  adminUrl: string;
  auditUrl: string;
  stop(): Promise<void>;
}

/** What a command does with the database: it deploys this checkout to it, or uses what is there. */
export type Existing = 'deployed' | 'as it is';

/** The embedded database has not been created. */
class NoDatabase extends OperatorError {
  constructor() {
    super('There is no database yet: make run creates one.');
  }
}

/** Opens the database of DATABASE_URL, or the embedded one without that variable. */
export async function openDatabase(
  config: DevelopmentConfig,
  existing: Existing,
): Promise<GivenDatabase | EmbeddedDatabase> {
  if (config.DATABASE_URL !== undefined) {
    const migrationUrl = config.MIGRATION_DATABASE_URL;
    if (migrationUrl !== undefined && existing === 'deployed') {
      await deploy(migrationUrl);
    }
    return { embedded: false, url: config.DATABASE_URL, migrationUrl, stop: async () => {} };
  }
  return openEmbedded(config, existing);
}

/**
 * Starts the embedded database, or uses the one that another command has started. Only a deploy creates it.
 *
 * @throws DeployError, which contains the command to start over; NoDatabase
 */
export async function openEmbedded(
  { EMBEDDED_DATA_DIR }: DevelopmentConfig,
  existing: Existing,
): Promise<EmbeddedDatabase> {
  const server = await startEmbedded(EMBEDDED_DATA_DIR, existing);
  const migrationUrl = server.url(DATABASE, 'club_migrator', server.password);
  try {
    if (existing === 'as it is' && !(await hasDatabase(server, DATABASE))) {
      throw new NoDatabase();
    }
    if (existing === 'deployed' && server.owned) {
      await createDatabase(server, DATABASE);
      await deploy(migrationUrl);
    }
  } catch (error) {
    await server.stop();
    throw error instanceof DeployError
      ? new DeployError(`${error.message} For development, make reset begins with an empty database.`, {
          cause: error,
        })
      : error;
  }
  return {
    embedded: true,
    url: server.url(DATABASE, 'club_api', server.password),
    migrationUrl,
    adminUrl: server.url(DATABASE),
    auditUrl: server.url(DATABASE, 'club_auditor', server.password),
    stop: () => server.stop(),
  };
}

/**
 * Starts the server of the embedded database, or uses the one that another command has started.
 *
 * @throws NoDatabase
 */
export async function startEmbedded(directory: string, existing: Existing): Promise<EmbeddedPostgres> {
  const dataDir = join(directory, 'postgres');
  if (existing === 'as it is' && !(await hasCluster(dataDir))) {
    throw new NoDatabase();
  }
  return startPostgres({ dataDir });
}

/** Drops the embedded database. */
export async function dropEmbedded(server: EmbeddedPostgres): Promise<void> {
  await withClient(server.url('postgres'), (client) => client.query(`drop database if exists ${DATABASE}`));
}

async function hasDatabase(server: EmbeddedPostgres, name: string): Promise<boolean> {
  const { rowCount } = await withClient(server.url('postgres'), (client) =>
    client.query('select from pg_database where datname = $1', [name]),
  );
  return rowCount === 1;
}

/** Creates the database, the roles and the passwords of the logins, as an administrator does once on a server. */
export async function createDatabase(server: EmbeddedPostgres, name: string): Promise<void> {
  if (!(await hasDatabase(server, name))) {
    await withClient(server.url('postgres'), (client) =>
      client.query(`create database ${client.escapeIdentifier(name)}`),
    );
  }
  await withClient(server.url(name), async (client) => {
    await client.query(readRolesFile());
    for (const login of readLogins()) {
      await client.query(
        `alter role ${client.escapeIdentifier(login)} password ${client.escapeLiteral(server.password)}`,
      );
    }
  });
}
