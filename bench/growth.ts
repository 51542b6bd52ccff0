import {
  benchmarkOf,
  measureBenchmarks,
  type PreparedContender,
  prepare,
  type Result,
} from './benchmarks.js';
import { makeCallers, type Signer } from './callers.js';
import { service, startContender } from './contenders.js';
import type { DatabaseName, Environment } from './environment.js';
import type { Measurement } from './measurement.js';
import { plan } from './plan.js';
import { type Ratio, ratioOf, spreadOf } from './rounds.js';

const p99 = ({ p99Ms }: Measurement): number => p99Ms;

/** The effect of more data or callers: p99 divided by the target for p99. */
export async function measureGrowth(
  environment: Environment,
  signer: Signer,
  many: PreparedContender,
): Promise<{ result: Result; ratios: Ratio[] }> {
  const start = async (database: DatabaseName): Promise<PreparedContender> => {
    const callers = await makeCallers(environment, signer, database);
    return prepare(await startContender(service, environment, database), callers, signer);
  };
  const one = await start('one');
  const few = await start('few');
  const result = await measureBenchmarks('growth', [
    benchmarkOf(many, 'tasks-page', environment, 'page 1, 1,000 clubs'),
    benchmarkOf(one, 'tasks-page', environment, 'page 1, one club'),
    benchmarkOf(few, 'tasks-page', environment, 'page 1, a hundredth'),
    benchmarkOf(one, 'tasks-deep', environment, 'deep page, one club'),
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
export async function measureStart(environment: Environment): Promise<Ratio> {
  const shares: number[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    const contender = await startContender(service, environment);
    shares.push(contender.readyMs / 2_000);
    await contender.stop('SIGKILL');
  }
  return { workload: 'start-to-ready', against: 'over-2-seconds', ...spreadOf(shares) };
}
