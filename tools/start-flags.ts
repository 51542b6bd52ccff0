import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What `npm start` gives to node before the program. Whoever measures the service starts it in the same way.
 *
 * @param root the folder of package.json
 */
export function startFlags(root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return scripts.start.split(' ').filter((word: string) => word.startsWith('--'));
}
