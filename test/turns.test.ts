import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Turns } from '../src/http/turns.js';

/** Takes so many at once; how many were done at once, and the order of all once they are. */
async function takeAll(turns: Turns, many: number, task = () => {}) {
  const done: number[] = [];
  for (let number = 0; number < many; number += 1) {
    turns.take(() => {
      task();
      done.push(number);
    });
  }
  const atOnce = done.length;
  while (done.length < many) {
    await sleep(1);
  }
  return { atOnce, inOrder: done.every((number, place) => number === place) };
}

/** Something that takes so long, in milliseconds. */
const takes = (ms: number) => () => {
  const until = performance.now() + ms;
  while (performance.now() < until) {}
};

t.test('what fits into a turn is done at once, and the rest in order, in later ones', async (t) => {
  const { atOnce, inOrder } = await takeAll(new Turns(10_000), 200, takes(0.2));
  t.ok(atOnce > 0 && atOnce < 100, `${atOnce} at once`);
  t.ok(inOrder);
});

t.test('turns are short and leave most of the time to others, however much there is to do', async (t) => {
  const turns = new Turns(10_000);
  let inTurn = 0;
  let most = 0;
  const began = performance.now();
  await takeAll(turns, 200, () => {
    if (inTurn === 0) {
      // Once this turn is over; the next one has not begun by then.
      setImmediate(() => {
        most = Math.max(most, inTurn);
        inTurn = 0;
      });
    }
    inTurn += 1;
    takes(0.2)();
  });
  const passed = performance.now() - began;
  t.ok(most > 0 && most <= 10, `${most} in a turn of a millisecond`);
  t.ok(passed > 150, `40 ms of work took ${passed} ms`);
});

t.test('what was idle is not made up for, nor is what held the process up', async (t) => {
  const turns = new Turns(10_000);
  await sleep(200);
  const { atOnce } = await takeAll(turns, 100, takes(0.2));
  t.ok(atOnce <= 6, `${atOnce} at once after a rest`);
  turns.take(takes(500));
  const began = performance.now();
  await takeAll(turns, 1);
  t.ok(performance.now() - began < 1_000, 'and not only once 500 ms are a fifth of the time');
});

t.test('a line that is full takes nobody more', async (t) => {
  const turns = new Turns(3);
  const taken = Array.from({ length: 20 }, () => turns.take(takes(5)));
  const first = taken.indexOf(false);
  t.ok(first >= 4, `one at once and three in line before ${first}`);
  t.notOk(taken.slice(first).includes(true));
});
