import pg from 'pg';
import type { Test } from 'tap';
import { fillEmptyTables } from './catalog-rows.js';
import { makeDatabase, type TestDatabase } from './database.js';
import { enter } from './runtime.js';

export interface Club {
  id: string;
  taskId: string;
  shiftId: string;
  memberId: string;
}

export interface Testbed {
  db: TestDatabase;
  api: pg.Client;
  own: Club;
  foreign: Club;
}

export async function makeTestbed(t: Test): Promise<Testbed> {
  const db = await makeDatabase(t);
  const api = new pg.Client(db.url);
  await api.connect();
  t.teardown(() => api.end());
  const seedClub = async (slug: string): Promise<Club> => {
    const id = await db.makeClub(slug);
    const club = await within(api, id, async () => {
      const one = async (sql: string, values: unknown[] = []) =>
        Object.values((await api.query(sql, values)).rows[0])[0] as string;
      const taskId = await one(
        `insert into app.tasks (title, assignee_id) values ('${slug}', app.member_id()) returning id`,
      );
      const shiftId = await one(
        `insert into app.shifts (title, starts_at, ends_at, capacity) values ('${slug}', now() + interval '1 day', now() + interval '2 days', 5) returning id`,
      );
      await api.query('select app.sign_up($1)', [shiftId]);
      await api.query(`select app.claim_key('${slug}', sha256(''))`);
      await api.query(`select app.keep_answer('${slug}', 201::smallint, '/', null, '{}')`);
      return { id, taskId, shiftId, memberId: await one('select app.member_id()') };
    });
    await fillEmptyTables(db, id);
    return club;
  };
  return { db, api, own: await seedClub('own'), foreign: await seedClub('foreign') };
}

/** Runs work as an Admin of the club, whose member is created first, and commits it. */
export async function within<Result>(
  api: pg.Client,
  clubId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const [context = ''] = asAdmin(clubId);
  await api.query('begin');
  await api.query(context);
  await api.query(`select app.sync_member('Anna', null, null)`);
  await api.query(context);
  try {
    return await work();
  } finally {
    await api.query('commit');
  }
}

export type Outcome = { rows: number } | { code: string };

/** Runs one statement in its own transaction, after the statements that set the context. */
export async function attempt(
  api: pg.Client,
  context: string[],
  statement: string,
  end: 'commit' | 'rollback' = 'commit',
): Promise<Outcome> {
  await api.query('begin');
  try {
    for (const setting of context) {
      await api.query(setting);
    }
    const { rowCount } = await api.query(statement);
    return { rows: rowCount ?? 0 };
  } catch (error) {
    return { code: (error as pg.DatabaseError).code as string };
  } finally {
    await api.query(end);
  }
}

/** The statement that enters the club as its Admin. */
export const asAdmin = (clubId: string) => [
  `select * from ${enter({ clubId, subject: 'anna', role: 'Admin' })}`,
];

/** Tables of the service with their floor's column, from the catalog: a new table is tested automatically. */
export async function tablesOf(
  db: TestDatabase,
): Promise<{ name: string; floor: string | null; column: string }[]> {
  return db.queryAsAdmin(`
    select class.relname as name,
      case when not class.relrowsecurity then null when class.relname = 'clubs' then 'id' else 'tenant_id' end as floor,
      (select attname from pg_attribute
       where attrelid = class.oid and attnum > 0 and not attisdropped
       order by has_column_privilege('club_api', attrelid, attnum, 'update') desc, attnum limit 1) as column
    from pg_class as class
    where class.relnamespace = 'app'::regnamespace and class.relkind in ('r', 'p') order by 1`);
}

/** Counts and hashes of all rows of a club, read as administrator. */
export async function fingerprint(db: TestDatabase, clubId: string): Promise<unknown> {
  const sums: Record<string, unknown> = {};
  for (const { name, floor } of await tablesOf(db)) {
    const where = floor === null ? '' : `where ${floor} = '${clubId}'`;
    [sums[name]] = await db.queryAsAdmin(
      `select count(*)::int as rows, md5(string_agg(t::text, '|' order by t::text)) as hash from app.${name} as t ${where}`,
    );
  }
  return sums;
}
