import { check } from '../chaos/checker/index.js';
import { describe, isAcknowledgedWrite, type Verdict, VIOLATIONS } from '../chaos/checker/verdict.js';
import { type Fault, type Feed, type History, isUnknown, type Operation } from '../chaos/history.js';
import type { Run } from './campaign.js';

/** What the oracle of chaos says of a run with failovers. */
export interface Judgement {
  verdict: Verdict;
  /** Reads and refusals that only a node which had lost the lead explains. */
  oldReads: Operation[];
}

/**
 * Judges a history. A node that has lost the lead without knowing it may still respond to reads, with what was replaced or what was
 * never replicated; a refusal, such as `shift_full`, is a read too. So the reads and refusals during the faults are left out of the
 * verdict, except for `foreign`, and what the oracle finds with them only are old reads. Every acknowledged write is judged.
 *
 * @param feeds the events as they are after the faults; a follower may have read one that was never replicated
 */
export function judge(history: History, feeds: Feed[]): Judgement {
  const isSuspect = (operation: Operation) =>
    !isAcknowledgedWrite(operation) &&
    !isUnknown(operation) &&
    history.faults.some((fault) => isDuring(fault, operation));
  const operations = history.operations.filter((operation) => !isSuspect(operation));
  const whole = check(history);
  const verdict = { ...check({ ...history, operations, feeds }), foreign: whole.foreign };
  const proven = new Set(Object.values(verdict).flat());
  const others = VIOLATIONS.flatMap((violation) => whole[violation])
    .filter((proof) => !proven.has(proof))
    .join('\n');
  const oldReads = history.operations.filter(
    (operation) => isSuspect(operation) && others.includes(describe(operation)),
  );
  return { verdict, oldReads };
}

/** Whether a request and a fault overlap. */
export function isDuring({ from, to }: Fault, { called, returned }: Operation): boolean {
  return from <= returned && called <= to;
}

/** The longest time during a fault in which no write succeeded, in seconds. */
export function secondsWithoutWrite(operations: Operation[], { from, to }: Fault): number {
  const times = operations
    .filter(isAcknowledgedWrite)
    .map(({ returned }) => returned)
    .sort((a, b) => a - b);
  const gaps = times.map((time, index) => {
    const before = times[index - 1] ?? time;
    return before <= to && from <= time ? time - before : 0;
  });
  return Math.max(0, ...gaps) / 1_000;
}

/** A line for each fault: the seconds without a write, and the old reads. */
export function tableOf({ history }: Run, { oldReads }: Judgement): string[] {
  const rows = history.faults.map((fault) => [
    fault.kind,
    secondsWithoutWrite(history.operations, fault).toFixed(1),
    oldReads.filter((operation) => isDuring(fault, operation)).length,
  ]);
  return [['fault', 's without a write', 'old reads'], ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}
