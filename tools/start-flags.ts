import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The flags of `npm start` for Node.js, so that tests and benchmarks start the service in the same way.
 *
 * @param root the folder of package.json
 */
export function startFlags(root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return scripts.start.split(' ').filter((word: string) => word.startsWith('--'));
}
