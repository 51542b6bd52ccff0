import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { inClub } from '../../src/database/context.js';
import { Database } from '../../src/database/database.js';
import { sql } from '../../src/database/sql.js';
import type { Mode } from '../../src/database/transaction.js';
import { callerOf } from '../setup/caller.js';
import { makeWork, sqlstate } from '../setup/work.js';

const { db, club, database, anna, write, insert } = await makeWork(t);
const pooled = new Database({ url: db.url, slots: 1, prepare: false });
t.teardown(() => pooled.close());

t.test('who only reads is refused every write, who writes is not', async (t) => {
  for (const [mode, expected] of [
    ['read once', '25006'],
    ['read only', '25006'],
    ['read write', undefined],
  ] as [Mode, unknown][]) {
    for (const statement of [
      insert(mode),
      sql`update app.tasks set title = title`,
      sql`delete from app.tasks where title = 'x'`,
    ]) {
      for (const at of [database, pooled]) {
        const outcome = await inClub(at, anna, mode, (tx) => tx.query(statement)).catch(sqlstate);
        t.same(typeof outcome === 'string' ? outcome : undefined, expected);
      }
    }
  }
});

t.test('who reads once asks once: statements in one piece, of one snapshot', async (t) => {
  const count = sql`select count(*)::int as count from app.tasks where title = 'meanwhile'`;
  for (const at of [database, pooled]) {
    let seen: unknown;
    const reader = inClub(at, anna, 'read once', async (tx) => {
      seen = await tx.queryAll(count, sql`select pg_sleep(0.3) is null as slept`, count);
    });
    await sleep(100);
    await write((tx) => tx.query(insert('meanwhile')));
    await reader;
    t.same(seen, [[{ count: 0 }], [{ slept: false }], [{ count: 0 }]]);
    await write((tx) => tx.query(sql`delete from app.tasks where title = 'meanwhile'`));
  }
  const twice = inClub(database, anna, 'read once', async (tx) => {
    await tx.query(count);
    await tx.query(count);
  });
  await t.rejects(twice, /asks once/);
  t.same(database.load, { lent: 0, waiting: 0 });
});

t.test(
  'a reader that swallows a failure fails, and one that asks nothing has entered all the same',
  async (t) => {
    const swallowing = inClub(database, anna, 'read once', async (tx) => {
      await tx.queryAll(sql`select 1`, sql`select 1 / 0`).catch(() => {});
    });
    t.equal(await swallowing.catch(sqlstate), '22012');
    const asking = { ...callerOf(club), tenantId: '99999999-9999-4999-8999-999999999999' };
    for (const work of [
      async () => {},
      async () => {
        throw new Error('of its own');
      },
    ]) {
      await t.rejects(inClub(database, asking, 'read once', work), { name: 'NoEntry' });
    }
  },
);

t.test('a reader has one snapshot for all its statements; a writer sees what is newest', async (t) => {
  for (const [mode, seen] of [
    ['read only', 0],
    ['read write', 1],
  ] as [Mode, number][]) {
    const count = sql`select count(*)::int as count from app.tasks where title = ${`between ${mode}`}`;
    const after = await inClub(database, anna, mode, async (tx) => {
      await tx.query(count);
      await write((other) => other.query(insert(`between ${mode}`)));
      return tx.query(count);
    });
    t.same(after, [{ count: seen }], mode);
  }
});
