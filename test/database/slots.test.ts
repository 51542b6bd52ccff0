import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Unavailable } from '../../src/database/failures.js';
import { admit } from '../../src/database/login.js';
import type { Session } from '../../src/database/session.js';
import { type SlotOptions, Slots } from '../../src/database/slots.js';
import { sql } from '../../src/database/sql.js';
import { until } from '../setup/caller.js';
import { makeDatabase } from '../setup/database.js';
import { startProxy } from '../setup/proxy.js';

const LONG_MS = 20_000;
const db = await makeDatabase(t);

function makeSlots(t: Test, options: Partial<SlotOptions> = {}): Slots {
  const slots = new Slots({
    ...{ url: db.url, prepare: true, slots: 2, queueLength: 3, calmMs: 0, admit },
    ...{ waitMs: LONG_MS, burstMs: LONG_MS, longMs: LONG_MS, standingWaitMs: LONG_MS, maxAgeMs: LONG_MS },
    ...options,
  });
  // Not waited for: a slot that a test has lost fails that test, not all that come after.
  t.teardown(() => void slots.close());
  return slots;
}

async function backendOf(session: Session): Promise<number> {
  const { rows } = await session.send(sql`select pg_backend_pid() as pid`);
  return rows[0]?.pid as number;
}

async function backends(): Promise<number[]> {
  const rows = await db.look<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'club-management-service'`,
  );
  return rows.map(({ pid }) => pid);
}

/** What a borrower is told, within seconds. */
const refusal = (borrowing: Promise<Session>): Promise<unknown> =>
  Promise.race([
    borrowing.then(
      () => 'lent',
      (error) => (error instanceof Unavailable ? error.message : error),
    ),
    sleep(4_000, 'nothing at all', { ref: false }),
  ]);

t.test('nothing connects before somebody borrows', async (t) => {
  t.same(makeSlots(t).load, { lent: 0, waiting: 0 });
  t.same(await backends(), []);
});

t.test('there are never more sessions than slots, and each is lent to one borrower at a time', async (t) => {
  const slots = makeSlots(t, { queueLength: 100 });
  const lent = new Set<Session>();
  let most = 0;
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      const session = await slots.borrow();
      t.notOk(lent.has(session), 'free');
      lent.add(session);
      most = Math.max(most, lent.size, (await backends()).length);
      lent.delete(session);
      slots.giveBack(session);
    }),
  );
  t.equal(most, 2);
  t.same(slots.load, { lent: 0, waiting: 0 });
});

t.test('who waits is served in order, and told when the wait runs out', async (t) => {
  const slots = makeSlots(t, { slots: 1, waitMs: 1_000 });
  const session = await slots.borrow();
  const order: number[] = [];
  const take = async (turn: number) => {
    const next = await slots.borrow();
    order.push(turn);
    return next;
  };
  const [first, second, third] = [take(1), take(2), refusal(slots.borrow())];
  t.same(slots.load, { lent: 1, waiting: 3 });
  slots.giveBack(session);
  slots.giveBack(await first);
  const held = await second;
  t.match(await third, /in time/);
  t.same(order, [1, 2]);
  slots.giveBack(held);
});

t.test('a full queue refuses at once', async (t) => {
  const slots = makeSlots(t, { slots: 1, queueLength: 2 });
  const session = await slots.borrow();
  const waiting = [slots.borrow(), slots.borrow()];
  t.match(await refusal(slots.borrow()), /Too many/);
  slots.giveBack(session);
  for (const next of waiting) {
    slots.giveBack(await next);
  }
  slots.giveBack(await slots.borrow());
});

t.test('a session that is lost, at home or away, is replaced, and its backend ends', async (t) => {
  const slots = makeSlots(t, { slots: 1 });
  const away = await slots.borrow();
  const first = await backendOf(away);
  const waiting = slots.borrow();
  away.lose(new Error('on purpose'));
  slots.giveBack(away);
  const home = await waiting;
  const second = await backendOf(home);
  slots.giveBack(home);
  await db.look('select pg_terminate_backend($1)', [second]);
  t.ok(
    await until(
      () => home.lost,
      (lost) => lost,
    ),
  );
  const last = await slots.borrow();
  const third = await backendOf(last);
  t.equal(new Set([first, second, third]).size, 3);
  slots.giveBack(last);
  t.same(await until(backends, (pids) => pids.length === 1), [third]);
});

t.test('a lost session refuses every statement, also those under way', async (t) => {
  const slots = makeSlots(t);
  const session = await slots.borrow();
  const underWay = session.send(sql`select pg_sleep(4)`);
  await sleep(50);
  session.lose(new Error('on purpose'));
  await t.rejects(underWay, Unavailable);
  await t.rejects(session.send(sql`select 1`), Unavailable);
  await t.rejects(session.send(sql`rollback`), Unavailable);
  slots.giveBack(session);
});

t.test('an old session is replaced when it comes home, never under its borrower', async (t) => {
  const slots = makeSlots(t, { slots: 1, maxAgeMs: 100 });
  const session = await slots.borrow();
  const old = await backendOf(session);
  await sleep(150);
  t.equal(await backendOf(session), old);
  slots.giveBack(session);
  const next = await slots.borrow();
  t.not(await backendOf(next), old);
  slots.giveBack(next);
});

t.test('a session that is refused admission, or never becomes ready, gives its slot back', async (t) => {
  const slots = makeSlots(t, { slots: 1, admit: () => Promise.reject(new Error('not admitted')) });
  await t.rejects(slots.borrow(), /not admitted/);
  await t.rejects(Promise.all([slots.borrow(), slots.borrow()]), /not admitted/);
  t.same(
    await until(
      () => slots.load,
      ({ lent, waiting }) => lent + waiting === 0,
    ),
    { lent: 0, waiting: 0 },
  );

  // The driver's own time-out ends with the log-in: after it, nothing but ours is left.
  const proxy = await startProxy(t, db.url);
  proxy.judge = ({ from, type }) => (from === 'client' && type === 'P' ? 'freeze' : 'pass');
  const frozen = makeSlots(t, { slots: 1, url: proxy.url, waitMs: 1_000 });
  t.match(await refusal(frozen.borrow()), /lost/);
  t.same(frozen.load, { lent: 0, waiting: 0 });
  proxy.judge = () => 'pass';
  frozen.giveBack(await frozen.borrow());
});

t.test('an unreachable database is refused quickly', async (t) => {
  const url = new URL(db.url);
  url.host = '127.0.0.1:1';
  const slots = makeSlots(t, { url: url.href });
  t.match(await refusal(slots.borrow()), /lost/);
  t.same(slots.load, { lent: 0, waiting: 0 });
});

t.test('closing refuses who waits and who comes, and is over once every session is home', async (t) => {
  const slots = makeSlots(t, { slots: 2 });
  const [idle, atWork] = [await slots.borrow(), await slots.borrow()];
  const waiting = refusal(slots.borrow());
  let closed = false;
  const closing = slots.close().then(() => {
    closed = true;
  });
  t.match(await waiting, /stopping/);
  t.match(await refusal(slots.borrow()), /stopping/);
  slots.giveBack(idle);
  t.type(await backendOf(atWork), 'number', 'work under way goes on');
  t.equal(closed, false);
  slots.giveBack(atWork);
  await closing;
  t.same(slots.load, { lent: 0, waiting: 0 });
  t.same(await until(backends, (pids) => pids.length === 0), []);
});
