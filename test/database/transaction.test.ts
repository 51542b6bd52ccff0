import t from 'tap';
import { inClub } from '../../src/database/context.js';
import { Database } from '../../src/database/database.js';
import { sql, type Value } from '../../src/database/sql.js';
import type { Transaction } from '../../src/database/transaction.js';
import { Problem } from '../../src/problems/problem.js';
import { callerOf } from '../setup/caller.js';
import { makeWork, sqlstate } from '../setup/work.js';

const { db, club, database, anna, write, insert, titles } = await makeWork(t);

t.test('work that swallows a failed query cannot commit, and later queries fail the same way', async (t) => {
  let later: unknown;
  const run = write(async (tx) => {
    await tx.query(insert('swallowed'));
    await tx.query(sql`select 1 / 0`).catch(() => {});
    later = await tx.query(insert('swallowed')).catch(sqlstate);
  });
  t.equal(await run.catch(sqlstate), '22012');
  t.equal(later, '22012');
  t.same(await titles('swallowed'), []);
});

t.test('a query after the end is refused, and never reaches the next transaction', async (t) => {
  let kept: Transaction | undefined;
  await write(async (tx) => {
    kept = tx;
  });
  await t.rejects((kept as unknown as Transaction).query(insert('late')), /over/);
  await write((tx) => tx.query(sql`select`));
  t.same(await titles('late'), []);
});

t.test('queries that the work does not await are part of the transaction, in order', async (t) => {
  await write(async (tx) => {
    void tx.query(insert('unawaited 1'));
    void tx.query(insert('unawaited 2'));
  });
  t.same(await titles('unawaited%'), ['unawaited 1', 'unawaited 2']);
  const run = write(async (tx) => {
    void tx.query(insert('unawaited 3'));
    void tx.query(sql`select 1 / 0`);
    void tx.query(insert('unawaited 4'));
  });
  t.equal(await run.catch(sqlstate), '22012');
  t.same(await titles('unawaited%'), ['unawaited 1', 'unawaited 2']);
});

t.test('nothing is kept of work that throws, whatever it throws and whenever', async (t) => {
  const works: ((tx: Transaction) => Promise<unknown>)[] = [
    async () => {
      throw new Error('at once');
    },
    async (tx) => {
      void tx.query(insert('thrown'));
      throw new Error('before the answer');
    },
    async (tx) => {
      await tx.query(insert('thrown'));
      throw new Problem('shift_full');
    },
    async (tx) => {
      await tx.query(insert('thrown'));
      throw undefined;
    },
  ];
  for (const work of works) {
    await write(work).then(
      () => t.fail('must throw'),
      () => t.pass('throws'),
    );
  }
  t.same(await titles('thrown'), []);
  t.same(database.load, { lent: 0, waiting: 0 });
});

t.test('an undefined parameter is refused before it reaches the driver, and harms nobody', async (t) => {
  const run = write(async (tx) => {
    await tx.query(insert('half'));
    await tx.query(sql`insert into app.tasks (title) values (${undefined as unknown as Value})`);
  });
  await t.rejects(run, TypeError);
  t.same(await titles('half'), []);
  t.same(await write((tx) => tx.query(sql`select 1 as one`)), [{ one: 1 }]);
});

t.test('a new member is there after a GET that stays READ ONLY, also when its work is refused', async (t) => {
  for (const subject of ['berta', 'carl']) {
    const caller = callerOf(club, 'Viewer', subject);
    const seen: unknown[] = [];
    const run = inClub(database, caller, 'read once', async (tx) => {
      seen.push(await tx.query(sql`show transaction_read_only`), tx.memberId);
      if (subject === 'carl') throw new Problem('shift_not_found');
    });
    await (subject === 'carl' ? t.rejects(run, { code: 'shift_not_found' }) : run);
    const [member] = await db.look('select id, role from app.members where external_user_id = $1', [subject]);
    t.same(member?.role, 'Viewer');
    t.same(seen, [[{ transactionReadOnly: 'on' }], member?.id]);
  }
});

t.test(
  'instants keep their microseconds, there and back, whatever format the database prefers',
  async (t) => {
    const [{ name } = { name: '' }] = await db.look<{ name: string }>('select current_database() as name');
    await db.look(`alter database ${name} set datestyle = 'German'`);
    const preferring = new Database({ url: db.url, slots: 1, prepare: false });
    for (const at of [database, preferring]) {
      for (const instant of [
        '2026-05-01T18:00:00.123456Z',
        '1970-01-01T00:00:00.000001Z',
        '2199-12-31T23:59:59.999999Z',
        '2026-05-01T18:00:00Z',
      ]) {
        const read = inClub(at, anna, 'read only', (tx) =>
          tx.query(sql`select ${instant}::timestamptz as instant`),
        );
        t.same(await read, [{ instant }]);
      }
    }
    await preferring.close();
  },
);
