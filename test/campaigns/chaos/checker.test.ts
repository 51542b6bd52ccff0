import t from 'tap';
import { check } from './checker/index.js';
import { CHARGES, sumUp } from './checker/verdict.js';
import { did, history, made, task } from './fixtures/by-hand.js';
import { bad, good } from './fixtures/histories.js';
import type { History } from './history.js';

const chargesOf = (made: History) => {
  const verdict = check(made);
  return CHARGES.filter((charge) => verdict[charge].length > 0);
};

t.test('a possible history has no charge', async (t) => {
  const accused = Object.entries(good).map(([name, make]) => [name, chargesOf(make())]);
  t.same(
    accused.filter(([, charges]) => charges?.length !== 0),
    [],
  );
});

t.test('an impossible history has its charge, and no other', async (t) => {
  const missed = Object.entries(bad).map(([name, [charge, make]]) => [name, charge, chargesOf(make())]);
  t.same(
    missed.filter(([, charge, charges]) => String(charges) !== charge),
    [],
  );
});

t.test('the last line names every charge', async (t) => {
  const kept = history([made(), did('read task', 500)], { tasks: [task(1, 'A|Open')] });
  t.equal(
    sumUp(kept, check(kept)),
    'chaos: faults 1, operations 2, acknowledged 1, lost 0, doubled 0, overfull 0, foreign 0, crashes 0, unexpected-5xx 1, anomalies 0',
  );
});
