/**
 * A part of `make check`: whether package-lock.json holds a version of which something bad is known.
 *
 * Only what is installed for production counts: what the tests run on meets nobody's requests.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Advisory, advisories } from './advisories.js';

interface Lock {
  packages: Record<string, { version?: string; dev?: boolean }>;
}

/** The packages of a lock that need a newer version, with the advisory that says so. */
export function vulnerable(lock: Lock): string[] {
  return Object.entries(lock.packages).flatMap(([path, { version, dev }]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (path === '' || dev === true || version === undefined) {
      return [];
    }
    return advisories
      .filter((advisory) => advisory.package === name && !isMended(version, advisory))
      .map(
        ({ ids, mended }) =>
          `${name} ${version} is open to ${ids.join(', ')}: mended in ${mended.join(', ')}.`,
      );
  });
}

function isMended(version: string, { mended }: Advisory): boolean {
  const ours = numbersOf(version);
  const line = mended.map(numbersOf).find(([major]) => major === ours[0]);
  if (line === undefined) {
    return mended.every((first) => isAtLeast(ours, numbersOf(first)));
  }
  // What comes before a release is not the release.
  return isAtLeast(ours, line) && !(version.includes('-') && isAtLeast(line, ours));
}

function numbersOf(version: string): number[] {
  return (version.split('-', 1)[0] ?? '').split('.').map(Number);
}

function isAtLeast(version: number[], least: number[]): boolean {
  const place = version.findIndex((number, index) => number !== least[index]);
  return place < 0 || (version[place] ?? 0) > (least[place] ?? 0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = new URL('../package-lock.json', import.meta.url);
  const found = vulnerable(JSON.parse(await readFile(file, 'utf8')) as Lock);
  if (found.length > 0) {
    console.error(found.join('\n'));
    process.exitCode = 1;
  }
}
