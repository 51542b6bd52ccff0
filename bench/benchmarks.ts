import type { Caller, Signer } from './callers.js';
import type { Contender } from './contenders.js';
import { readCursors } from './cursors.js';
import type { Stage } from './environment.js';
import { runQuietSlice, runSlice, type Slice } from './measurement.js';
import { type Entrant, runRounds } from './rounds.js';
import { makeWorkloads, type Workload } from './workloads.js';

/** A contender with its workloads. */
export interface Asked {
  contender: Contender;
  cursors: Map<string, string>;
  workloads: Workload[];
}

/** The measurements of a workload, by round. */
export interface Result {
  workload: string;
  rounds: Map<string, Slice[]>;
}

/** More requests than any contender answers in a millisecond: rows for these are created before. */
const MOST_PER_MS = 6;

/** Descriptions of wrong answers; must stay empty. */
export const faults: string[] = [];

/** Prepares the workloads of a contender. */
export async function prepare(contender: Contender, callers: Caller[], signer: Signer): Promise<Asked> {
  const cursors = await readCursors(contender, callers);
  return { contender, cursors, workloads: makeWorkloads(callers, cursors, signer) };
}

/** A contender with one of its workloads. */
export function entrantOf(
  { contender, workloads }: Pick<Asked, 'contender' | 'workloads'>,
  workloadName: string,
  { postmaster }: Stage,
  name = contender.name,
): Entrant {
  const workload = workloads.find((each) => each.name === workloadName) as Workload;
  return {
    name,
    run: async (durationMs) => {
      workload.prepare?.(durationMs * MOST_PER_MS);
      const slice = await runSlice({ ...contender, postmaster }, workload, durationMs);
      if (slice.errors > 0) {
        faults.push(`${name}, ${workloadName}: ${slice.errors} of ${slice.requests}: ${slice.firstError}`);
      }
      return slice;
    },
  };
}

/** Measures entrants under a workload and reports the result of each. */
export async function contest(workload: string, entrants: Entrant[]): Promise<Result> {
  return { workload, rounds: await runRounds(entrants, runQuietSlice) };
}
