import type { Caller, Signer } from './callers.js';
import type { Contender } from './contenders.js';
import { readCursors } from './cursors.js';
import type { Environment } from './environment.js';
import { type Measurement, measureUndisturbed, measureWorkload } from './measurement.js';
import { type Benchmark, runRounds } from './rounds.js';
import { makeWorkloads, type Workload } from './workloads.js';

/** A contender with its workloads. */
export interface PreparedContender {
  contender: Contender;
  cursors: Map<string, string>;
  workloads: Workload[];
}

/** The measurements of a workload, by round. */
export interface Result {
  workload: string;
  rounds: Map<string, Measurement[]>;
}

/** More requests than any contender serves in a millisecond: rows for these are created before. */
const MOST_PER_MS = 6;

/** Descriptions of wrong responses; must stay empty. */
export const wrongResponses: string[] = [];

/** Prepares the workloads of a contender. */
export async function prepare(
  contender: Contender,
  callers: Caller[],
  signer: Signer,
): Promise<PreparedContender> {
  const cursors = await readCursors(contender, callers);
  return { contender, cursors, workloads: makeWorkloads(callers, cursors, signer) };
}

/** A contender with one of its workloads. */
export function benchmarkOf(
  { contender, workloads }: Pick<PreparedContender, 'contender' | 'workloads'>,
  workloadName: string,
  { postmaster }: Environment,
  name = contender.name,
): Benchmark {
  const workload = workloads.find((each) => each.name === workloadName) as Workload;
  return {
    name,
    run: async (durationMs) => {
      workload.prepare?.(durationMs * MOST_PER_MS);
      const measurement = await measureWorkload({ ...contender, postmaster }, workload, durationMs);
      if (measurement.errors > 0) {
        wrongResponses.push(
          `${name}, ${workloadName}: ${measurement.errors} of ${measurement.requests}: ${measurement.firstError}`,
        );
      }
      return measurement;
    },
  };
}

/** Measures benchmarks under a workload and reports the result of each. */
export async function measureBenchmarks(workload: string, benchmarks: Benchmark[]): Promise<Result> {
  return { workload, rounds: await runRounds(benchmarks, measureUndisturbed) };
}
