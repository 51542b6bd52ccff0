import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { Database } from '../../src/database/database.js';
import { sql } from '../../src/database/sql.js';
import { writeInTenant } from '../../src/database/tenant-context.js';
import { makeWork, readRows } from '../setup/work.js';

const { db, database, anna } = await makeWork(t);
const sharing = new Database({ url: db.url, size: 3, prepare: true, readsPerConnection: 8 });
t.teardown(() => sharing.close());
setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const ROUNDS = 50;
const TRANSACTIONS = 10;
const ROWS = 100;
const TEXT = 200;
const READ = ROUNDS * TRANSACTIONS * ROWS * TEXT;
/** What is kept grows in every measurement; what the compiler keeps of its own does not. */
const MEASUREMENTS = 3;

t.test('a finished read or transaction keeps no memory of its rows', async (t) => {
  const texts = sql`select repeat('x', ${TEXT}) || each as text from generate_series(1, ${ROWS}) as each`;
  const runs = {
    'an exclusive read': () => readRows(database, { ...anna }, texts, 'exclusive'),
    'a shared read': () => readRows(sharing, { ...anna }, texts),
    'a transaction': () => writeInTenant(database, { ...anna }, 'write', (tx) => tx.query(texts)),
  };
  for (const [name, query] of Object.entries(runs)) {
    let rows = 0;
    const run = async () => {
      rows = 0;
      for (let count = 0; count < ROUNDS * TRANSACTIONS; count += 1) {
        rows += (await query()).length;
      }
      await setImmediate();
      collect();
      return process.memoryUsage().heapUsed;
    };
    const grown: number[] = [];
    let before = await run();
    for (let each = 0; each < MEASUREMENTS; each += 1) {
      const after = await run();
      grown.push(after - before);
      before = after;
    }
    t.equal(rows, ROUNDS * TRANSACTIONS * ROWS);
    const kept = Math.min(...grown);
    t.ok(kept < READ / 20, `${name}: ${kept >> 10} KiB kept of ${READ >> 10} read`);
  }
});
