import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { OVERLOADED } from '../../src/database/failures.js';
import { Waiting, type WaitingOptions } from '../../src/database/waiting.js';

const LONG_MS = 20_000;
const all = () => true;

const makeWaiting = (options: Partial<WaitingOptions> = {}) =>
  new Waiting<string>({
    waitMs: LONG_MS,
    queueLength: 1_000,
    burstMs: LONG_MS,
    longMs: 20,
    standingWaitMs: 20,
    calmMs: 0,
    ...options,
  });

/** Waits, and says how it ended. */
const wait = (waiting: Waiting<string>, group: string): Promise<string> =>
  (async () => waiting.wait(group))().catch((error) =>
    error === OVERLOADED ? 'sent away' : Promise.reject(error),
  );

/** Serves so many, one a millisecond or slower. */
async function serve(waiting: Waiting<string>, count: number): Promise<void> {
  for (let served = 0; served < count; served += 1) {
    waiting.serve(all, (group) => `served of ${group}`);
    await sleep(1);
  }
}

t.test('a burst is worked off: nobody of it is sent away, however long it takes', async (t) => {
  const waiting = makeWaiting();
  const burst = Array.from({ length: 900 }, () => wait(waiting, 'north'));
  t.equal(waiting.isOverloaded('north'), false);
  while (waiting.serve(all, () => 'served')) {}
  t.same([...new Set(await Promise.all(burst))], ['served']);
});

t.test(
  'where everybody waits long all the time the line is kept short, and whoever is in it stays',
  async (t) => {
    const waiting = makeWaiting({ burstMs: 50 });
    const early = Array.from({ length: 100 }, () => wait(waiting, 'north'));
    const others = wait(waiting, 'south');
    t.equal(waiting.isOverloaded('north'), false, 'as long as it may be a burst');
    await sleep(60);
    t.equal(waiting.isOverloaded('north'), false, 'and as long as nobody is served: that is no overload');
    waiting.serve(all, (group) => group);
    t.equal(waiting.isOverloaded('north'), true);
    t.equal(waiting.isOverloaded('south'), false, 'a short line is none, however long it stands');
    t.equal(waiting.isOverloaded('west'), false);
    t.equal(await wait(waiting, 'north'), 'sent away');
    t.equal(waiting.size, 100);
    while (waiting.serve(all, (group) => group)) {}
    t.same([[...new Set(await Promise.all(early))], await others], [['north'], 'south']);
    const next = wait(waiting, 'north');
    t.equal(waiting.isOverloaded('north'), false, 'the line is gone');
    waiting.serve(all, () => 'served');
    t.equal(await next, 'served');
  },
);

t.test('a few are never an overload, and neither are many whose wait is not long', async (t) => {
  for (const coming of [5, 50]) {
    const waiting = makeWaiting({ burstMs: 30, longMs: coming === 5 ? 20 : LONG_MS });
    const ends: Promise<string>[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      ends.push(...Array.from({ length: coming }, () => wait(waiting, 'north')));
      await sleep(50);
      waiting.serve(all, (group) => group);
      t.equal(waiting.isOverloaded('north'), false);
    }
    while (waiting.serve(all, (group) => group)) {}
    t.same([...new Set(await Promise.all(ends))], ['north']);
  }
});

t.test('who waits for a short time again may bring many again', async (t) => {
  const waiting = makeWaiting({ burstMs: 50 });
  const ends = Array.from({ length: 100 }, () => wait(waiting, 'north'));
  await sleep(60);
  waiting.serve(all, (group) => group);
  t.equal(waiting.isOverloaded('north'), true);
  while (waiting.size > 1) {
    waiting.serve(all, (group) => group);
  }
  ends.push(wait(waiting, 'north'));
  waiting.serve(all, (group) => group);
  waiting.serve(all, (group) => group);
  const again = Array.from({ length: 100 }, () => wait(waiting, 'north'));
  t.equal(waiting.isOverloaded('north'), false);
  while (waiting.serve(all, (group) => group)) {}
  t.same([...new Set(await Promise.all([...ends, ...again]))], ['north']);
});

t.test('a standing line is as long as can be served in the time one may wait', async (t) => {
  const waiting = makeWaiting({ standingWaitMs: 200, calmMs: LONG_MS });
  let isOver = false;
  let longest = 0;
  const flood = async () => {
    while (!isOver) {
      void wait(waiting, 'north');
      longest = Math.max(longest, waiting.size);
      if (waiting.isOverloaded('north')) {
        await sleep(1);
      }
    }
  };
  const flooding = flood();
  // The house is full at first, and it is not known yet how fast the line moves.
  await serve(waiting, 350);
  longest = 0;
  // Slower than one a millisecond, so fewer than 200 fit.
  await serve(waiting, 350);
  isOver = true;
  await flooding;
  t.ok(longest >= 16 && longest < 220, `${longest} of a flood`);
  waiting.dismiss(OVERLOADED);
});

t.test('when the house is full the long lines are cut, and the short ones lose nobody', async (t) => {
  const waiting = makeWaiting({ queueLength: 100 });
  const flood = Array.from({ length: 98 }, () => wait(waiting, 'north'));
  const quiet = [wait(waiting, 'south'), wait(waiting, 'west')];
  const newcomer = wait(waiting, 'east');
  t.equal(waiting.isOverloaded('north'), true, 'and stay short, without a second burst');
  t.equal(await wait(waiting, 'north'), 'sent away');
  t.equal(waiting.isOverloaded('south'), false);
  while (waiting.serve(all, (group) => group)) {}
  t.same(await Promise.all([...quiet, newcomer]), ['south', 'west', 'east']);
  const ends = await Promise.all(flood);
  const served = ends.filter((end) => end === 'north').length;
  t.ok(served > 0 && served < 40, `${served} of the flood`);
  t.same(ends.slice(0, served), Array(served).fill('north'), 'those who came first');
});

t.test('a full house of short lines takes only whoever has nobody waiting', async (t) => {
  const waiting = makeWaiting({ queueLength: 3 });
  const first = ['north', 'south', 'west', 'east'].map((club) => wait(waiting, club));
  t.same([await wait(waiting, 'east'), await wait(waiting, 'north')], ['sent away', 'sent away']);
  while (waiting.serve(all, (group) => group)) {}
  t.same(await Promise.all(first), ['north', 'south', 'west', 'east']);
});

t.test('a line that was full a moment ago is kept short, also when it has been empty since', async (t) => {
  const waiting = makeWaiting({ queueLength: 100, calmMs: 100 });
  const flood = () => Array.from({ length: 60 }, () => wait(waiting, 'north'));
  const first = [...flood(), ...flood()];
  while (waiting.serve(all, () => 'served')) {}
  const served = async (ends: Promise<string>[]) =>
    (await Promise.all(ends)).filter((end) => end === 'served').length;
  t.ok((await served(first)) < 60);
  const second = flood();
  t.equal(waiting.isOverloaded('north'), true);
  while (waiting.serve(all, () => 'served')) {}
  t.ok((await served(second)) < 40, 'no second burst');
  const other = wait(waiting, 'south');
  await sleep(120);
  t.equal(waiting.isOverloaded('north', 1_000), false);
  const third = flood();
  while (waiting.serve(all, () => 'served')) {}
  t.equal(await served(third), 60, 'and one when it has been calm, whoever else is waiting');
  t.equal(await other, 'served');
});

t.test('who is on the way to the line counts as if they stood in it', async (t) => {
  const waiting = makeWaiting({ burstMs: 50, longMs: 40 });
  const ends = Array.from({ length: 15 }, () => wait(waiting, 'north'));
  await sleep(60);
  waiting.serve(all, () => 'served');
  t.equal(waiting.isOverloaded('north'), false);
  t.equal(waiting.isOverloaded('north', 1), false);
  t.equal(waiting.isOverloaded('north', 2), true);
  t.equal(waiting.isOverloaded('south', 1_000), false, 'of another club');
  while (waiting.serve(all, () => 'served')) {}
  await Promise.all(ends);
});

t.test('of a crowd that is sent away a few are told at a time', async (t) => {
  const waiting = makeWaiting({ queueLength: 1_000 });
  let told = 0;
  const crowd = Array.from({ length: 1_001 }, () =>
    wait(waiting, 'north').then((end) => {
      told += end === 'sent away' ? 1 : 0;
    }),
  );
  let most = 0;
  for (let rounds = 0; rounds < 1_000 && told < 900; rounds += 1) {
    const before = told;
    await setImmediate();
    most = Math.max(most, told - before);
  }
  t.ok(told >= 900, `${told}`);
  t.ok(most <= 50, `${most} between two rounds of the event loop`);
  while (waiting.serve(all, () => 'served')) {}
  await Promise.all(crowd);
});
