import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { inClub } from '../../src/database/context.js';
import { sql } from '../../src/database/sql.js';
import { makeWork } from '../setup/work.js';

const { database, anna } = await makeWork(t);
setFlagsFromString('--expose-gc');
const collect: (options: { type: 'minor' }) => void = runInNewContext('gc');

const ROUNDS = 50;
const TRANSACTIONS = 10;
const ROWS = 100;
const TEXT = 200;

t.test('what a transaction has read is gone with the next small collections', async (t) => {
  const texts = sql`select repeat('x', ${TEXT}) || each as text from generate_series(1, ${ROWS}) as each`;
  for (const mode of ['read once', 'read only', 'read write'] as const) {
    let rows = 0;
    const run = async () => {
      for (let count = 0; count < TRANSACTIONS; count += 1) {
        rows += (await inClub(database, { ...anna }, mode, (tx) => tx.query(texts))).length;
      }
      await setImmediate();
      // What survives one is looked at again by the next; what survives both waits for a large one.
      collect({ type: 'minor' });
      collect({ type: 'minor' });
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      await run();
    }
    rows = 0;
    const before = process.memoryUsage().heapUsed;
    for (let round = 0; round < ROUNDS; round += 1) {
      await run();
    }
    const kept = process.memoryUsage().heapUsed - before;
    t.equal(rows, ROUNDS * TRANSACTIONS * ROWS);
    const read = ROUNDS * TRANSACTIONS * ROWS * TEXT;
    t.ok(kept < read, `${mode}: ${kept >> 10} KiB kept of ${read >> 10} read`);
  }
});
