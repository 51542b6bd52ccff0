import t from 'tap';
import { check } from './checker/index.js';
import { sumUp, VIOLATIONS } from './checker/verdict.js';
import { did, history, made, task } from './fixtures/by-hand.js';
import { bad, good } from './fixtures/histories.js';
import type { History } from './history.js';

const violationsOf = (made: History) => {
  const verdict = check(made);
  return VIOLATIONS.filter((violation) => verdict[violation].length > 0);
};

t.test('a possible history has no violation', async (t) => {
  const judged = Object.entries(good).map(([name, make]) => [name, violationsOf(make())]);
  t.same(
    judged.filter(([, violations]) => violations?.length !== 0),
    [],
  );
});

t.test('an impossible history has its violation, and no other', async (t) => {
  const missed = Object.entries(bad).map(([name, [violation, make]]) => [
    name,
    violation,
    violationsOf(make()),
  ]);
  t.same(
    missed.filter(([, violation, violations]) => String(violations) !== violation),
    [],
  );
});

t.test('the last line contains every violation', async (t) => {
  const kept = history([made(), did('read task', 500)], { tasks: [task(1, 'A|Open')] });
  t.equal(
    sumUp(kept, check(kept)),
    'chaos: faults 1, operations 2, acknowledged 1, lost 0, doubled 0, overfull 0, foreign 0, crashes 0, unexpected-5xx 1, anomalies 0',
  );
});
