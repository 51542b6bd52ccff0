/**
 * A deploy brings a database to the release of this checkout. It can be run again after an interruption at any point.
 *
 * Each migration (tables, constraints, indexes) runs once. The chapters of `sql/policies` and `sql/audit` (policies,
 * grants, functions) are applied completely, in the transaction of the last transactional migration. A table that was
 * committed before has no grants until then. The service never has the login of the deploy.
 */
import type pg from 'pg';
import { type Approved, approve, missingRoles, requireOutside } from './approvals.js';
import { isDatabaseError, withClient } from './client.js';
import { DeployError, DeployFailed, lockDeploys, whenLocksAreFree } from './locks.js';
import { onlineStatements, pendingMigrations, runMigration, runOnline } from './migrations.js';
import { type Release, readRelease, type SqlFile, sha256 } from './release.js';
import { MIGRATOR, OWNER, readRoles } from './roles.js';

export type { Approved } from './approvals.js';
export { DeployError } from './locks.js';

export interface DeployResult {
  /** The migrations that this deploy ran, by name. */
  migrations: string[];
  /** Whether the chapters were applied; false when they are unchanged since the last deploy and the database has no drift. */
  applied: boolean;
  /** The roles that this deploy approved, each with its powers and objects; undefined when it left the list as it was. */
  approved: Approved[] | undefined;
  /** Warnings for an administrator, one sentence each. */
  warnings: string[];
}

/**
 * Deploys the release to the database.
 *
 * @param url the URL of the database, with the migration login
 * @param roles the roles outside of the service to approve, and no others; undefined leaves the list as it is
 * @throws ConnectionFailed; DeployError when the roles of the service are missing or to be approved, the server has none of the roles to approve, the database is newer, a
 *   migration was edited after it ran or is out of order, or a lock could not be acquired; DeployFailed when a statement failed
 */
export async function deploy(
  url: string,
  release: Release = readRelease(),
  roles?: string[],
): Promise<DeployResult> {
  try {
    return await withClient(url, (client) => deployWith(client, release, roles));
  } catch (error) {
    throw isDatabaseError(error) ? new DeployFailed(sentenceOf(error), { cause: error }) : error;
  }
}

/** What failed, with all that PostgreSQL said of the place. */
function sentenceOf({ message, code, position, where, hint }: pg.DatabaseError): string {
  const more = Object.entries({ position, where, hint }).filter(([, text]) => text !== undefined);
  const place = more.map(([name, text]) => `; ${name}: ${text}`).join('');
  return `The deploy failed, and its last step was rolled back: ${message} (SQLSTATE ${code}${place}).`;
}

async function deployWith(client: pg.Client, release: Release, roles?: string[]): Promise<DeployResult> {
  // The search_path of the login must not matter: a name could resolve to an object that another role created.
  await client.query('set search_path = pg_catalog, pg_temp');
  await client.query('set statement_timeout = 0');
  await requireRoles(client);
  await requirePreparedDatabase(client);
  requireOutside(roles ?? []);
  const missing = await missingRoles(client, roles ?? []);
  await lockDeploys(client);
  const { pending, applies } = await whenLocksAreFree(client, () => compare(client, release));
  await requireRestriction(client);
  for (const step of stepsOf(pending, applies)) {
    const [file] = step.files;
    const online = file && onlineStatements(file);
    await whenLocksAreFree(client, () =>
      online ? runOnline(client, release, file, online) : runStep(client, release, step),
    );
  }
  await whenLocksAreFree(client, () => recordRelease(client, release));
  const present = roles?.filter((role) => !missing.includes(role));
  const approved = present && (await whenLocksAreFree(client, () => approve(client, present)));
  return {
    migrations: pending.map(({ name }) => name),
    applied: applies,
    approved,
    warnings: [
      ...missing.map((role) => `The server has no role ${role} to approve.`),
      ...(await superuser(client)),
      ...(await creatorsInPublic(client)),
    ],
  };
}

/** A step of a deploy: one migration outside of a transaction, or one transaction. */
interface Step {
  files: SqlFile[];
  applies: boolean;
}

/** Splits a deploy into steps; the chapters are applied together with the last transactional migrations. */
function stepsOf(pending: SqlFile[], applies: boolean): Step[] {
  const isOnline = (file: SqlFile) => onlineStatements(file) !== undefined;
  const end = pending.findLastIndex((file) => !isOnline(file)) + 1;
  const start = pending.slice(0, end).findLastIndex(isOnline) + 1;
  const alone = (file: SqlFile): Step => ({ files: [file], applies: false });
  const together = { files: pending.slice(start, end), applies };
  return [
    ...pending.slice(0, start).map(alone),
    ...(applies || together.files.length > 0 ? [together] : []),
    ...pending.slice(end).map(alone),
  ];
}

/** Finds the migrations that have not run, and whether the chapters must be applied. */
async function compare(
  client: pg.Client,
  release: Release,
): Promise<{ pending: SqlFile[]; applies: boolean }> {
  await client.query(`set role ${OWNER}`);
  await client.query('create schema if not exists deploy');
  await client.query('reset role');
  const pending = await pendingMigrations(client, release);
  const { rows } = await client.query(`select to_regclass('deploy.chapters') is not null as exists`);
  const last = rows[0].exists
    ? await client.query('select sha256 from deploy.chapters order by applied_at desc limit 1')
    : { rows: [] };
  const isApplied = last.rows[0]?.sha256 === hashOf(release);
  return { pending, applies: !isApplied || isReadByAudit(release, pending) || (await needsChapters(client)) };
}

/** A hash over all chapters, in their order. */
function hashOf({ chapters, audit }: Release): string {
  return sha256([...chapters, ...audit].map(({ name, text }) => `${name}\n${text}\n`).join(''));
}

/** Whether the audit finds a broken rule of isolation or a difference from the last deploy, or is missing itself. */
async function needsChapters(client: pg.Client): Promise<boolean> {
  const audit = await client.query(`select to_regclass('audit.core_findings') is not null as exists`);
  if (!audit.rows[0].exists) {
    return true;
  }
  await client.query(`set role ${OWNER}`);
  const { rows } = await client.query(
    'select exists (select from audit.core_findings) or exists (select from audit.drift_findings) as found',
  );
  await client.query('reset role');
  return rows[0].found;
}

/** Records the release: the service checks whether its release was deployed. One query is one transaction. */
async function recordRelease(client: pg.Client, release: Release): Promise<void> {
  await client.query(`set role ${OWNER}`);
  await client.query(`
    insert into deploy.releases (fingerprint) values (${client.escapeLiteral(release.fingerprint)})
    on conflict (fingerprint) do update set applied_at = clock_timestamp()`);
  await client.query('reset role');
}

/** Warns of a login that no right of the database limits. */
async function superuser(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ login: string }>(
    'select rolname as login from pg_roles where rolname = session_user and rolsuper',
  );
  return rows.map(
    ({ login }) =>
      `${login} is a superuser, which a deploy does not need: let MIGRATION_DATABASE_URL log in as ${MIGRATOR}.`,
  );
}

/** Warns of roles that may create objects in the schema public, which is in the default search_path. */
async function creatorsInPublic(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ creator: string }>(
    `select distinct case grantee when 0 then 'everybody' else grantee::regrole::text end as creator
     from pg_namespace cross join aclexplode(nspacl)
     where nspname = 'public' and privilege_type = 'CREATE'
       and grantee not in (nspowner, 'pg_database_owner'::regrole)`,
  );
  return rows.map(
    ({ creator }) =>
      `${creator} may create objects in the schema public, which the service does not need: revoke create on schema public.`,
  );
}

/** The facts of the audit before this step, to tell manual changes from those of the deploy; null before the first deploy. */
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

/** Checks that the roles exist and the login may use those without a login. An administrator creates them, once. */
async function requireRoles(client: pg.Client): Promise<void> {
  const roles = readRoles().filter(({ name }) => name !== MIGRATOR);
  const { rows } = await client.query<{ role: string; exists: boolean }>(
    `select role, exists (select from pg_roles where rolname = role) as exists
     from unnest($1::text[], $2::boolean[]) as needed (role, can_login)
     where not exists (select from pg_roles where rolname = role)
        or (not can_login and not pg_has_role(session_user, role, case
          -- From PostgreSQL 16 on a membership can lack SET, as that of the administrator who created the roles does.
          when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end))`,
    [roles.map(({ name }) => name), roles.map(({ canLogin }) => canLogin)],
  );
  if (rows.length === 0) {
    return;
  }
  const other = rows.every(({ exists }) => exists) ? await otherLogin(client) : undefined;
  throw new DeployError(
    other === undefined
      ? `The login of the deploy needs the role ${rows.map(({ role }) => role).join(', ')}: ` +
          'an administrator runs sql/roles.sql in this database once.'
      : `The login ${other} may not deploy: MIGRATION_DATABASE_URL must log in as ${MIGRATOR}.`,
  );
}

/** Checks that roles.sql was run in this database too: the roles belong to the server, a part of their rights to a database. */
async function requirePreparedDatabase(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; isPrepared: boolean }>(
    `select current_database() as name, has_database_privilege($1, current_database(), 'create') as "isPrepared"`,
    [OWNER],
  );
  if (!rows[0]?.isPrepared) {
    throw new DeployError(
      `The server has the roles, but the role ${OWNER} may not create a schema in the database ${rows[0]?.name}: ` +
        'an administrator runs sql/roles.sql in this database once.',
    );
  }
}

/**
 * Tries a restrictive policy beside a permissive one that allows every row. Forks of PostgreSQL and extensions exist that make it permissive too,
 * which would show each club the rows of all.
 *
 * @throws DeployError when it does not restrict
 */
async function requireRestriction(client: pg.Client): Promise<void> {
  await client.query('begin');
  await client.query(`set local role ${OWNER}`);
  await client.query(`
    create table deploy.restriction (club integer);
    insert into deploy.restriction values (1), (2);
    alter table deploy.restriction enable row level security, force row level security;
    create policy floor on deploy.restriction as restrictive using (club = 1);
    create policy open on deploy.restriction using (true)`);
  const { rows } = await client.query('select club from deploy.restriction');
  await client.query('rollback');
  if (rows.length !== 1) {
    throw new DeployError(
      'A restrictive policy does not restrict in this database, so clubs would not be isolated. Use PostgreSQL itself, without extensions that change policies.',
    );
  }
}

/** The login of the session when it is not that of the deploy, although the server has that one. */
async function otherLogin(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ login: string }>(
    `select session_user as login from pg_roles
     where rolname = $1 and not pg_has_role(session_user, oid, 'usage')`,
    [MIGRATOR],
  );
  return rows[0]?.login;
}

/**
 * Runs one step in one transaction: sessions see all of its changes or none.
 *
 * It locks app.members first, as every request inside a club does. So requests that hold this lock can finish, later
 * requests wait for it, and no deadlock occurs. The audit reads no row of a club, so its chapters are applied before the
 * locks. If the migrations name a table that it reads, its views of the last release are dropped before them, because they
 * depend on the columns, and its chapters are applied after them.
 */
async function runStep(client: pg.Client, release: Release, { files, applies }: Step): Promise<void> {
  const before = await readFacts(client);
  const isAuditFirst = !isReadByAudit(release, files);
  await client.query('begin');
  try {
    if (applies && isAuditFirst) {
      await applyChapters(client, release.audit);
    }
    await lockTables(client);
    if (applies && !isAuditFirst) {
      await client.query(`set local role ${OWNER}; drop schema if exists audit cascade`);
    }
    for (const file of files) {
      await runMigration(client, release, file);
    }
    if (applies) {
      await applyChapters(client, isAuditFirst ? release.chapters : [...release.chapters, ...release.audit]);
    }
    await client.query(`set local role ${OWNER}`);
    if (applies) {
      await client.query(
        `insert into deploy.chapters (sha256) values ($1)
         on conflict (sha256) do update set applied_at = clock_timestamp()`,
        [hashOf(release)],
      );
    }
    await recordFacts(client, release, before);
    await client.query('commit');
  } catch (error) {
    // It fails when the connection is lost, which also rolls back; the error is the one that is worth reporting.
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/** Whether the files name a table that the audit reads: of the schema deploy, or a reference table of the schema app. */
function isReadByAudit({ audit }: Release, files: SqlFile[]): boolean {
  const read = [
    'deploy.',
    ...audit.flatMap(({ text }) => text.match(/(?<=\b(?:from|join) )app\.\w+/g) ?? []),
  ];
  return files.some(({ text }) => read.some((table) => text.includes(table)));
}

async function lockTables(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ names: string | null }>(
    `select string_agg(format('app.%I', tablename), ', ' order by tablename <> 'members', tablename) as names
     from pg_tables where schemaname = 'app'`,
  );
  if (rows[0]?.names) {
    await client.query(`set local role ${OWNER}`);
    await client.query(`lock table ${rows[0].names} in access exclusive mode`);
  }
}

async function applyChapters(client: pg.Client, chapters: SqlFile[]): Promise<void> {
  // Migrations set row_security to off for the rest of their transaction.
  await client.query('set local role none; set local row_security = on');
  for (const { name, text } of chapters) {
    await client.query(text).catch((error) => {
      throw Object.assign(error, { message: `${name}: ${error.message}` });
    });
  }
}

/** Records the facts of this release as intended, if the release has an audit, and the file of each function and view. */
async function recordFacts(client: pg.Client, release: Release, before: string | null): Promise<void> {
  const { rows } = await client.query(
    `select to_regprocedure('audit.record_facts(jsonb)') is not null as exists`,
  );
  if (!rows[0].exists) {
    return;
  }
  await client.query('select audit.record_facts($1)', [before]);
  const written = [
    ...definitionsOf('sql/policies', release.chapters),
    ...definitionsOf('sql/audit', release.audit),
  ];
  await client.query(
    `update deploy.facts set make = format('-- Deploy again: node dist/migrate.js. The text of the deploy is in %s', written.file)
     from unnest($1::text[], $2::text[]) as written (object, file)
     where kind in ('function', 'view') and split_part(facts.object, '(', 1) = written.object`,
    [written.map(({ object }) => object), written.map(({ file }) => file)],
  );
}

/** The functions and views that files create. */
function definitionsOf(directory: string, files: SqlFile[]): { object: string; file: string }[] {
  return files.flatMap(({ name, text }) =>
    [...text.matchAll(/^create (?:or replace )?(?:function|view) ([\w.]+)/gm)].map(([, object = '']) => ({
      object,
      file: `${directory}/${name}.sql`,
    })),
  );
}
