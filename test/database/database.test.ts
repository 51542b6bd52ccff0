import t from 'tap';
import { Database } from '../../src/database/database.js';
import { sql } from '../../src/database/sql.js';
import { readOwn, writeInTenant } from '../../src/database/tenant-context.js';
import { stopClock } from '../setup/clock.js';
import { makeDatabase } from '../setup/database.js';
import { withoutTimeLimits } from '../setup/runtime.js';
import { untilWaitingForLocks } from '../setup/wait.js';
import { callerOf, readRows } from '../setup/work.js';

const db = await makeDatabase(t);
const anna = callerOf(await db.makeClub('north'));
const bert = callerOf(await db.makeClub('south'), 'Admin', 'bert');

const url = withoutTimeLimits(db.url);
/** Runs until the administrator releases the lock. */
const LOCKED = sql`select pg_advisory_xact_lock_shared(1)::text = '' as done`;

t.test('the time in the queue does not count for the deadline of a read or a transaction', async (t) => {
  const advance = stopClock(t);
  // The limits of the wait, of a shared read and of a transaction are 5, 3.5 and 8 s.
  const work = {
    read: [3_500, (at: Database) => readRows(at, anna, LOCKED)],
    transaction: [8_000, (at: Database) => writeInTenant(at, anna, 'write', (tx) => tx.query(LOCKED))],
  } as const;
  for (const [name, [limitMs, begin]] of Object.entries(work)) {
    const database = new Database({ url, size: 1, prepare: true, readsPerConnection: 8 });
    t.teardown(() => database.close());
    // The members exist.
    await readRows(database, anna, sql`select`);
    await writeInTenant(database, bert, 'hold', async () => {});
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const holding = writeInTenant(database, bert, 'hold', () => released);
    await db.queryAsAdmin('select pg_advisory_lock(1)');
    const working = begin(database);
    t.same(database.load, { inUse: 1, queued: 1 });
    await advance(4_999);
    release();
    await holding;
    t.equal(await untilWaitingForLocks(db, 1, working), 1);
    await advance(limitMs - 1);
    await db.queryAsAdmin('select pg_advisory_unlock(1)');
    t.same(await working, [{ done: true }], name);
    t.equal(database.connections.lost, 0);
  }
});

t.test('one connection is enough for all operations, with shared reads and without', async (t) => {
  stopClock(t);
  const titles = sql`select title from app.tasks`;
  for (const [prepare, readsPerConnection] of [
    [true, 1],
    [true, 8],
    [false, 8],
  ] as const) {
    const database = new Database({ url, size: 1, prepare, readsPerConnection });
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
  const database = new Database({ url, size: 2, prepare: true, readsPerConnection: 8 });
  await readRows(database, anna, sql`select`);
  await db.queryAsAdmin('select pg_advisory_lock(1)');
  const ends = [
    readRows(database, anna, LOCKED),
    writeInTenant(database, bert, 'write', (tx) => tx.query(LOCKED)),
  ];
  t.equal(await untilWaitingForLocks(db, 2, ...ends), 2);
  const closing = database.close();
  const late: Promise<unknown>[] = [
    readRows(database, anna, LOCKED),
    writeInTenant(database, anna, 'write', (tx) => tx.query(LOCKED)),
  ];
  for (const refused of late) {
    await t.rejects(refused, { name: 'Unavailable', message: /stopping/ });
  }
  await db.queryAsAdmin('select pg_advisory_unlock(1)');
  t.same(await Promise.all(ends), [[{ done: true }], [{ done: true }]]);
  await closing;
  await database.close();
  t.same(database.load, { inUse: 0, queued: 0 });
});
