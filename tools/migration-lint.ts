import type pg from 'pg';
import { withClient } from '../src/deploy/client.js';
import { type OnlineStatement, onlineStatements, statementsOf } from '../src/deploy/migrations.js';
import { readRelease, type SqlFile } from '../src/deploy/release.js';

/** Index files that are older than this rule; the deploy adds CONCURRENTLY to their statements. */
const BEFORE_THE_RULE = ['0007_orders', '0008_names'];

/**
 * Finds the statements of migrations that would block requests for a time that grows with the table, and those that would
 * record events, one sentence each.
 *
 * It runs each migration in an empty database, as a superuser. After each statement in a transaction it reads from
 * PostgreSQL which existing tables were scanned: an index build, a rewrite, the check of a constraint and a change of rows
 * scan the whole table, and a short statement scans none. A trigger in place of that of the chapters reports a change of rows,
 * also of none.
 */
export async function findBlocking(url: string, migrations: SqlFile[]): Promise<string[]> {
  return withClient(url, async (client) => {
    await client.query(`create schema if not exists deploy; drop schema if exists lint cascade; create schema lint;
      create table lint.changes (relation text);
      create function lint.report() returns trigger language plpgsql as $$
      begin
        insert into lint.changes values (tg_relid::regclass::text);
        return null;
      end $$;
      create function lint.watch(trigger name, relation regclass) returns void strict language plpgsql as $$
      begin
        execute format(
          'create or replace trigger %I after insert or update or delete on %s for each statement execute function lint.report()',
          trigger, relation
        );
      end $$`);
    const found: string[] = [];
    for (const file of migrations) {
      const online = onlineStatements(file);
      const faults = online ? await lintOnline(client, file, online) : await lintShort(client, file);
      found.push(...faults.map((fault) => `${file.name}: ${fault}`));
    }
    return found;
  });
}

async function lintOnline(client: pg.Client, file: SqlFile, online: OnlineStatement[]): Promise<string[]> {
  for (const statement of online.flatMap(({ sql }) => sql)) {
    await client.query(statement);
  }
  const saysSo = !/^\s*(create( unique)?|drop) index (?!concurrently)/im.test(file.text);
  return (online.length === 1 && saysSo) || BEFORE_THE_RULE.includes(file.name)
    ? []
    : ['a file with an index statement must have only this statement, with CONCURRENTLY.'];
}

async function lintShort(client: pg.Client, file: SqlFile): Promise<string[]> {
  const faults: string[] = [];
  await client.query('begin');
  // The counts continue from earlier transactions of the session. A table that this file creates is empty.
  let counts = await readCounts(client);
  const large = [...counts.keys()];
  await reportChanges(client);
  for (const statement of statementsOf(file.text)) {
    await client.query(statement);
    const { rows } = await client.query<{ relation: string }>('delete from lint.changes returning *');
    for (const { relation } of rows) {
      faults.push(
        `this statement changes rows of ${relation}, and would record an event for each. Write before it ` +
          `alter table ${relation} disable trigger user, and after it enable them again.\n${statement}`,
      );
    }
    const now = await readCounts(client);
    // A table that was dropped has no count.
    for (const table of large.filter((name) => now.has(name) && now.get(name) !== counts.get(name))) {
      faults.push(
        `this statement reads all of ${table} while requests wait. Build an index CONCURRENTLY in a separate file; ` +
          `add a constraint NOT VALID, and validate it in a separate file.\n${statement}`,
      );
    }
    counts = now;
  }
  await client.query('commit');
  return faults;
}

/** Replaces each trigger that records by one that reports itself and its table. */
async function reportChanges(client: pg.Client): Promise<void> {
  const recording = readRelease().chapters.flatMap(({ text }) => [
    ...text.matchAll(
      /^create trigger (\w+) [^;]*? on (app\.\w+)\s+for each row execute function app\.record_event/gm,
    ),
  ]);
  for (const [, trigger, table] of recording) {
    await client.query('select lint.watch($1, to_regclass($2))', [trigger, table]);
  }
}

/** The number of scans of each tenant table in this session. */
async function readCounts(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; count: string }>(
    `select attrelid::regclass::text as name, pg_stat_get_xact_numscans(attrelid) as count
     from pg_attribute join pg_class on pg_class.oid = attrelid
     where relkind in ('r', 'p') and relnamespace = to_regnamespace('app') and attname = 'tenant_id'`,
  );
  return new Map(rows.map(({ name, count }) => [name, count]));
}
