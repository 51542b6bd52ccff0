import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { root } from '../../../../tools/root.js';
import type { Workload } from '../campaign.js';
import type { Violation } from '../checker/verdict.js';
import type { Scenario } from './scenarios.js';

/** A planted defect of the service, with the scenario that reveals it and the expected violation. */
export interface Defect {
  name: string;
  violation: Violation;
  scenario: Scenario;
  workload: Workload;
  /** SQL for the database under test. */
  sql?: string;
  /** Changes to a copy of the program. */
  patches?: Patch[];
}

/** A text replacement in a file. */
export type Patch = [file: string, from: string | RegExp, to: string];

const copies = join(root, '.tap/chaos');

/** Reads share connections in every run, also when the program's default is one, to test the sharing. */
const SHARED_READS: Patch = ['config.js', /READS_PER_CONNECTION = \d+;/, 'READS_PER_CONNECTION = 8;'];

/**
 * Copies the program with the defect; returns the file to run. The source is unchanged.
 *
 * @param name of the copy's folder
 */
export async function copyProgram(name: string, patches: Patch[] = []): Promise<string> {
  const directory = join(copies, name);
  await rm(directory, { recursive: true, force: true });
  await cp(join(root, 'dist'), directory, {
    recursive: true,
    filter: (path) => !/\.map$|tsbuildinfo$|dist\/development$/.test(path),
  });
  for (const [file, from, to] of [SHARED_READS, ...patches]) {
    const path = join(directory, file);
    const text = await readFile(path, 'utf8');
    if (text.split(from).length !== 2) {
      throw new Error(`${file} does not have the text once: ${from}`);
    }
    await writeFile(
      path,
      text.replace(from, () => to),
    );
  }
  return relative(root, join(directory, 'server.js'));
}
