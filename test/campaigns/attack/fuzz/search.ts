import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import fc, { type Arbitrary } from 'fast-check';
import { SEED } from '../tally.js';

/** What is wrong with a response, and where it is counted. */
export interface Finding {
  count: 'succeeded' | 'serverErrors' | 'leaks';
  what: string;
}

/** A finding for a reduced item, and the file to send it again with CHECK=<file>. */
export interface Counterexample extends Finding {
  seed: number;
  path: string;
  file: string;
}

/** The file of a counterexample, which is then sent instead of random items. */
export const CHECK = process.env.CHECK || undefined;

/** After the first finding. A connection that hangs takes seconds, and reducing an item takes dozens of attempts. */
const REDUCING_MS = 20_000;

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
): Promise<Counterexample[]> {
  if (CHECK !== undefined) {
    const { item, seed, path } = JSON.parse(readFileSync(CHECK, 'utf8'));
    const finding = basename(CHECK).startsWith(name) ? await lanes[0]?.(item) : undefined;
    return finding === undefined ? [] : [{ ...finding, seed, path, file: CHECK }];
  }
  let endsAt = Number.POSITIVE_INFINITY;
  const found = await Promise.all(
    lanes.map(async (check, lane): Promise<Counterexample[]> => {
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
      const parameters = { seed: SEED + lane, numRuns: Math.ceil(runs / lanes.length) };
      const { counterexample, counterexamplePath, errorInstance, seed } = await fc.check(
        property,
        parameters,
      );
      if (counterexample === null) {
        return [];
      }
      const wrong = finding ?? { count: 'serverErrors' as const, what: String(errorInstance) };
      const result = { ...wrong, seed, path: counterexamplePath ?? '', item: counterexample[0] };
      mkdirSync('.data/fuzz', { recursive: true });
      const file = `.data/fuzz/${name}-${seed}.json`;
      writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
      return [{ ...result, what: `${result.what}\n${JSON.stringify(result.item).slice(0, 2_000)}`, file }];
    }),
  );
  return found.flat();
}
