import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type ClubTransaction, inClub } from '../../src/database/context.js';
import { Database } from '../../src/database/database.js';
import { Unavailable } from '../../src/database/failures.js';
import { sql } from '../../src/database/sql.js';
import { callerOf, until } from '../setup/caller.js';
import { makeDatabase } from '../setup/database.js';
import { asksFor, message } from '../setup/protocol.js';
import { type Message, startProxy, type TestProxy, type Verdict } from '../setup/proxy.js';

const HANGS_MS = 15_000;
const AT_REST = { lent: 0, waiting: 0 };
const db = await makeDatabase(t);
const club = await db.makeClub('north');

const isTag = (text: string) => (message: Message) =>
  message.from === 'server' && message.type === 'C' && message.text.startsWith(text);

/** A database of one slot behind a proxy of its own. */
async function makeRoute(t: Test): Promise<{ proxy: TestProxy; database: Database }> {
  const proxy = await startProxy(t, db.url);
  const database = new Database({ url: proxy.url, slots: 1, prepare: true });
  t.teardown(() => database.close());
  return { proxy, database };
}

type Outcome = 'kept' | Unavailable['kept'] | { unexpected: unknown };

/** Writes a task; what became of it as the caller is told. */
function write(
  database: Database,
  title: string,
  linger: (tx: ClubTransaction) => Promise<unknown> = async () => {},
): Promise<Outcome> {
  const work = async (tx: ClubTransaction) => {
    await tx.query(sql`insert into app.tasks (title) values (${title})`);
    await linger(tx);
  };
  const told = inClub(database, callerOf(club), 'read write', work).then(
    () => 'kept' as const,
    (error) => (error instanceof Unavailable ? error.kept : { unexpected: error }),
  );
  return Promise.race([told, sleep(HANGS_MS, { unexpected: 'it hangs' }, { ref: false })]);
}

async function isThere(title: string): Promise<boolean> {
  const [row] = await db.look('select count(*)::int as count from app.tasks where title = $1', [title]);
  return row?.count === 1;
}

// The member is made before any fault, so that each write is one transaction.
const healthy = new Database({ url: db.url, slots: 1, prepare: true });
await write(healthy, 'warm');
await healthy.close();

// What only a deadline ends takes its seconds beside the other tests.
const freezes = {
  'while the connection is being opened': [(message: Message) => message.type === 'R', 'nothing'],
  'before the login has been checked': [(message: Message) => message.type === 'P', 'nothing'],
  'at BEGIN': [asksFor('begin'), 'nothing'],
  'before COMMIT arrives': [asksFor('commit'), 'unknown'],
  'before the answer to COMMIT': [isTag('COMMIT'), 'unknown'],
} as const;
const frozen = Object.entries(freezes).map(async ([when, [isMoment, expected]]) => {
  const { proxy, database } = await makeRoute(t);
  proxy.judge = (message) => (isMoment(message) ? 'freeze' : 'pass');
  const outcome = await write(database, `frozen ${when}`);
  proxy.judge = () => 'pass';
  return { when, expected, outcome, after: await write(database, `after ${when}`), load: database.load };
});

t.test(
  'a cut at any message, in either direction, is told truthfully and harms nobody after it',
  async (t) => {
    const counted = await makeRoute(t);
    t.equal(await write(counted.database, 'counted'), 'kept');
    const talk = counted.proxy.log.length;
    const answers = (log: Message[]) =>
      log.filter(({ from, type }) => from === 'server' && type === 'Z').length;
    t.ok(talk > 40 && counted.proxy.log.some(asksFor('commit')), `${talk} messages`);
    const beforeCommit = answers(counted.proxy.log) - 1;
    const isCommitting = (log: Message[]) =>
      log.some(({ from }, index) => from === 'client' && answers(log.slice(0, index)) === beforeCommit);

    const unknown = new Set<boolean>();
    for (const verdict of ['cut before', 'cut after'] satisfies Verdict[]) {
      for (let index = 0; index < talk; index += 1) {
        const name = `${verdict} message ${index}`;
        const { proxy, database } = await makeRoute(t);
        proxy.judge = (message) => (message.index === index ? verdict : 'pass');
        const outcome = await write(database, name);
        proxy.judge = () => 'pass';
        const log = proxy.log.splice(0);
        // COMMIT may have been on its way when the connection was cut behind the last answer before it.
        const maySend = isCommitting(log) || (verdict === 'cut after' && answers(log) === beforeCommit);
        // Who comes before the cut has been noticed is told that nothing was kept, and comes again.
        const recovered = await until(
          () => write(database, `recovered from ${name}`),
          (again) => again === 'kept',
        );
        const there = await isThere(name);
        if (outcome === 'unknown') {
          unknown.add(there);
        }
        const isTrue = outcome === 'unknown' ? maySend : there === (outcome === 'kept');
        if (!isTrue || recovered !== 'kept' || database.load.lent > 0) {
          t.same({ name, outcome, there, recovered, load: database.load }, {});
        }
        await database.close();
        await proxy.stop();
      }
    }
    t.same([...unknown].sort(), [false, true], 'COMMIT whose answer is lost may have been kept or not');
  },
);

t.test(
  'a connection that dies before COMMIT is sent kept nothing, whatever the work does then',
  async (t) => {
    const { proxy, database } = await makeRoute(t);
    const lingering = await write(database, 'lingering', async () => {
      proxy.cut();
      await sleep(100);
    });
    t.equal(lingering, 'nothing');
    const querying = await write(database, 'querying', async (tx) => {
      proxy.cut();
      await tx.query(sql`select 1`).catch(() => {});
    });
    t.equal(querying, 'nothing');
    t.notOk((await isThere('lingering')) || (await isThere('querying')));
    t.equal(await write(database, 'afterwards'), 'kept');
  },
);

t.test('what the driver cannot read is a lost connection, and not the end of the process', async (t) => {
  const { proxy, database } = await makeRoute(t);
  const GSS = '\0\0\0\x07';
  for (const bytes of [message('R', GSS), message('R', '\0\0\0\x63'), message('D', '\x7f\x7f')]) {
    proxy.judge = ({ from, type }) => (from === 'server' && type === 'R' ? { bytes } : 'pass');
    t.equal(await write(database, 'unreadable'), 'nothing');
    proxy.judge = () => 'pass';
    t.equal(await write(database, 'readable'), 'kept');
    proxy.cut();
  }
});

t.test('a slow network only takes its time', async (t) => {
  const { proxy, database } = await makeRoute(t);
  proxy.judge = () => ({ delayMs: 1 });
  t.equal(await write(database, 'slow'), 'kept');
});

t.test(
  'a server that hangs up, says nothing or refuses is Unavailable, and used again once it is back',
  async (t) => {
    const { proxy, database } = await makeRoute(t);
    for (const greeting of ['hang up', 'say nothing'] as const) {
      proxy.greeting = greeting;
      const before = proxy.accepted;
      const outcomes = await Promise.all([1, 2].map((nth) => write(database, `${greeting} ${nth}`)));
      t.same(outcomes, ['nothing', 'nothing'], greeting);
      t.equal(proxy.accepted - before, 2, 'one connection for each transaction, and no storm of them');
    }
    await proxy.stop();
    t.same(
      await Promise.all([1, 2, 3].map((nth) => write(database, `refused ${nth}`))),
      Array(3).fill('nothing'),
    );
    await proxy.start();
    proxy.greeting = 'connect';
    t.equal(await write(database, 'back'), 'kept');
    t.same(database.load, AT_REST);
  },
);

t.test('a connection that freezes is given up at a deadline, and its slot serves again', async (t) => {
  for (const { when, expected, outcome, after, load } of await Promise.all(frozen)) {
    t.same({ outcome, after, load }, { outcome: expected, after: 'kept', load: AT_REST }, when);
  }
  const there = (when: keyof typeof freezes) => isThere(`frozen ${when}`);
  t.notOk(await there('at BEGIN'));
  t.ok(await there('before the answer to COMMIT'));
});
