import pg from 'pg';
import t, { type Test } from 'tap';
import { Database } from '../../src/database/database.js';
import { sql } from '../../src/database/sql.js';
import { type Caller, readForCalendar, writeInTenant } from '../../src/database/tenant-context.js';
import { type Advance, stopClock } from '../setup/clock.js';
import { makeDatabase } from '../setup/database.js';
import { withoutTimeLimits } from '../setup/runtime.js';
import { until, untilIdle } from '../setup/wait.js';
import { callerOf, readRows } from '../setup/work.js';

// Who waits for what, for pools of each size: see src/database/pool.ts.

const SIZES = [1, 2, 4, 5, 20];
const READS_PER_CONNECTION = 2;
/** As in src/database/pool.ts. */
const [SHARING_WINDOW_MS, SLOW_READ_MS] = [1_000, 250];

const db = await makeDatabase(t);
const clubs: Caller[] = [];
for (let number = 0; number < 20; number += 1) {
  clubs.push(callerOf(await db.makeClub(`club-${number}`)));
}
const [north, south] = clubs as [Caller, Caller];
const FAST = sql`select 1 as one`;
const BLOCKED = sql`select title from app.tasks`;

/** A database whose connections are open, and whose callers are members. */
async function openDatabase(t: Test, size: number): Promise<Database> {
  const database = new Database({
    url: withoutTimeLimits(db.url),
    size,
    prepare: true,
    readsPerConnection: READS_PER_CONNECTION,
  });
  t.teardown(() => database.close());
  for (const club of clubs) {
    await readRows(database, club, FAST);
  }
  const { release } = await hold(database, clubs.slice(0, size));
  await release();
  return database;
}

/** Transactions that hold their connections until they are released, in the order of the callers. */
async function hold(database: Database, callers: Caller[]) {
  let started = 0;
  const held = callers.map((caller) => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const end = writeInTenant(database, caller, 'hold', async () => {
      started += 1;
      await released;
    });
    return { end, release };
  });
  // Each has a connection, or waits for one.
  await until(
    () => started + database.load.queued,
    (count) => count === callers.length,
  );
  return {
    started,
    /** Releases those from this position on. */
    release: async (from = 0) => {
      for (const { release } of held.slice(from)) {
        release();
      }
      await Promise.all(held.slice(from).map(({ end }) => end));
    },
  };
}

/** A club counts as alone a second after the last request of another one. */
async function beAlone(database: Database, advance: Advance): Promise<void> {
  await readRows(database, north, FAST);
  await advance(SHARING_WINDOW_MS);
}

/** Blocks reads of tasks while the work runs. */
async function whileBlocked(work: () => Promise<void>): Promise<void> {
  const admin = new pg.Client(db.adminUrl);
  await admin.connect();
  try {
    await admin.query('begin; lock table app.tasks in access exclusive mode');
    await work();
  } finally {
    await admin.end();
  }
}

/** Whether work gets a connection at once, which the pool decides when it begins. What waits is added to the queue. */
async function isServed(
  database: Database,
  queue: Promise<unknown>[],
  work: () => Promise<unknown>,
): Promise<boolean> {
  const { queued } = database.load;
  const end = work();
  if (database.load.queued > queued) {
    queue.push(end);
    return false;
  }
  await end;
  return true;
}
const usual = (size: number) => Math.max(1, size - 2);

for (const size of SIZES) {
  t.test(`with ${size} connections`, async (t) => {
    const advance = stopClock(t);
    const database = await openDatabase(t, size);
    const write = () => writeInTenant(database, south, 'write', (tx) => tx.query(FAST));

    await t.test(
      'without reads, the writes of a club use all connections but one, the writes of several clubs all',
      async (t) => {
        await beAlone(database, advance);
        const alone = await hold(database, Array(size + 1).fill(north));
        t.equal(alone.started, Math.max(1, size - 1));
        await alone.release();
        const several = await hold(database, clubs.slice(0, size));
        t.equal(several.started, size);
        await several.release();
      },
    );

    await t.test('no read waits while a later read of its club is served', async (t) => {
      // The club has as many writes as it may, so that a further one waits even if a connection is free.
      const own = Math.ceil(size / 2);
      const writes = await hold(database, [...Array(own).fill(north), ...clubs.slice(1, 1 + size - own)]);
      const order: string[] = [];
      const queue = (name: string, run: Promise<unknown>) => run.then(() => order.push(name));
      const write = writeInTenant(database, north, 'hold', async () => {});
      const queued = [
        queue('the first read', readRows(database, north, FAST)),
        queue('the second read', readRows(database, north, FAST)),
      ];
      await writes.release(size - 1);
      queued.push(queue('a later read', readRows(database, north, FAST)));
      await Promise.all(queued);
      t.same(order, ['the first read', 'the second read', 'a later read']);
      await writes.release();
      await write;
    });

    await t.test('a club that is alone uses all connections that reads may use', async (t) => {
      await beAlone(database, advance);
      await whileBlocked(async () => {
        const reads = Array.from({ length: READS_PER_CONNECTION * size }, () =>
          readRows(database, north, BLOCKED).catch(() => {}),
        );
        t.equal(database.load.inUse, usual(size));
        void reads;
      });
      await untilIdle(database);
    });

    await t.test(
      'behind slow reads, a read of another club gets a connection, and a write the last one',
      async (t) => {
        const queue: Promise<unknown>[] = [];
        await whileBlocked(async () => {
          const slow = clubs
            .slice(2, 2 + usual(size))
            .flatMap((club) => Array<Caller>(READS_PER_CONNECTION).fill(club))
            .map((club) => readRows(database, club, BLOCKED).catch(() => {}));
          await advance(SLOW_READ_MS + 1);
          const isRead = await isServed(database, queue, () => readRows(database, south, FAST));
          t.equal(isRead, size > 2, 'of one or two connections, reads use one');
          const more = clubs.slice(2).map((club) => readRows(database, club, BLOCKED).catch(() => {}));
          await advance(SLOW_READ_MS + 1);
          t.equal(await isServed(database, queue, write), size > 1);
          void [slow, more];
        });
        await Promise.all(queue);
        await untilIdle(database);
      },
    );

    await t.test(
      'calendars have one connection of their own, for which clubs take turns, and a club is served as without them',
      async (t) => {
        const order: Caller[] = [];
        let calendars: Promise<unknown>[] = [];
        await beAlone(database, advance);
        await whileBlocked(async () => {
          calendars = [north, north, north, north, south].map(async (club) => {
            await readForCalendar(database, 'calendar', club.tenantId, BLOCKED).catch(() => {});
            order.push(club);
          });
          t.same(database.load, { inUse: 0, queued: 0 });
          const writes = await hold(database, Array(size + 1).fill(north));
          t.equal(writes.started, Math.max(1, size - 1));
          await writes.release();
          await readRows(database, south, FAST);
          await write();
        });
        await Promise.all(calendars);
        t.same(order, [north, north, south, north, north], 'the second turn is that of the other club');
      },
    );

    t.equal(database.connections.lost, 0);
  });
}

t.test('a connection that cannot be opened fails no request while others are open', async (t) => {
  const advance = stopClock(t);
  const limited = await makeDatabase(t);
  const callers = [callerOf(await limited.makeClub()), callerOf(await limited.makeClub())];
  // One is the administrator's.
  await limited.queryAsAdmin(`alter database ${new URL(limited.url).pathname.slice(1)} connection limit 3`);
  const database = new Database({ url: limited.url, size: 5, prepare: true, readsPerConnection: 8 });
  t.teardown(() => database.close());
  for (const caller of callers) {
    await readRows(database, caller, FAST);
  }
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(
      Array.from({ length: 64 }, (_, reader) => readRows(database, callers[reader % 2] as Caller, FAST)),
    );
    // After a pause another one is tried.
    await advance(1_000);
  }
  await Promise.all(
    [...callers, ...callers].map((caller) =>
      writeInTenant(database, caller, 'write', (tx) => tx.query(FAST)),
    ),
  );
  t.equal(database.connections.opened, 2, 'the limit of the database');
});
