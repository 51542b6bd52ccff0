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

t.test('turns leave most of the time to others, however much there is to do', async (t) => {
  const turns = new Turns(10_000);
  const begins: number[] = [];
  let inTurn = 0;
  let most = 0;
  for (let number = 0; number < 60; number += 1) {
    turns.take(() => {
      if (inTurn === 0) {
        begins.push(performance.now());
        // Once this turn is over; the next one has not begun by then.
        setImmediate(() => {
          most = Math.max(most, inTurn);
          inTurn = 0;
        });
      }
      inTurn += 1;
      takes(0.2)();
    });
  }
  while (begins.length < 4) {
    await sleep(1);
  }
  t.ok(most > 0 && most <= 11, `${most} in a turn of 2 ms`);
  const gaps = begins.slice(1).map((at, index) => at - (begins[index] as number));
  t.ok(Math.min(...gaps) > 8, `turns begin ${gaps} ms after each other`);
});

t.test('a line that is full takes nobody more', async (t) => {
  const turns = new Turns(3);
  turns.take(takes(10));
  t.same(
    [1, 2, 3, 4].map(() => turns.take(() => {})),
    [true, true, true, false],
  );
});
