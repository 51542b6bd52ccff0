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

t.test('what fits into a turn is done at once, and the rest in order, in later ones', async (t) => {
  const { atOnce, inOrder } = await takeAll(new Turns(10_000), 3_000);
  t.ok(atOnce > 0 && atOnce < 3_000, `${atOnce} at once`);
  t.ok(inOrder);
});

t.test('turns that come late hold fewer', async (t) => {
  const turns = new Turns(10_000);
  const before = await takeAll(turns, 2_000);
  const block = () => {
    const until = performance.now() + 40;
    while (performance.now() < until) {}
  };
  for (let time = 0; time < 4; time += 1) {
    await takeAll(turns, 1, block);
    await sleep(30);
  }
  const after = await takeAll(turns, 2_000);
  t.ok(after.atOnce < before.atOnce / 4, `${before.atOnce}, then ${after.atOnce}`);
});

t.test('a line that is full takes nobody, and says so', async (t) => {
  const turns = new Turns(2);
  let done = 0;
  const answers = Array.from({ length: 2_000 }, () =>
    turns.take(() => {
      done += 1;
    }),
  );
  const taken = answers.filter((isTaken) => isTaken).length;
  t.equal(taken, done + 2);
  t.notOk(answers.at(-1));
  while (done < taken) {
    await sleep(1);
  }
});
