import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { Database } from '../../src/database/database.js';
import { sql } from '../../src/database/sql.js';
import { readInTenant, writeInTenant } from '../../src/database/tenant-context.js';
import { makeWork } from '../setup/work.js';

const { db, database, anna } = await makeWork(t);
const sharing = new Database({ url: db.url, size: 3, prepare: true, readsPerConnection: 8 });
t.teardown(() => sharing.close());
setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const ROUNDS = 50;
const TRANSACTIONS = 10;
const ROWS = 100;
const TEXT = 200;

t.test('a finished read or transaction keeps no memory of its rows', async (t) => {
  const texts = sql`select repeat('x', ${TEXT}) || each as text from generate_series(1, ${ROWS}) as each`;
  const runs = {
    'an exclusive read': async () =>
      (await readInTenant(database, { ...anna }, 'read', 'exclusive', texts)).rows,
    'a shared read': async () => (await readInTenant(sharing, { ...anna }, 'read', 'shared', texts)).rows,
    'a transaction': () => writeInTenant(database, { ...anna }, 'write', (tx) => tx.query(texts)),
  };
  for (const [name, query] of Object.entries(runs)) {
    let rows = 0;
    const run = async () => {
      for (let count = 0; count < TRANSACTIONS; count += 1) {
        rows += (await query()).length;
      }
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      await run();
    }
    rows = 0;
    await setImmediate();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let round = 0; round < ROUNDS; round += 1) {
      await run();
    }
    await setImmediate();
    collect();
    const kept = process.memoryUsage().heapUsed - before;
    t.equal(rows, ROUNDS * TRANSACTIONS * ROWS);
    const read = ROUNDS * TRANSACTIONS * ROWS * TEXT;
    t.ok(kept < read / 20, `${name}: ${kept >> 10} KiB kept of ${read >> 10} read`);
  }
});
