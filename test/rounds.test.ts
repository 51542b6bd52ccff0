import { setImmediate as nextRound } from 'node:timers/promises';
import t from 'tap';
import { Rounds } from '../src/http/rounds.js';

const TASKS = 60;

/** How many tasks of a fifth of a millisecond are done in each round of the event loop. */
async function tasksByRound(rounds: Rounds, beforeRound = () => {}): Promise<number[]> {
  const order: number[] = [];
  for (let number = 0; number < TASKS; number += 1) {
    rounds.take('north', () => {
      const until = performance.now() + 0.2;
      while (performance.now() < until) {}
      order.push(number);
    });
  }
  const counts = [order.length];
  while (order.length < TASKS) {
    beforeRound();
    const before = order.length;
    await nextRound();
    counts.push(order.length - before);
  }
  t.same(
    order,
    [...order].sort((one, other) => one - other),
    'in order',
  );
  return counts;
}

t.test('a round has an end, and what does not fit into it is done in later ones', async (t) => {
  const [atOnce = 0, ...later] = await tasksByRound(new Rounds());
  t.ok(atOnce >= 1 && atOnce <= 5, `${atOnce} at once`);
  t.ok(Math.max(...later) >= 2 && Math.max(...later) <= 5, later.join());
});

t.test('as long as people connect a round has time for one task', async (t) => {
  const rounds = new Rounds();
  const [, , ...later] = await tasksByRound(rounds, () => rounds.arrive());
  t.equal(Math.max(...later), 1, later.join());
});

t.test('who asks now and then is not behind those who flood', async (t) => {
  const rounds = new Rounds();
  const order: string[] = [];
  const ask = (group: string) =>
    rounds.take(group, () => {
      const until = performance.now() + 0.2;
      while (performance.now() < until) {}
      order.push(group);
    });
  for (let number = 0; number < TASKS; number += 1) {
    ask('north');
  }
  const before = order.length;
  ask('south');
  while (order.length <= TASKS) {
    await nextRound();
  }
  t.ok(order.indexOf('south') - before <= 1, order.join());
});
