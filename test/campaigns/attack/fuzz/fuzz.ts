import { mkdirSync, writeFileSync } from 'node:fs';
import fc, { type Arbitrary } from 'fast-check';
import type { Complaint } from './judge.js';

/** A minimal input with a wrong answer; its seed and path reproduce it. */
export interface Counterexample<Item> extends Complaint {
  seed: number;
  path: string;
  item: Item;
}

const IN_FLIGHT = 8;
/** More counterexamples give no new information. */
const MOST_COUNTEREXAMPLES = 5;
const FOLDER = '.data/fuzz';

class Refuted extends Error {
  constructor(readonly complaint: Complaint) {
    super(complaint.what);
  }
}

/**
 * Generates this many items, some concurrently, and shrinks those with a complaint. Each concurrent lane has its
 * own seed, so that seed and path reproduce one counterexample.
 */
export async function fuzz<Item>(
  arbitrary: Arbitrary<Item>,
  judged: (item: Item) => Promise<Complaint | undefined>,
  runs: number,
  seed: number,
  { shrinks = true, most = MOST_COUNTEREXAMPLES, inFlight = IN_FLIGHT } = {},
): Promise<Counterexample<Item>[]> {
  const counterexamples: Counterexample<Item>[] = [];
  let failing = 0;
  const draw = async (lane: number): Promise<void> => {
    let isFailing = false;
    const property = fc.asyncProperty(arbitrary, async (item) => {
      // Enough counterexamples: only shrinking continues.
      if (!isFailing && failing >= most) {
        return;
      }
      const complaint = await judged(item);
      if (complaint !== undefined) {
        failing += isFailing ? 0 : 1;
        isFailing = true;
        throw new Refuted(complaint);
      }
    });
    let left = Math.ceil(runs / inFlight);
    for (let own = seed + lane; left > 0 && failing < most; own += inFlight) {
      const details = await fc.check(property, { seed: own, numRuns: left, endOnFailure: !shrinks });
      left -= details.numRuns;
      isFailing = false;
      if (details.failed && details.counterexample !== null) {
        const [item] = details.counterexample;
        const { errorInstance } = details;
        const complaint: Complaint =
          errorInstance instanceof Refuted
            ? errorInstance.complaint
            : { count: 'serverErrors', what: String(errorInstance) };
        counterexamples.push({ ...complaint, seed: own, path: details.counterexamplePath ?? '', item });
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, lane) => draw(lane)));
  return counterexamples;
}

/** Saves a counterexample to a file, to send it again with CHECK=<file>. */
export function keep(name: string, counterexample: object): string {
  mkdirSync(FOLDER, { recursive: true });
  const file = `${FOLDER}/${name}.json`;
  writeFileSync(file, `${JSON.stringify(counterexample, null, 2)}\n`);
  return file;
}
