import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import fc, { type Arbitrary } from 'fast-check';
import { SEED } from '../tally.js';

/** What is wrong with a response, and where it is counted. */
export interface Finding {
  count: 'succeeded' | 'serverErrors' | 'leaks';
  what: string;
}

/** The item of SEED to begin with, as a finding prints it. Then there is one lane, and nothing is reduced. */
const FUZZ_PATH = process.env.FUZZ_PATH || undefined;

/** The file of a counterexample, which is then sent instead of random items. */
export const CHECK = process.env.CHECK || undefined;

/** After the first finding. A connection that hangs takes seconds, and reducing an item takes dozens of attempts. */
const REDUCING_MS = 20_000;

/** How many lanes work at a time: one when the first item is given. */
export const lanesOf = (most: number) => (FUZZ_PATH === undefined && CHECK === undefined ? most : 1);

/**
 * Checks random items until one has a finding, and reduces that for a limited time to a smaller one. Several lanes work at a
 * time, each with a seed of its own.
 *
 * @param lanes one check for each lane
 */
export async function search<Item>(
  name: string,
  arbitrary: Arbitrary<Item>,
  lanes: ((item: Item) => Promise<Finding | undefined>)[],
  runs: number,
): Promise<Finding[]> {
  if (CHECK !== undefined) {
    const { item } = JSON.parse(readFileSync(CHECK, 'utf8'));
    const finding = basename(CHECK).startsWith(name) ? await lanes[0]?.(item) : undefined;
    return finding === undefined ? [] : [finding];
  }
  let endsAt = Number.POSITIVE_INFINITY;
  const found = await Promise.all(
    lanes.map(async (check, lane): Promise<Finding[]> => {
      let finding: Finding | undefined;
      const property = fc.asyncProperty(arbitrary, async (item) => {
        if (performance.now() > endsAt) {
          return true;
        }
        const wrong = await check(item);
        if (wrong !== undefined) {
          endsAt = Math.min(endsAt, performance.now() + REDUCING_MS);
          finding = wrong;
        }
        return wrong === undefined;
      });
      const { counterexample, counterexamplePath, errorInstance, seed } = await fc.check(property, {
        seed: SEED + lane,
        numRuns: Math.ceil(runs / lanes.length),
        path: FUZZ_PATH ?? '',
        endOnFailure: FUZZ_PATH !== undefined,
      });
      if (counterexample === null) {
        return [];
      }
      const wrong = finding ?? { count: 'serverErrors' as const, what: String(errorInstance) };
      const path = counterexamplePath ?? '';
      const [item] = counterexample;
      mkdirSync('.data/fuzz', { recursive: true });
      const file = `.data/fuzz/${name}-${seed}.json`;
      writeFileSync(file, `${JSON.stringify({ ...wrong, seed, path, item }, null, 2)}\n`);
      const again = `again with CHECK=${file}, or with SEED=${seed} FUZZ_PATH=${Number.parseInt(path, 10)}`;
      return [
        { count: wrong.count, what: [wrong.what, JSON.stringify(item).slice(0, 2_000), again].join('\n') },
      ];
    }),
  );
  return found.flat();
}
