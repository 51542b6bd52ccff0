import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { OVERLOADED } from '../../src/database/failures.js';
import { Waiting } from '../../src/database/waiting.js';

const LONG_MS = 20_000;
const all = () => true;

const makeWaiting = (options: { queueLength?: number; burstMs?: number; standingWaitMs?: number } = {}) =>
  new Waiting<string>({
    waitMs: LONG_MS,
    queueLength: 1_000,
    burstMs: LONG_MS,
    standingWaitMs: 20,
    ...options,
  });

/** Waits, and says how it ended. */
const wait = (waiting: Waiting<string>, group: string): Promise<string> =>
  (async () => waiting.wait(group))().catch((error) => {
    if (error !== OVERLOADED) {
      throw error;
    }
    return 'sent away';
  });

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

t.test('a line that stands too long is kept short, and whoever is in it already stays', async (t) => {
  const waiting = makeWaiting({ burstMs: 50 });
  const early = Array.from({ length: 100 }, () => wait(waiting, 'north'));
  const others = wait(waiting, 'south');
  t.equal(waiting.isOverloaded('north'), false, 'as long as it may be a burst');
  await sleep(60);
  t.equal(waiting.isOverloaded('north'), true);
  t.equal(waiting.isOverloaded('south'), false, 'a short line is none, however long it stands');
  t.equal(waiting.isOverloaded('west'), false);
  t.equal(await wait(waiting, 'north'), 'sent away');
  t.equal(waiting.size, 101);
  while (waiting.serve(all, (group) => group)) {}
  t.same([[...new Set(await Promise.all(early))], await others], [['north'], 'south']);
  const next = wait(waiting, 'north');
  t.equal(waiting.isOverloaded('north'), false, 'the line is short again');
  waiting.serve(all, () => 'served');
  t.equal(await next, 'served');
});

t.test('a standing line is as long as can be served in the time one may wait', async (t) => {
  const waiting = makeWaiting({ burstMs: 0, standingWaitMs: 200 });
  const flood = async (isOver: () => boolean) => {
    let longest = 0;
    while (!isOver()) {
      void wait(waiting, 'north');
      longest = Math.max(longest, waiting.size);
      if (waiting.isOverloaded('north')) {
        await sleep(1);
      }
    }
    return longest;
  };
  let isOver = false;
  const longest = flood(() => isOver);
  // Slower than one a millisecond, so fewer than 200 fit.
  await serve(waiting, 700);
  isOver = true;
  const found = await longest;
  t.ok(found > 20 && found < 220, `${found} of a flood`);
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
  t.ok(served > 0 && served < 10, `${served} of the flood`);
  t.same(ends.slice(0, served), Array(served).fill('north'), 'those who came first');
});

t.test('a full house of short lines takes nobody more', async (t) => {
  const waiting = makeWaiting({ queueLength: 3 });
  const clubs = ['north', 'south', 'west'].map((club) => wait(waiting, club));
  t.equal(await wait(waiting, 'east'), 'sent away');
  while (waiting.serve(all, (group) => group)) {}
  t.same(await Promise.all(clubs), ['north', 'south', 'west']);
});
