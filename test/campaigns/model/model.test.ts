import pg from 'pg';
import t, { type Test } from 'tap';
import { makeDatabase, type TestDatabase } from '../../setup/database.js';
import { startService } from '../../setup/service.js';
import { runHttp } from './http/run.js';
import { MUTANTS, RUSH_MUTANTS } from './mutants.js';
import { Random } from './random.js';
import { runRush } from './rush.js';
import { runSql, type Sums } from './sql/run.js';
import { type Mutant, weaken } from './weaken.js';

/** Random for each run; SEED=… repeats the run that printed it. */
const seed = Number(process.env.SEED || Math.floor(Math.random() * 1e9));
/** Fixed for the mutants, so that the result is deterministic; this one finds them quickly. */
const MUTANT_SEED = 1;

const sums = { operations: 0, disagreements: 0, mutants: 0, caught: 0 };

type Run = (t: Test, random: Random, most: number, mutant?: Mutant) => Promise<Sums>;

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

/** The service with its log, on a database that may lack a rule. */
async function start(t: Test, mutant: Mutant | undefined) {
  const lines: string[] = [];
  const service = await startService(t, {}, undefined, { write: (line) => lines.push(line) });
  await weaken(service.db, mutant);
  const { operator } = await connect(t, service.db);
  return { service, operator, lines };
}

const inSql: Run = async (t, random, most, mutant) => {
  const db = await makeDatabase(t);
  await weaken(db, mutant);
  return runSql(random, await connect(t, db), most);
};

const overHttp: Run = async (t, random, most, mutant) => runHttp(random, await start(t, mutant), most);

const atOnce: Run = async (t, random, most, mutant) => runRush(random, await start(t, mutant), most);

/** Runs this many operations and asserts that each result agrees with the rules. */
async function agree(t: Test, run: Run, most: number): Promise<void> {
  const { operations, disagreements } = await run(t, new Random(seed), most);
  sums.operations += operations;
  sums.disagreements += disagreements.length;
  t.same(disagreements.slice(0, 3), [], `after ${operations} operations; SEED=${seed} does them again`);
}

/** Runs at most this many operations on a database that lacks a rule, until the first difference. */
async function disagree(t: Test, run: Run, most: number, mutants: Mutant[]): Promise<void> {
  const missed: string[] = [];
  t.jobs = 3;
  await Promise.all(
    mutants.map((mutant) =>
      t.test(mutant.name, { buffered: true }, async (t) => {
        const { disagreements, operations } = await run(t, new Random(MUTANT_SEED), most, mutant);
        sums.mutants += 1;
        if (disagreements.length > 0) {
          sums.caught += 1;
        } else {
          missed.push(mutant.name);
        }
        t.comment(`${operations} operations until it was noticed`);
      }),
    ),
  );
  t.same(missed, [], 'every mutant is found');
}

const seenBy = (place: 'http' | 'rush') => MUTANTS.filter(({ also = [] }) => also.includes(place));

t.comment(`model seed: ${seed}`);

t.test('raw SQL changes every club as the rules say', (t) => agree(t, inSql, 2_500));
t.test('the service answers every request as the rules say, and shows no data of another club', (t) =>
  agree(t, overHttp, 1_500),
);
t.test('the answers to many concurrent clients agree with the stored rows', (t) => agree(t, atOnce, 900));

t.test('a rule that raw SQL lacks is found', (t) => disagree(t, inSql, 3_000, MUTANTS));
t.test('a rule that the service’s database lacks is found', (t) =>
  disagree(t, overHttp, 600, seenBy('http')),
);
t.test('a missing rule for concurrency is found under concurrency', (t) =>
  disagree(t, atOnce, 450, [...RUSH_MUTANTS, ...seenBy('rush')]),
);

t.test('the summary', async (t) => {
  t.comment(
    `model: ${sums.operations} operations, ${sums.disagreements} disagreements, ` +
      `${sums.mutants} mutants, ${sums.caught} caught`,
  );
  t.equal(sums.caught, sums.mutants);
});
