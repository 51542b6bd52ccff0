import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { FairQueue } from '../../src/database/fair-queue.js';
import { admit } from '../../src/database/login.js';
import type { Session } from '../../src/database/session.js';
import { type SlotOptions, Slots } from '../../src/database/slots.js';
import { sql } from '../../src/database/sql.js';
import { until } from '../setup/caller.js';
import { makeDatabase } from '../setup/database.js';

const all = () => true;

t.test('groups take turns, and each is served in the order in which it came', async (t) => {
  const queue = new FairQueue<string>(100);
  for (const item of ['a1', 'a2', 'a3', 'b1', 'a4', 'c1', 'b2']) {
    queue.push(item.charAt(0), item);
  }
  const served = Array.from({ length: 8 }, () => queue.shift(all));
  t.same(served, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4', undefined]);
  t.equal(queue.size, 0);
});

t.test('a group that may not go on keeps its turn, and delays nobody', async (t) => {
  const queue = new FairQueue<string>(100);
  for (const item of ['a1', 'b1', 'b2']) {
    queue.push(item.charAt(0), item);
  }
  t.equal(
    queue.shift((group) => group !== 'a'),
    'b1',
  );
  t.equal(
    queue.shift((group) => group === 'c'),
    undefined,
  );
  t.equal(queue.shift(all), 'a1');
});

t.test('a queue says when it is full, and a group is cut from its end, down to one', async (t) => {
  const queue = new FairQueue<string>(5);
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2']) {
    t.equal(queue.isFull, false);
    queue.push(item.charAt(0), item);
  }
  t.equal(queue.isFull, true);
  t.same(queue.cut('a', 2), ['a3']);
  t.same(queue.cut('a', 2), []);
  t.same(queue.cut('b', 0), ['b2']);
  t.same([queue.size, queue.width, queue.sizeOf('a'), queue.groups], [3, 2, 2, ['a', 'b']]);
  queue.remove('a', 'a1');
  queue.remove('a', 'a1');
  t.equal(queue.size, 2);
  t.same([queue.shift(all), queue.shift(all), queue.shift(all)], ['a2', 'b1', undefined]);
  queue.push('d', 'd1');
  t.same(queue.clear(), ['d1']);
  t.equal(queue.size, 0);
});

async function makeSlots(t: Test, slots: number, options: Partial<SlotOptions> = {}): Promise<Slots> {
  const { url } = await makeDatabase(t);
  const made = new Slots({
    url,
    prepare: true,
    slots,
    waitMs: 20_000,
    queueLength: 1_000,
    burstMs: 20_000,
    longMs: 20_000,
    standingWaitMs: 20_000,
    calmMs: 0,
    maxAgeMs: 60_000,
    admit,
    ...options,
  });
  t.teardown(() => void made.close());
  return made;
}

t.test('a club has all slots but one, and the last one is for the others', async (t) => {
  const slots = await makeSlots(t, 3);
  const held = [await slots.borrow('north'), await slots.borrow('north')];
  const third = slots.borrow('north');
  const first = await Promise.race([third.then(() => 'north'), slots.borrow('south').then(() => 'south')]);
  t.equal(first, 'south');
  t.same(slots.load, { lent: 3, waiting: 1 });
  slots.giveBack(held[0] as never);
  slots.giveBack(await third);
  t.same(slots.load, { lent: 2, waiting: 0 });
  const alone = await makeSlots(t, 1);
  alone.giveBack(await alone.borrow('north'));
});

t.test('a club that brings ten times as much as all others delays itself', async (t) => {
  const slots = await makeSlots(t, 3);
  const done: string[] = [];
  const work = async (club: string) => {
    const session = await slots.borrow(club);
    await session.send(sql`select pg_sleep(0.002)`);
    slots.giveBack(session);
    done.push(club);
  };
  const flood = Array.from({ length: 300 }, () => work('north'));
  await sleep(20);
  const others = Array.from({ length: 30 }, (_, number) => work(`south ${number % 3}`));
  await Promise.all(others);
  const overtaken = 300 - done.filter((club) => club === 'north').length;
  t.ok(overtaken > 150, `${overtaken} of the flood were still to come when the others were done`);
  await Promise.all(flood);
});

t.test(
  'a club that asks for more than it can have leaves half of the slots to others, while others ask',
  async (t) => {
    const slots = await makeSlots(t, 4, { queueLength: 40, standingWaitMs: 20, calmMs: 20_000 });
    const own: Session[] = [];
    const north = async () => {
      own.push(await slots.borrow('north'));
    };
    const held = (count: number) =>
      until(
        () => own.length,
        (length) => length === count,
      );
    const giveBack = () => slots.giveBack(own.shift() as Session);
    const flood = Array.from({ length: 100 }, north);
    const refused = Promise.allSettled(flood);
    await held(3);
    giveBack();
    await held(3);
    t.equal(slots.load.lent, 3, 'nobody else is here');

    slots.giveBack(await slots.borrow('south'));
    giveBack();
    giveBack();
    await held(2);
    t.equal(slots.load.lent, 2);
    const both = await Promise.all([slots.borrow('south'), slots.borrow('west')]);
    t.equal(slots.load.lent, 4, 'others need not wait');
    for (const session of both) {
      slots.giveBack(session);
    }
    t.equal(slots.load.lent, 2);

    await sleep(1_100);
    giveBack();
    await held(3);
    t.equal(slots.load.lent, 3, 'the others have gone');
    while (own.length > 0) {
      giveBack();
      await setImmediate();
    }
    const sentAway = (await refused).filter(({ status }) => status === 'rejected');
    t.equal(sentAway.length, 100 - 3 - 16, 'whoever did not fit into a short line');
  },
);
