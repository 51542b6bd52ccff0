/**
 * Migrations: each runs once, through node-pg-migrate, and is never edited afterwards.
 *
 * Most run in a transaction of the deploy. A file with only `create index`, `drop index` and `alter table … validate
 * constraint` runs outside of a transaction, so that it does not block writes however large the table is.
 */
import { fileURLToPath } from 'node:url';
import { type MigrationBuilder, runner } from 'node-pg-migrate';
import type pg from 'pg';
import { DeployError } from './locks.js';
import { type Release, type SqlFile, sqlDirectory } from './release.js';
import { OWNER } from './roles.js';

/** A statement that runs outside of a transaction. */
export interface OnlineStatement {
  /** The index or constraint, as audit.facts names it. */
  object: string;
  /** The SQL to run. It can be run again after an interruption at any point. */
  sql: string[];
}

const CREATE_INDEX = /^create (unique )?index (?:concurrently )?(\w+)\s+(on (\w+)\.\w.*)$/is;
const DROP_INDEX = /^drop index (?:concurrently )?(\w+\.\w+)$/i;
const VALIDATE = /^alter table (\w+\.\w+)\s+validate constraint (\w+)$/i;

/**
 * The statements of a migration that runs outside of a transaction; undefined for any other migration.
 *
 * The first index files are older than this rule, so CONCURRENTLY is added where it is missing.
 */
export function onlineStatements({ text }: SqlFile): OnlineStatement[] | undefined {
  const statements = statementsOf(text).filter((statement) => statement !== 'set local row_security = off');
  const online = statements.map((statement): OnlineStatement | undefined => {
    const [, unique = '', name, definition, schema] = CREATE_INDEX.exec(statement) ?? [];
    if (name !== undefined) {
      const object = `${schema}.${name}`;
      // An interrupted build leaves an invalid index.
      const build = `create ${unique}index concurrently ${name} ${definition}`;
      return { object, sql: [`drop index concurrently if exists ${object}`, build] };
    }
    const [, dropped] = DROP_INDEX.exec(statement) ?? [];
    if (dropped !== undefined) {
      return { object: dropped, sql: [`drop index concurrently if exists ${dropped}`] };
    }
    const [, table, constraint] = VALIDATE.exec(statement) ?? [];
    return table === undefined ? undefined : { object: `${table}.${constraint}`, sql: [statement] };
  });
  return online.length > 0 && online.every((statement) => statement !== undefined) ? online : undefined;
}

/** The statements of a file, without comments and semicolons. */
export function statementsOf(text: string): string[] {
  const parts = text.matchAll(/(?:\$(\w*)\$[\s\S]*?\$\1\$|'[^']*'|"[^"]*"|--.*|[^;])+/g);
  return [...parts]
    .map(([part]) => part.replaceAll(/^[ \t]*--.*$/gm, '').trim())
    .filter((part) => part !== '');
}

/**
 * The migrations of the release that have not run in this database. It also compares the hashes of those that ran, because
 * node-pg-migrate compares only names.
 *
 * @throws DeployError when the database is newer, a migration was edited after it ran, or a new one sorts before one that ran
 */
export async function pendingMigrations(client: pg.Client, release: Release): Promise<SqlFile[]> {
  const { rows } = await client.query(
    `select to_regclass('deploy.migrations') is not null as ran, to_regclass('deploy.migration_files') is not null as hashed`,
  );
  const known = new Map(release.migrations.map((file) => [file.name, file.sha256]));
  const files = rows[0].hashed
    ? await client.query('select name, sha256 from deploy.migration_files')
    : { rows: [] };
  for (const { name, sha256 } of files.rows) {
    if (!known.has(name)) {
      throw new DeployError(
        `This database has the migration ${name}, which this release does not know: a newer release was deployed. ` +
          'An older release runs with this database unchanged and needs no deploy.',
      );
    }
    if (known.get(name) !== sha256) {
      throw new DeployError(
        `The migration ${name} was edited after it ran in this database. Restore it, and add a new migration instead.`,
      );
    }
  }
  const ran = rows[0].ran ? await client.query('select name from deploy.migrations') : { rows: [] };
  const names = new Set(ran.rows.map(({ name }) => name));
  const pending = release.migrations.filter(({ name }) => !names.has(name));
  const [next] = pending;
  const last = release.migrations.findLast(({ name }) => names.has(name));
  if (next && last && release.migrations.indexOf(next) < release.migrations.indexOf(last)) {
    throw new DeployError(
      `The new migration ${next.name} sorts before ${last.name}, which already ran: rename ` +
        `sql/migrations/${next.name}.sql so that it sorts last, or, in development, start with an empty database.`,
    );
  }
  return pending;
}

/** Runs one migration, in the transaction of the caller. */
export async function runMigration(client: pg.Client, release: Release, file: SqlFile): Promise<void> {
  await run(client, release, file, [file.text]);
}

/** Runs one migration outside of a transaction. It waits for locks without a limit, because it blocks no other session. */
export async function runOnline(
  client: pg.Client,
  release: Release,
  file: SqlFile,
  statements: OnlineStatement[],
): Promise<void> {
  await client.query('set lock_timeout = 0');
  await client.query(`set role ${OWNER}`);
  for (const step of statements.flatMap(({ sql }) => sql)) {
    await client.query(step);
  }
  const { rows } = await client.query(`select to_regclass('audit.facts') is not null as exists`);
  // In one transaction, so that the recorded facts contain the rows of the migration.
  await client.query('begin');
  try {
    await run(client, release, file, []);
    if (rows[0].exists) {
      await client.query(`set local role ${OWNER}`);
      const rowOf = (table: string) => `deploy.${table} ('${file.name}')`;
      const objects = [
        ...statements.map(({ object }) => object),
        rowOf('migrations'),
        rowOf('migration_files'),
      ];
      await recordAsMeant(client, objects);
    }
    await client.query('commit');
  } catch (error) {
    // As in a step of a deploy.
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/** Records these facts as intended in their present form; all other facts stay as recorded. Where all are lost, it records none. */
async function recordAsMeant(client: pg.Client, objects: string[]): Promise<void> {
  const ofObjects = `kind in ('index', 'key', 'constraint', 'row') and object = any ($1)`;
  await client.query(`delete from deploy.facts where ${ofObjects}`, [objects]);
  await client.query(
    `insert into deploy.facts (kind, object, fact, make, unmake, server_major)
     select kind, object, fact, make, unmake, current_setting('server_version_num')::integer / 10000
     from audit.facts where ${ofObjects} and exists (select from deploy.facts)`,
    [objects],
  );
}

/** Runs each step as a separate query, then records the name and the hash of the file. The caller manages transactions. */
async function run(client: pg.Client, release: Release, file: SqlFile, steps: string[]): Promise<void> {
  const values = [file.name, file.sha256].map((value) => client.escapeLiteral(value)).join(', ');
  const keepHash = `
    insert into deploy.migration_files (name, sha256) values (${values})
    on conflict (name) do update set sha256 = excluded.sha256`;
  const up = (pgm: MigrationBuilder) => {
    pgm.noTransaction();
    for (const step of [...steps, keepHash]) {
      pgm.sql(step);
    }
  };
  // All migrations up to this one: node-pg-migrate checks the order.
  const known = release.migrations.slice(0, release.migrations.indexOf(file) + 1);
  const units = known.map(({ name }) => ({ id: `${name}.sql`, filePaths: [], actions: { up } }));
  await client.query(`set role ${OWNER}`);
  await runner({
    dbClient: client,
    dir: fileURLToPath(new URL('migrations', sqlDirectory)),
    ignorePattern: '(?!.*\\.sql$).*',
    migrationLoaderStrategies: [{ extensions: ['.sql'], loader: async () => units }],
    migrationsSchema: 'deploy',
    migrationsTable: 'migrations',
    direction: 'up',
    singleTransaction: false,
    noLock: true,
    log: () => {},
  });
  await client.query('reset role');
}
