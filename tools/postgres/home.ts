import { createHash } from 'node:crypto';
import {
  access,
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import type { Account } from './account.js';
import { permitted } from './command.js';
import { LOCK_FILE } from './lock.js';

/** In a data directory whose cluster lives elsewhere, the file that says where. */
const POINTER = 'location';

/**
 * Makes the data directory if need be and returns its real path, refusing one that is not the launcher's to
 * use.
 */
export async function openDataDir(path: string, account: Account): Promise<string> {
  let dataDir: string;
  try {
    // Only the directory itself is closed: the account lent by root must get through those above it.
    await mkdir(dirname(path), { recursive: true });
    await mkdir(path, { recursive: true, mode: 0o700 });
    dataDir = await realpath(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`PostgreSQL cannot keep its data in ${path}: ${code}`, { cause });
  }
  const { uid } = await lstat(dataDir);
  if (uid !== process.getuid?.() && uid !== account.uid) {
    throw new Error(
      `The PostgreSQL data in ${dataDir} belongs to uid ${uid}, not to uid ${process.getuid?.()}: ` +
        'start it as the user who created it, or remove the directory',
    );
  }
  const names = await readdir(dataDir);
  if (names.length > 0 && !names.some((name) => LOCK_FILE.test(name) || name === 'cluster')) {
    throw new Error(
      `The directory ${dataDir} holds something else than PostgreSQL's data: name an empty one`,
    );
  }
  return dataDir;
}

/**
 * Returns the directory that holds the cluster and its companions: the data directory itself, unless the
 * account lent by root cannot get there. To be called with the data directory locked.
 */
export async function findHome(dataDir: string, account: Account, throwaway: boolean): Promise<string> {
  const noted = await readFile(join(dataDir, POINTER), 'utf8').catch(() => undefined);
  if (noted !== undefined) {
    return claim(noted.trim(), account);
  }
  if (!account.switched || (await permitted(account, '-x', dirname(dataDir)))) {
    return claim(dataDir, account);
  }
  if (await exists(join(dataDir, 'cluster'))) {
    throw new Error(`The account ${account.name} can no longer reach the PostgreSQL data in ${dataDir}`);
  }
  const home = await claim(await chooseRelocation(dataDir, account, throwaway), account);
  if (!(await exists(join(home, 'cluster', 'postmaster.pid')))) {
    // Left behind by a data directory that was removed since: whoever removed it wants to begin anew.
    for (const name of await readdir(home)) {
      await rm(join(home, name), { recursive: true, force: true });
    }
  }
  await writeFile(join(dataDir, `${POINTER}.new`), `${home}\n`);
  await rename(join(dataDir, `${POINTER}.new`), join(dataDir, POINTER));
  return home;
}

/** Data to keep prefers the directory that survives a reboot; data to throw away the one that need not. */
async function chooseRelocation(dataDir: string, account: Account, throwaway: boolean): Promise<string> {
  const hash = createHash('sha256').update(`${dataDir}\0${account.uid}`).digest('hex').slice(0, 24);
  for (const parent of throwaway ? [tmpdir(), '/var/tmp'] : ['/var/tmp', tmpdir()]) {
    if ((await permitted(account, '-x', parent)) && (await permitted(account, '-w', parent))) {
      return join(await realpath(parent), `embedded-postgres-${hash}`);
    }
  }
  throw new Error(
    `The account ${account.name} can reach neither ${dataDir} nor a directory for temporary files`,
  );
}

/**
 * Makes the directory the account's alone. Below a directory that everybody may write in, its predictable
 * name could have been taken by a stranger, who must not get to prepare a cluster for others.
 */
async function claim(home: string, account: Account): Promise<string> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const found = await lstat(home);
  if (!found.isDirectory() || (found.uid !== process.getuid?.() && found.uid !== account.uid)) {
    throw new Error(
      `The directory ${home} was made by uid ${found.uid}: PostgreSQL's data is not kept there`,
    );
  }
  await chmod(home, 0o700);
  if (account.switched) {
    await chown(home, account.uid, account.gid);
  }
  return home;
}

/** Whether there is a file or directory at the path. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
