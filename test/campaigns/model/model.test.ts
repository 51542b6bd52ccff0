import pg from 'pg';
import t, { type Test } from 'tap';
import { makeDatabase, type TestDatabase } from '../../setup/database.js';
import { startService } from '../../setup/service.js';
import { runHttp } from './http/run.js';
import { Random } from './random.js';
import { runRush } from './rush.js';
import { runSql, type Sums } from './sql/run.js';

/** Random for each run; SEED=… repeats the run that printed it. */
const seed = Number(process.env.SEED || Math.floor(Math.random() * 1e9));

const sums = { operations: 0, disagreements: 0 };

type Run = (t: Test, random: Random, most: number) => Promise<Sums>;

async function connect(t: Test, db: TestDatabase) {
  const [api, operator] = [new pg.Client(db.url), new pg.Client(db.migrationUrl)];
  for (const client of [api, operator]) {
    await client.connect();
    t.teardown(() => client.end());
  }
  // The limits of the login are not tested here, and a busy machine would exceed them.
  await api.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
  await operator.query('set role club_owner');
  return { db, api, operator };
}

/** The service with its log. */
async function start(t: Test) {
  const lines: string[] = [];
  const service = await startService(t, {}, undefined, { write: (line) => lines.push(line) });
  const { operator } = await connect(t, service.db);
  return { service, operator, lines };
}

const inSql: Run = async (t, random, most) => {
  const db = await makeDatabase(t);
  return runSql(random, await connect(t, db), most);
};

const overHttp: Run = async (t, random, most) => runHttp(random, await start(t), most);

const atOnce: Run = async (t, random, most) => runRush(random, await start(t), most);

/** Runs this many operations and asserts that each result agrees with the rules. */
async function agree(t: Test, run: Run, most: number): Promise<void> {
  const { operations, disagreements } = await run(t, new Random(seed), most);
  sums.operations += operations;
  sums.disagreements += disagreements.length;
  t.same(disagreements.slice(0, 3), [], `after ${operations} operations; SEED=${seed} does them again`);
}

t.comment(`model seed: ${seed}`);

t.test('raw SQL changes every club as the rules say', (t) => agree(t, inSql, 2_500));
t.test('the service answers every request as the rules say, and shows no data of another club', (t) =>
  agree(t, overHttp, 1_500),
);
t.test('the answers to many concurrent clients agree with the stored rows', (t) => agree(t, atOnce, 900));

t.test('the summary', async (t) => {
  t.comment(`model: ${sums.operations} operations, ${sums.disagreements} disagreements`);
  t.equal(sums.disagreements, 0);
});
