import { withClient } from '../src/deploy/client.js';
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
import { type Benchmark, type Ratio, ratioOf } from './rounds.js';

const WORKLOADS = ['task-patch', 'signup-cancel'];

/**
 * What events cost a write: requests per second with the triggers that record them, divided by those without. In many clubs, in
 * one, whose commits wait for each other, and in one beside a snapshot as old as the measurement, as of pg_dump.
 */
export async function measureRecording(
  environment: Environment,
  signer: Signer,
  many: PreparedContender,
): Promise<{ results: Result[]; ratios: Ratio[] }> {
  const callers = await makeCallers(environment, signer, 'one');
  const one = await prepare(await startContender(service, environment, 'one'), callers, signer);
  const results: Result[] = [];
  const ratios: Ratio[] = [];

  const measure = async (prepared: PreparedContender, database: DatabaseName, where: string) => {
    for (const workload of WORKLOADS) {
      const benchmark = (name: string, isRecorded: boolean): Benchmark => {
        const { run } = benchmarkOf(prepared, workload, environment, name);
        return {
          name,
          run: async (durationMs) => {
            await setRecording(environment, database, isRecorded);
            return run(durationMs);
          },
        };
      };
      const [recorded, unrecorded] = [`recorded ${where}`, `unrecorded ${where}`] as const;
      const result = await measureBenchmarks(workload, [
        benchmark(recorded, true),
        benchmark(unrecorded, false),
      ]);
      results.push(result);
      const against = unrecorded.replaceAll(' ', '-');
      ratios.push(
        ratioOf(result.rounds, [recorded, unrecorded], [workload, against], ({ perSecond }) => perSecond),
      );
    }
    await setRecording(environment, database, true);
  };

  await measure(many, 'many', 'in many clubs');
  await measure(one, 'one', 'in one club');
  await withClient(environment.server.url('one'), async (client) => {
    await client.query('begin isolation level repeatable read');
    await client.query('select count(*) from app.clubs');
    await measure(one, 'one', 'beside an old snapshot');
  });
  await one.contender.stop('SIGKILL');
  return { results, ratios };
}

/** Switches the triggers that record events. */
export async function setRecording(
  { queryAsAdmin }: Environment,
  database: DatabaseName,
  isOn: boolean,
): Promise<void> {
  const triggers = await queryAsAdmin<{ name: string; relation: string }>(
    database,
    `select quote_ident(tgname) as name, tgrelid::regclass::text as relation
     from pg_trigger where tgfoid = 'app.record_event'::regproc`,
  );
  if (triggers.length === 0) {
    throw new Error('No trigger records events.');
  }
  const changes = triggers.map(
    ({ name, relation }) => `alter table ${relation} ${isOn ? 'enable' : 'disable'} trigger ${name}`,
  );
  await queryAsAdmin(database, changes.join('; '));
}
