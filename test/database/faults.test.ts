import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Database } from '../../src/database/database.js';
import { Unavailable } from '../../src/database/errors.js';
import { sql } from '../../src/database/sql.js';
import { type TenantTransaction, writeInTenant } from '../../src/database/tenant-context.js';
import { stopClock } from '../setup/clock.js';
import { makeDatabase } from '../setup/database.js';
import {
  type Action,
  isStatement,
  type Message,
  message,
  startProxy,
  type TestProxy,
} from '../setup/proxy.js';
import { HANG_MS, until } from '../setup/wait.js';
import { callerOf } from '../setup/work.js';

const AT_REST = { inUse: 0, queued: 0 };
const db = await makeDatabase(t);
const club = await db.makeClub('north');

const isTag = (text: string) => (message: Message) =>
  message.from === 'server' && message.type === 'C' && message.text.startsWith(text);

/** A database with one connection, through its own proxy. */
async function makeRoute(t: Test): Promise<{ proxy: TestProxy; database: Database }> {
  const proxy = await startProxy(t, db.url);
  const database = new Database({ url: proxy.url, size: 1, prepare: true, readsPerConnection: 1 });
  t.teardown(() => database.close());
  return { proxy, database };
}

type Outcome = 'committed' | Unavailable['committed'] | { unexpected: unknown };

/** Writes a task; returns the result for the caller: committed, no or unknown. */
function write(
  database: Database,
  title: string,
  linger: (tx: TenantTransaction) => Promise<unknown> = async () => {},
): Promise<Outcome> {
  const work = async (tx: TenantTransaction) => {
    await tx.query(sql`insert into app.tasks (title) values (${title})`);
    await linger(tx);
  };
  const outcome = writeInTenant(database, callerOf(club), 'write', work).then(
    () => 'committed' as const,
    (error) => (error instanceof Unavailable ? error.committed : { unexpected: error }),
  );
  return Promise.race([outcome, sleep(HANG_MS, { unexpected: 'it hangs' }, { ref: false })]);
}

async function isThere(title: string): Promise<boolean> {
  const [row] = await db.queryAsAdmin('select count(*)::int as count from app.tasks where title = $1', [
    title,
  ]);
  return row?.count === 1;
}

/** Writes until a write is committed: on a busy machine a connection may not open in time. */
const writeAgain = (database: Database, title: string) =>
  until(
    () => write(database, title),
    (outcome) => outcome === 'committed',
  );

// The member is created before any fault, so that each write is one transaction.
const healthy = new Database({ url: db.url, size: 1, prepare: true, readsPerConnection: 1 });
await write(healthy, 'warm');
await healthy.close();

t.test(
  'a write that is cut at any message, in either direction, gets the right result, and the next one succeeds',
  async (t) => {
    const counted = await makeRoute(t);
    t.equal(await write(counted.database, 'counted'), 'committed');
    const talk = counted.proxy.log.length;
    const responses = (log: Message[]) =>
      log.filter(({ from, type }) => from === 'server' && type === 'Z').length;
    t.ok(talk > 40 && counted.proxy.log.some(isStatement('commit')), `${talk} messages`);
    const beforeCommit = responses(counted.proxy.log) - 1;
    const isCommitting = (log: Message[]) =>
      log.some(({ from }, index) => from === 'client' && responses(log.slice(0, index)) === beforeCommit);

    const unknown = new Set<boolean>();
    for (const action of ['cut before', 'cut after'] satisfies Action[]) {
      for (let index = 0; index < talk; index += 1) {
        const name = `${action} message ${index}`;
        const { proxy, database } = await makeRoute(t);
        proxy.onMessage = (message) => (message.index === index ? action : 'pass');
        const outcome = await write(database, name);
        proxy.onMessage = () => 'pass';
        const log = proxy.log.splice(0);
        // COMMIT may already be sent when the connection is cut after the last response before it.
        const maySend = isCommitting(log) || (action === 'cut after' && responses(log) === beforeCommit);
        // A write before the cut is noticed fails, and commits nothing.
        const recovered = await writeAgain(database, `recovered from ${name}`);
        const there = await isThere(name);
        if (outcome === 'unknown') {
          unknown.add(there);
        }
        const isTrue = outcome === 'unknown' ? maySend : there === (outcome === 'committed');
        if (!isTrue || recovered !== 'committed' || database.load.inUse > 0) {
          t.same({ name, outcome, there, recovered, load: database.load }, {});
        }
        await database.close();
        await proxy.stop();
      }
    }
    t.same([...unknown].sort(), [false, true], 'a COMMIT whose answer is lost has an unknown outcome');
  },
);

t.test('a connection that is lost before COMMIT commits nothing, even if the work continues', async (t) => {
  const { proxy, database } = await makeRoute(t);
  const lingering = await write(database, 'lingering', async () => {
    const { lost } = database.connections;
    proxy.cut();
    await until(
      () => database.connections.lost,
      (now) => now > lost,
    );
  });
  t.equal(lingering, 'no');
  const querying = await write(database, 'querying', async (tx) => {
    proxy.cut();
    await tx.query(sql`select 1`).catch(() => {});
  });
  t.equal(querying, 'no');
  t.notOk((await isThere('lingering')) || (await isThere('querying')));
  t.equal(await writeAgain(database, 'afterwards'), 'committed');
});

t.test('a message that the driver cannot read ends the connection, and not the process', async (t) => {
  const { proxy, database } = await makeRoute(t);
  const GSS = '\0\0\0\x07';
  for (const bytes of [message('R', GSS), message('R', '\0\0\0\x63'), message('D', '\x7f\x7f')]) {
    proxy.onMessage = ({ from, type }) => (from === 'server' && type === 'R' ? { bytes } : 'pass');
    t.equal(await write(database, 'unreadable'), 'no');
    proxy.onMessage = () => 'pass';
    t.equal(await writeAgain(database, 'readable'), 'committed');
    proxy.cut();
  }
});

t.test('a slow network only delays a write', async (t) => {
  stopClock(t);
  const { proxy, database } = await makeRoute(t);
  proxy.onMessage = () => ({ delayMs: 1 });
  t.equal(await write(database, 'slow'), 'committed');
});

t.test(
  'a server that closes, ignores or refuses connections is Unavailable, and is used again when it is back',
  async (t) => {
    const { proxy, database } = await makeRoute(t);
    for (const greeting of ['hang up', 'say nothing'] as const) {
      proxy.greeting = greeting;
      const before = proxy.accepted;
      const outcomes = await Promise.all([1, 2].map((nth) => write(database, `${greeting} ${nth}`)));
      t.same(outcomes, ['no', 'no'], greeting);
      t.equal(proxy.accepted - before, 2, 'one connection for each transaction');
    }
    await proxy.stop();
    t.same(await Promise.all([1, 2, 3].map((nth) => write(database, `refused ${nth}`))), Array(3).fill('no'));
    await proxy.start();
    proxy.greeting = 'connect';
    t.equal(await writeAgain(database, 'back'), 'committed');
    t.same(database.load, AT_REST);
  },
);

/** As in src/database/connection.ts and database.ts. */
const [CONNECT_TIMEOUT_MS, TRANSACTION_MS] = [2_000, 8_000];
const freezes = {
  'while the connection is being opened': [({ type }: Message) => type === 'R', CONNECT_TIMEOUT_MS, 'no'],
  'before the login has been checked': [({ type }: Message) => type === 'P', CONNECT_TIMEOUT_MS, 'no'],
  'at BEGIN': [isStatement('begin'), TRANSACTION_MS, 'no'],
  'before COMMIT arrives': [isStatement('commit'), TRANSACTION_MS, 'unknown'],
  'before the answer to COMMIT': [isTag('COMMIT'), TRANSACTION_MS, 'unknown'],
} as const;

t.test('a frozen connection is destroyed at a deadline, and replaced', async (t) => {
  const advance = stopClock(t);
  for (const [when, [isMoment, limitMs, expected]] of Object.entries(freezes)) {
    const { proxy, database } = await makeRoute(t);
    let isFrozen = false;
    proxy.onMessage = (message) => {
      isFrozen ||= isMoment(message);
      return isFrozen ? 'freeze' : 'pass';
    };
    let outcome: Outcome | undefined;
    const writing = write(database, `frozen ${when}`).then((end) => {
      outcome = end;
    });
    await until(() => isFrozen, Boolean);
    await advance(limitMs - 1);
    t.equal(outcome, undefined, when);
    await advance(1);
    await writing;
    t.equal(outcome, expected, when);
    proxy.onMessage = () => 'pass';
    t.equal(await writeAgain(database, `after ${when}`), 'committed', when);
    t.same(database.load, AT_REST, when);
    // Until it has authenticated, a session delays every DROP DATABASE of the server.
    await proxy.stop();
  }
  const there = (when: keyof typeof freezes) => isThere(`frozen ${when}`);
  t.notOk(await there('at BEGIN'));
  t.ok(await there('before the answer to COMMIT'));
});
