import { type Asked, contest, entrantOf, prepare, type Result } from './benchmarks.js';
import { makeCallers, type Signer } from './callers.js';
import { service, startContender } from './contenders.js';
import type { DatabaseName, Stage } from './environment.js';
import type { Slice } from './measurement.js';
import { plan } from './plan.js';
import { type Ratio, ratioOf, spreadOf } from './rounds.js';

const p99 = ({ p99Ms }: Slice): number => p99Ms;

/** The effect of more data or callers: p99 divided by the target for p99. */
export async function measureGrowth(
  stage: Stage,
  signer: Signer,
  many: Asked,
): Promise<{ result: Result; ratios: Ratio[] }> {
  const start = async (database: DatabaseName): Promise<Asked> => {
    const callers = await makeCallers(stage, signer, database);
    return prepare(await startContender(service, stage, database), callers, signer);
  };
  const one = await start('one');
  const few = await start('few');
  const result = await contest('growth', [
    entrantOf(many, 'tasks-page', stage, 'page 1, 1,000 clubs'),
    entrantOf(one, 'tasks-page', stage, 'page 1, one club'),
    entrantOf(few, 'tasks-page', stage, 'page 1, a hundredth'),
    entrantOf(one, 'tasks-deep', stage, 'deep page, one club'),
  ]);
  const ratio = (over: string, under: string, workload: string, against: string) =>
    ratioOf(result.rounds, [over, under], [workload, against], p99);
  const ratios = [
    ratio('page 1, one club', 'page 1, a hundredth', 'tasks-page', 'rows-1M-over-10k'),
    ratio('page 1, one club', 'page 1, 1,000 clubs', 'tasks-page', 'one-club-over-1000-clubs'),
    ratio('deep page, one club', 'page 1, one club', 'tasks-deep', 'deep-over-page-1'),
  ];
  // They would take processor time from the next measurements.
  await Promise.all([one, few].map(({ contender }) => contender.stop('SIGKILL')));
  return { result, ratios };
}

/** The time from the start of the process until it is ready, on an existing database, divided by the target of two seconds. */
export async function measureStart(stage: Stage): Promise<Ratio> {
  const shares: number[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    const contender = await startContender(service, stage);
    shares.push(contender.readyMs / 2_000);
    await contender.stop('SIGKILL');
  }
  return { workload: 'start-to-ready', against: 'over-2-seconds', ...spreadOf(shares) };
}
