import type { Caller, Signer } from './callers.js';
import type { Contender } from './contenders.js';
import { readCursors } from './cursors.js';
import { type Entrant, runRounds } from './rounds.js';
import { runQuietSlice, runSlice, type Slice } from './slice.js';
import type { Stage } from './stage.js';
import { makeWorkloads, type Workload } from './workloads.js';

/** A contender with the workloads that it can be asked. */
export interface Asked {
  contender: Contender;
  cursors: Map<string, string>;
  workloads: Workload[];
}

/** What was measured of a workload, by round. */
export interface Result {
  workload: string;
  rounds: Map<string, Slice[]>;
}

/** More than any contender answers in a millisecond, for what must be made beforehand. */
const MOST_PER_MS = 6;

/** Requests that were answered wrongly, in words. None may be. */
export const faults: string[] = [];

/** Gets a contender ready to be asked. */
export async function prepare(contender: Contender, callers: Caller[], signer: Signer): Promise<Asked> {
  const cursors = await readCursors(contender, callers);
  return { contender, cursors, workloads: makeWorkloads(callers, cursors, signer) };
}

/** A contender under one of its workloads. */
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

/** Measures some entrants under a workload, and says how each fared. */
export async function contest(workload: string, entrants: Entrant[]): Promise<Result> {
  return { workload, rounds: await runRounds(entrants, runQuietSlice) };
}
