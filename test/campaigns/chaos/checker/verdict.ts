import { type History, isDone, isUnknown, type Operation } from '../history.js';

/** The violations that a history can prove. */
export const VIOLATIONS = [
  'lost',
  'doubled',
  'overfull',
  'foreign',
  'crashes',
  'unexpected-5xx',
  'anomalies',
] as const;
export type Violation = (typeof VIOLATIONS)[number];

/** The proofs of each violation, in words. */
export type Verdict = Record<Violation, string[]>;

/** Brings a violation. */
export type Report = (violation: Violation, proof: string) => void;

/** Describes an operation in one line. */
export function describe({ kind, target, key, called, returned, status, code, failure }: Operation): string {
  const about = [target, key].filter((word) => word !== undefined).join(' ');
  const outcome = status === null ? failure : [status, code].filter((word) => word !== undefined).join(' ');
  return `${kind} ${about} at ${Math.round(called)}..${Math.round(returned)} ms: ${outcome}`;
}

/** Whether there is no violation. */
export function isClean(verdict: Verdict): boolean {
  return VIOLATIONS.every((violation) => verdict[violation].length === 0);
}

/** The first proofs of each violation. */
export function firstProofs(verdict: Verdict): string[] {
  return Object.entries(verdict).flatMap(([violation, proofs]) =>
    proofs.slice(0, 10).map((proof) => `${violation}: ${proof}`),
  );
}

/** Whether it is a write that has succeeded. */
export function isAcknowledgedWrite(operation: Operation): boolean {
  return isDone(operation) && !/^(read|list)/.test(operation.kind);
}

/** The last line of a run. */
export function sumUp({ faults, operations }: History, verdict: Verdict, campaign = 'chaos'): string {
  const writes = operations.filter(isAcknowledgedWrite);
  const counts = VIOLATIONS.map((violation) => `${violation} ${verdict[violation].length}`);
  return [
    `${campaign}: faults ${faults.length}`,
    `operations ${operations.length}`,
    `acknowledged ${writes.length}`,
    ...counts,
  ].join(', ');
}

/** The numbers of operations by outcome. */
export function outcomes({ operations }: History): string {
  const counts = new Map<string, number>();
  for (const operation of operations) {
    const outcome = isUnknown(operation)
      ? (operation.status ?? operation.failure)
      : (operation.code ?? operation.status);
    const word = `${operation.kind} ${outcome}`;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .sort()
    .map(([word, count]) => `${word}: ${count}`)
    .join('; ');
}
