import { mkdirSync, writeFileSync } from 'node:fs';
import fc, { type Arbitrary } from 'fast-check';
import type { Complaint } from './judge.js';

/** What was drawn and shrunk, and answered as it must not be; its seed and path draw it again. */
export interface Counterexample<Item> extends Complaint {
  seed: number;
  path: string;
  item: Item;
}

const IN_FLIGHT = 8;
/** More than these say nothing new. */
const MOST_COUNTEREXAMPLES = 5;
const FOLDER = '.data/wild';

class Refuted extends Error {
  constructor(readonly complaint: Complaint) {
    super(complaint.what);
  }
}

/**
 * Draws so many items, some at once, and shrinks those that are complained of. Each of those at once draws with a
 * seed of its own, so that one counterexample says by its seed and path how to draw it again.
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
      // Enough was found: what is under way is only shrunk.
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

/** Keeps a counterexample in a file, so that it can be sent again: CHECK=<file>. */
export function keep(name: string, counterexample: object): string {
  mkdirSync(FOLDER, { recursive: true });
  const file = `${FOLDER}/${name}.json`;
  writeFileSync(file, `${JSON.stringify(counterexample, null, 2)}\n`);
  return file;
}
