import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import t, { type Test } from 'tap';
import { Database, type DatabaseOptions } from '../../src/database/database.js';
import { isStatementError, Unavailable } from '../../src/database/errors.js';
import type { LeaseKind } from '../../src/database/pool.js';
import { type Query, sql } from '../../src/database/sql.js';
import { type Caller, readOwn, writeInTenant } from '../../src/database/tenant-context.js';
import { deploy } from '../../src/deploy/deploy.js';
import { readRelease } from '../../src/deploy/release.js';
import { type Advance, stopClock } from '../setup/clock.js';
import { makeDatabase } from '../setup/database.js';
import { type Action, message, startProxy, type TestProxy } from '../setup/proxy.js';
import { withoutTimeLimits } from '../setup/runtime.js';
import { HANG_MS, until, untilIdle, untilWaitingForLocks } from '../setup/wait.js';
import { callerOf, readRows } from '../setup/work.js';

const TASKS = 30;
/** As in src/database/database.ts and pool.ts. */
const SHARED_ATTEMPT_MS = 3_500;
const SLOW_READ_MS = 250;
const db = await makeDatabase(t);

/** A club whose name is in every row, so that a foreign row is recognized. */
interface Club {
  name: string;
  id: string;
  caller: Caller;
}

const clubs: Club[] = [];
const setUp = new Database({ url: db.url, size: 2, prepare: true, readsPerConnection: 1 });
for (const name of ['north', 'south']) {
  const id = await db.makeClub(name);
  const caller = callerOf(id, 'Admin', `${name}-admin`);
  await writeInTenant(setUp, caller, 'write', (tx) =>
    tx.query(
      sql`insert into app.tasks (title) select ${name} || ' ' || n from generate_series(1, ${TASKS}) as n`,
    ),
  );
  clubs.push({ name, id, caller });
}
await setUp.close();

interface Route {
  proxy: TestProxy;
  database: Database;
}

async function openRoute(t: Test, options: Partial<DatabaseOptions> = {}): Promise<Route> {
  const proxy = await startProxy(t, db.url);
  const database = new Database({
    url: withoutTimeLimits(proxy.url),
    size: 4,
    prepare: true,
    readsPerConnection: 8,
    ...options,
  });
  t.teardown(() => database.close());
  return { proxy, database };
}

/** The results of reads, and all their faults. */
interface Tally {
  answered: number;
  unavailable: number;
  /** SQLSTATEs of statements that the server rejected. */
  refused: Map<string, number>;
  foreign: unknown[];
  broken: unknown[];
}

/** Waits until this many more reads are answered, or refused. */
function untilMore(tally: Tally, count: number, ends: 'answered' | 'refused' = 'answered'): Promise<number> {
  const seen = () =>
    ends === 'answered' ? tally.answered : [...tally.refused.values()].reduce((sum, each) => sum + each, 0);
  const enough = seen() + count;
  return until(seen, (all) => all >= enough);
}

const newTally = (): Tally => ({ answered: 0, unavailable: 0, refused: new Map(), foreign: [], broken: [] });

let reads = 0;
/** Reads some of the club's rows, others each time, and checks each of them. */
async function readOnce(
  database: Database,
  club: Club,
  tally: Tally,
  lease: LeaseKind = 'shared',
): Promise<void> {
  reads += 1;
  const first = 1 + (reads % TASKS);
  const query: Query<{ title: string; club: string; me: string }> = sql`
    select title, tenant_id as club, (select app.user_id()) as me from app.tasks
    where title in (${`north ${first}`}, ${`south ${first}`})`;
  const reading = readRows(database, club.caller, query, lease);
  const end = await Promise.race([
    reading.catch((error: unknown) => error as Error),
    sleep(HANG_MS, new Error('it hangs'), { ref: false }),
  ]);
  if (end instanceof Unavailable) {
    tally.unavailable += 1;
  } else if (isStatementError(end)) {
    tally.refused.set(end.code, (tally.refused.get(end.code) ?? 0) + 1);
  } else if (end instanceof Error) {
    tally.broken.push(end);
  } else {
    tally.answered += 1;
    const expected = { title: `${club.name} ${first}`, club: club.id, me: `${club.name}-admin` };
    if (JSON.stringify(end) !== JSON.stringify([expected])) {
      tally.foreign.push({ expected, rows: end });
    }
  }
}

/** Reads of both clubs, this many at a time, until the concurrent work ends. */
async function readWhile(
  database: Database,
  work: (tally: Tally) => Promise<unknown>,
  callers = 24,
): Promise<Tally> {
  const tally = newTally();
  let isOver = false;
  const readers = Array.from({ length: callers }, async (_, number) => {
    while (!isOver) {
      await readOnce(database, clubs[number % 2] as Club, tally);
    }
  });
  try {
    await work(tally);
  } finally {
    isOver = true;
    await Promise.all(readers);
  }
  return tally;
}

const summary = ({ answered, unavailable, refused }: Tally) =>
  `${answered} answered, ${unavailable} unavailable, refused ${JSON.stringify([...refused])}`;

t.test(
  'many reads of two clubs share few connections, and each gets rows of its own club only',
  async (t) => {
    stopClock(t);
    const { proxy, database } = await openRoute(t, { size: 5 });
    let most = 0;
    let unanswered = 0;
    proxy.onMessage = ({ from, type, statement, connection }) => {
      if (connection === 1 && type === 'B' && statement?.includes('tenant_context')) {
        unanswered += 1;
        most = Math.max(most, unanswered);
      } else if (connection === 1 && from === 'server' && type === 'C') {
        unanswered = Math.max(0, unanswered - 1);
      }
      return 'pass';
    };
    const tally = await readWhile(database, (tally) => untilMore(tally, 400), 32);
    t.comment(`${summary(tally)}, at most ${most} in flight on a connection`);
    t.same(tally.foreign, []);
    t.same(tally.broken, []);
    t.same([tally.unavailable, [...tally.refused]], [0, []]);
    t.ok(most > 1, 'they were pipelined');
    t.ok(most <= 8);
    t.ok(proxy.accepted > 1 && proxy.accepted <= 3, 'of five connections, two are left for other work');
    t.same(database.connections.lost, 0);
  },
);

t.test('an error of one shared read does not affect the other reads on the connection', async (t) => {
  stopClock(t);
  const { database } = await openRoute(t);
  const tally = await readWhile(database, async () => {
    for (let turn = 0; turn < 50; turn += 1) {
      const { caller } = clubs[turn % 2] as Club;
      const failing = readRows(
        database,
        caller,
        sql`select n, 1 / (n - 20) from generate_series(1, ${40}::int) as n`,
      );
      await t.rejects(failing, { code: '22012' });
    }
  });
  t.comment(summary(tally));
  t.same([tally.foreign, tally.broken, tally.unavailable, [...tally.refused]], [[], [], 0, []]);
  t.equal(database.connections.lost, 0);
});

t.test('killed shared connections cause no foreign row, and a read is sent once more', async (t) => {
  stopClock(t);
  const { database } = await openRoute(t);
  let kills = 0;
  const tally = await readWhile(database, async (tally) => {
    while (kills <= 10 || tally.answered < 1_000) {
      const killed = await db.queryAsAdmin(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'club-management-service'
         order by backend_start limit 1`,
      );
      kills += killed.length;
      // Apart enough that the second attempt of a read seldom meets the next kill.
      await untilMore(tally, 200);
    }
  });
  t.comment(`${kills} kills: ${summary(tally)}`);
  t.same([tally.foreign, tally.broken, [...tally.refused]], [[], [], []]);
  // Without a second attempt each kill would reject the eight reads of the connection.
  t.ok(tally.unavailable < 3 * kills, 'a read is sent once more');
  t.same(await untilIdle(database), { inUse: 0, queued: 0 });
});

t.test(
  'a shared connection that is cut at any message causes no foreign row, and no read hangs',
  async (t) => {
    stopClock(t);
    const answered = { count: 0 };
    /** Opens connections, then sends six reads at once and cuts the first connection at a message. */
    const round = async (action: Action, index: number): Promise<{ tally: Tally; talk: number }> => {
      const { proxy, database } = await openRoute(t);
      const warm = newTally();
      await readOnce(database, clubs[0] as Club, warm);
      await readOnce(database, clubs[1] as Club, warm);
      const start = proxy.log.length;
      proxy.onMessage = (message) =>
        message.connection === 1 && message.index === start + index ? action : 'pass';
      const tally = newTally();
      await Promise.all(
        Array.from({ length: 6 }, (_, number) => readOnce(database, clubs[number % 2] as Club, tally)),
      );
      const talk = proxy.log.length - start;
      proxy.onMessage = () => 'pass';
      await readOnce(database, clubs[0] as Club, tally);
      answered.count += tally.answered;
      t.same(database.load, { inUse: 0, queued: 0 });
      await database.close();
      await proxy.stop();
      return { tally, talk };
    };
    const { talk } = await round('pass', 0);
    t.ok(talk >= 6 * 6, `${talk} messages`);
    for (const action of ['cut before', 'cut after'] satisfies Action[]) {
      for (let index = 0; index < talk; index += 1) {
        const { tally } = await round(action, index);
        if (tally.foreign.length + tally.broken.length + tally.refused.size + tally.unavailable > 0) {
          t.same({ action, index, ...tally }, {});
        }
      }
    }
    t.ok(
      answered.count >= 7 * 2 * talk,
      'every read is answered, those of the cut connection by another connection',
    );
  },
);

t.test(
  'a frozen shared connection is destroyed: the overdue read is rejected, its neighbours are sent again',
  async (t) => {
    const advance = stopClock(t);
    const { proxy, database } = await openRoute(t, { size: 6 });
    await readOnce(database, clubs[0] as Club, newTally());
    await readOnce(database, clubs[1] as Club, newTally());
    let isFrozen = false;
    proxy.onMessage = ({ connection, from, type }) => {
      isFrozen ||= connection === 1 && from === 'server' && type === '2';
      return isFrozen && connection === 1 ? 'freeze' : 'pass';
    };
    const ends: Tally[] = [];
    const read = async (club: Club) => {
      const tally = newTally();
      await readOnce(database, club, tally);
      ends.push(tally);
    };
    // All are on one connection, and the first one is overdue before the others.
    const first = read(clubs[0] as Club);
    await advance(1);
    const others = Array.from({ length: 3 }, (_, number) => read(clubs[number % 2] as Club));
    await until(() => isFrozen, Boolean);
    await advance(SHARED_ATTEMPT_MS - 2);
    t.same([ends.length, database.connections.lost], [0, 0]);
    await advance(1);
    await Promise.all([first, ...others]);
    t.same(
      ends.map(({ unavailable, answered }) => [unavailable, answered]).sort(),
      [
        [0, 1],
        [0, 1],
        [0, 1],
        [1, 0],
      ],
      'the first one is rejected, its neighbours are answered',
    );
    t.same(
      ends.flatMap((tally) => [...tally.foreign, ...tally.broken]),
      [],
    );
    t.equal(database.connections.lost, 1);
  },
);

t.test(
  'a result that is swapped with another read’s is never delivered, of the same club or another',
  async (t) => {
    for (const readers of [
      [0, 1, 0, 1],
      [0, 0, 0, 0],
    ]) {
      const { proxy, database } = await openRoute(t);
      await readOnce(database, clubs[0] as Club, newTally());
      await readOnce(database, clubs[1] as Club, newTally());
      let first: Buffer | undefined;
      let swaps = 0;
      // The first row is also sent in place of the second.
      proxy.onMessage = ({ from, type, text, connection }) => {
        if (connection !== 1 || from !== 'server' || type !== 'D' || swaps > 0) {
          return 'pass';
        }
        if (first === undefined) {
          first = message('D', text);
          return 'pass';
        }
        swaps += 1;
        return { bytes: first };
      };
      const tally = newTally();
      await Promise.all(readers.map((number) => readOnce(database, clubs[number] as Club, tally)));
      t.equal(swaps, 1);
      t.same([tally.foreign, tally.broken], [[], []]);
      t.same([tally.answered, tally.unavailable], [3, 1], 'the read that got the wrong answer is rejected');
      t.equal(database.connections.lost, 1);
    }
  },
);

t.test('changes of tables during shared reads fail none of them, and cause no foreign row', async (t) => {
  stopClock(t);
  const { database } = await openRoute(t);
  const admin = new pg.Client(db.adminUrl);
  await admin.connect();
  t.teardown(() => admin.end());
  const changes = [
    'alter table app.tasks add column note text',
    'alter table app.tasks alter column note type varchar(100)',
    "alter table app.tasks alter column note set default 'x'",
    'alter table app.tasks drop column note',
    'alter table app.tasks add column flag boolean not null default false',
    'alter table app.tasks drop column flag',
    'create index tasks_note on app.tasks (tenant_id, title, id); drop index app.tasks_note',
    'analyze app.tasks; analyze app.members',
    'alter table app.tasks alter column title type varchar(500); alter table app.tasks alter column title type text',
  ];
  let count = 0;
  const tally = await readWhile(database, async (tally) => {
    for (let round = 0; round < 3; round += 1) {
      for (const change of changes) {
        // As a deploy does: members first.
        await admin.query(`begin; lock table app.members in access exclusive mode; ${change}; commit`);
        count += 1;
        await untilMore(tally, 10);
      }
    }
  });
  t.comment(`${count} changes: ${summary(tally)}`);
  t.same([tally.foreign, tally.broken, [...tally.refused], tally.unavailable], [[], [], [], 0]);
  t.equal(database.connections.lost, 0);
});

t.test('deploys of every policy and function during shared reads fail none of them', async (t) => {
  stopClock(t);
  const { database } = await openRoute(t);
  const release = readRelease();
  let deploys = 0;
  const tally = await readWhile(database, async (tally) => {
    for (; deploys < 3; deploys += 1) {
      // Only changed chapters are applied again.
      const chapters = release.chapters.map((file, place) =>
        place === 0 ? { ...file, text: `${file.text}-- deploy ${deploys}\n` } : file,
      );
      t.ok((await deploy(db.migrationUrl, { ...release, chapters })).applied);
      await untilMore(tally, 30);
    }
  });
  t.comment(`${deploys} deploys: ${summary(tally)}`);
  t.same([tally.foreign, tally.broken, [...tally.refused], tally.unavailable], [[], [], [], 0]);
});

t.test(
  'forbidden changes of a release cause at worst errors, and never a hang or a foreign row',
  async (t) => {
    stopClock(t);
    const { database } = await openRoute(t);
    const harms = [
      [
        'alter table app.tasks rename column title to name',
        'alter table app.tasks rename column name to title',
      ],
      ['alter table app.tasks rename to jobs', 'alter table app.jobs rename to tasks'],
      ['revoke select on app.tasks from club_api', 'grant select on app.tasks to club_api'],
      ['alter function app.enter rename to go_in', 'alter function app.go_in rename to enter'],
    ] as const;
    const tally = await readWhile(database, async (tally) => {
      for (const [harm, cure] of harms) {
        await db.queryAsAdmin(harm);
        await untilMore(tally, 10, 'refused');
        await db.queryAsAdmin(cure);
        await untilMore(tally, 10);
      }
    });
    t.comment(summary(tally));
    t.same([tally.foreign, tally.broken], [[], []]);
    t.same(
      [...tally.refused.keys()].filter((code) => !['42703', '42P01', '42501', '42883'].includes(code)),
      [],
    );
    const after = newTally();
    await Promise.all(
      Array.from({ length: 16 }, (_, number) => readOnce(database, clubs[number % 2] as Club, after)),
    );
    t.equal(after.answered, 16, 'all reads succeed after the repair');
    t.equal(database.connections.lost, 0);
  },
);

/** Locks a table exclusively while the work runs. */
async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
  const admin = new pg.Client(db.adminUrl);
  await admin.connect();
  try {
    await admin.query(`begin; lock table ${table} in access exclusive mode`);
    await work();
  } finally {
    await admin.end();
  }
}

const DEPLOYED = sql`select exists (select from deploy.releases) as deployed`;
const MEMBERS = sql`select display_name from app.members`;
const [north, south] = clubs as [Club, Club];

t.test('while a table is locked, reads of another table and of the service itself get results', async (t) => {
  const advance = stopClock(t);
  for (const [size, readers] of [
    [3, 1],
    [6, 4],
  ] as const) {
    const { database } = await openRoute(t, { size });
    await readOnce(database, north, newTally());
    const locked = newTally();
    let waiting: Promise<unknown>[] = [];
    await whileLocked('app.tasks', async () => {
      waiting = Array.from({ length: readers }, () => readOnce(database, north, locked));
      // They are on one connection, which is slow then.
      await untilWaitingForLocks(db, 1, ...waiting);
      await advance(SLOW_READ_MS + 1);
      const ends = {
        readiness: readOwn(database, 'isDeployed', DEPLOYED),
        'an exclusive read': readRows(database, south.caller, MEMBERS, 'exclusive'),
        'a shared read of another club': readRows(database, south.caller, MEMBERS),
      };
      const ofThisClub = readRows(database, north.caller, MEMBERS);
      for (const [name, ending] of Object.entries(ends)) {
        t.ok(await ending, `${name}, of ${size}`);
      }
      // Of three connections the reads of a club have one, and it waits for the lock.
      if (size === 3) {
        t.same(database.load, { inUse: 1, queued: 1 });
        waiting.push(ofThisClub);
      } else {
        t.ok(await ofThisClub, 'a shared read of this club');
      }
      t.equal(locked.answered, 0);
    });
    await Promise.all(waiting);
    t.equal(locked.answered, readers, 'after the lock');
    t.same([locked.foreign, locked.broken], [[], []]);
    t.same(await untilIdle(database), { inUse: 0, queued: 0 });
  }
});

/** Lets time pass until the work has ended, in steps in which a machine can keep up. */
async function passTime(advance: Advance, work: Promise<unknown>): Promise<void> {
  let hasEnded = false;
  void work.finally(() => {
    hasEnded = true;
  });
  await until(
    () => advance(50),
    () => hasEnded,
  );
}

t.test(
  'while a table is locked and many read it, each read ends in time, and readiness gets a response',
  async (t) => {
    const advance = stopClock(t);
    const { database } = await openRoute(t, { size: 4 });
    await readOnce(database, north, newTally());
    const tally = newTally();
    let longest = 0;
    await whileLocked('app.tasks', async () => {
      const reads = Array.from({ length: 60 }, async (_, n) => {
        const start = performance.now();
        await readOnce(database, clubs[n % 2] as Club, tally);
        longest = Math.max(longest, performance.now() - start);
      });
      await untilWaitingForLocks(db, 1, ...reads);
      for (let probe = 0; probe < 10; probe += 1) {
        t.ok(await readOwn(database, 'isDeployed', DEPLOYED), 'readiness');
        await advance(100);
      }
      await passTime(advance, Promise.all(reads));
    });
    t.comment(`${summary(tally)}, the longest took ${longest} ms of the stopped clock`);
    // A wait in the queue, the deadline, and a wait for the second attempt.
    t.ok(longest < 16_000, `${longest} ms of the stopped clock`);
    t.same([tally.foreign, tally.broken, [...tally.refused], tally.answered], [[], [], [], 0]);
    const after = newTally();
    await Promise.all(Array.from({ length: 16 }, (_, n) => readOnce(database, clubs[n % 2] as Club, after)));
    t.equal(after.answered, 16);
  },
);
