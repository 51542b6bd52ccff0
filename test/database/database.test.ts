import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Database } from '../../src/database/database.js';
import { sql } from '../../src/database/sql.js';
import { readOwn, writeInTenant } from '../../src/database/tenant-context.js';
import { makeDatabase } from '../setup/database.js';
import { callerOf, readRows } from '../setup/work.js';

const db = await makeDatabase(t);
const anna = callerOf(await db.makeClub('north'));
const bert = callerOf(await db.makeClub('south'), 'Admin', 'bert');

/** Holds the only connection of a database for this time. */
async function hold(database: Database, ms: number): Promise<void> {
  await writeInTenant(database, bert, 'hold', () => sleep(ms));
}

t.test('the time in the queue does not count for the deadline of a read or a transaction', async (t) => {
  // The wait and the work together exceed the deadline: 5 s of a read, 8 s of a transaction.
  const work = {
    read: (at: Database) => readRows(at, anna, sql`select pg_sleep(1.9) is null as slept`),
    transaction: (at: Database) =>
      writeInTenant(at, anna, 'write', async (tx) => {
        await tx.query(sql`select pg_sleep(2.75)`);
        return tx.query(sql`select pg_sleep(2.75) is null as slept`);
      }),
  };
  for (const [name, waitMs] of [
    ['read', 3_500],
    ['transaction', 3_000],
  ] as const) {
    const database = new Database({ url: db.url, size: 1, prepare: true, readsPerConnection: 8 });
    t.teardown(() => database.close());
    await readRows(database, anna, sql`select`);
    await hold(database, 0);
    const holding = hold(database, waitMs);
    await sleep(20);
    const start = performance.now();
    t.same(await work[name](database), [{ slept: false }], name);
    t.ok(performance.now() - start > waitMs, 'it waited');
    await holding;
    t.equal(database.connections.lost, 0);
  }
});

t.test('one connection is enough for all operations, with shared reads and without', async (t) => {
  const titles = sql`select title from app.tasks`;
  for (const [prepare, readsPerConnection] of [
    [true, 1],
    [true, 8],
    [false, 8],
  ] as const) {
    const database = new Database({ url: db.url, size: 1, prepare, readsPerConnection });
    const run = async (turn: number): Promise<unknown> => {
      const caller = turn % 2 === 0 ? anna : bert;
      switch (turn % 6) {
        case 0:
        case 1:
          return readRows(database, caller, titles);
        case 2:
          return readRows(database, caller, titles, 'exclusive');
        case 3:
          return writeInTenant(database, caller, 'write', (tx) => tx.query(titles));
        case 4:
          return readRows(
            database,
            callerOf(caller.tenantId, 'Member', `new ${prepare} ${readsPerConnection} ${turn}`),
            titles,
          );
        default:
          return readOwn(database, 'own', sql`select where false`);
      }
    };
    for (let turn = 0; turn < 120; turn += 24) {
      const some = Array.from({ length: 24 }, (_, place) => run(turn + place));
      t.same(await Promise.all(some), Array(24).fill([]));
    }
    t.same(database.load, { inUse: 0, queued: 0 });
    t.same(database.connections, { opened: 1, lost: 0 });
    await database.close();
  }
});

t.test('closing waits for running work, and refuses new work', async (t) => {
  const database = new Database({ url: db.url, size: 2, prepare: true, readsPerConnection: 8 });
  const slow = sql`select pg_sleep(0.5) is null as slept`;
  await readRows(database, anna, sql`select`);
  const ends = [
    readRows(database, anna, slow),
    writeInTenant(database, bert, 'write', (tx) => tx.query(slow)),
  ];
  await sleep(100);
  const closing = database.close();
  const late: Promise<unknown>[] = [
    readRows(database, anna, slow),
    writeInTenant(database, anna, 'write', (tx) => tx.query(slow)),
  ];
  for (const refused of late) {
    await t.rejects(refused, { name: 'Unavailable', message: /stopping/ });
  }
  t.same(await Promise.all(ends), [[{ slept: false }], [{ slept: false }]]);
  await closing;
  await database.close();
  t.same(database.load, { inUse: 0, queued: 0 });
});
