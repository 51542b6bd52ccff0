import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DevelopmentConfig } from '../src/config.js';
import { withClient } from '../src/deploy/client.js';
import { deploy } from '../src/deploy/deploy.js';
import { sqlDirectory } from '../src/deploy/release.js';
import { type EmbeddedPostgres, startPostgres } from './postgres.js';

const DATABASE = 'club';

/** The database of the development commands, with its logins. */
export interface DevelopmentDatabase {
  url: string;
  /** Undefined when only DATABASE_URL is set: then there is no deploy, and no club can be created. */
  migrationUrl: string | undefined;
  /** The URL of the superuser; only for the embedded server. */
  adminUrl?: string;
  /** The URL to read the schema audit; that of the service when no other is known. */
  auditUrl: string;
  /** Whether it is the embedded one. */
  embedded: boolean;
  stop(): Promise<void>;
}

/**
 * Opens the database of DATABASE_URL. Without that variable it starts and deploys the embedded one, or uses the one that
 * another command has started.
 */
export async function openDatabase(config: DevelopmentConfig): Promise<DevelopmentDatabase> {
  if (config.DATABASE_URL !== undefined) {
    const migrationUrl = config.MIGRATION_DATABASE_URL;
    if (migrationUrl !== undefined) {
      await deploy(migrationUrl);
    }
    const url = config.DATABASE_URL;
    return { url, migrationUrl, auditUrl: url, embedded: false, stop: async () => {} };
  }
  const server = await startPostgres({ dataDir: join(config.EMBEDDED_DATA_DIR, 'postgres') });
  const migrationUrl = server.url(DATABASE, 'club_migrator', server.password);
  try {
    if (server.owned) {
      await createDatabase(server, DATABASE);
      await deploy(migrationUrl);
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    url: server.url(DATABASE, 'club_api', server.password),
    migrationUrl,
    adminUrl: server.url(DATABASE),
    auditUrl: server.url(DATABASE, 'club_auditor', server.password),
    embedded: true,
    stop: () => server.stop(),
  };
}

/** Creates the database, the roles and the passwords of the logins, as an administrator does once on a server. */
export async function createDatabase(server: EmbeddedPostgres, name: string): Promise<void> {
  await withClient(server.url('postgres'), async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount === 0) {
      await client.query(`create database ${client.escapeIdentifier(name)}`);
    }
  });
  await withClient(server.url(name), async (client) => {
    await client.query(await readFile(new URL('roles.sql', sqlDirectory), 'utf8'));
    for (const login of ['club_api', 'club_migrator', 'club_auditor'] as const) {
      await client.query(`alter role ${login} password ${client.escapeLiteral(server.password)}`);
    }
  });
}
