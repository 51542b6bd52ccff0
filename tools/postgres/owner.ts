import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { identify, type ProcessIdentity } from './processes.js';

/** Who started the server, and which of its watchdogs is the last to end when that process has ended. */
export interface Ownership {
  owner: ProcessIdentity;
  watchdog: ProcessIdentity;
}

const NAME = 'owner.json';
const NOBODY: ProcessIdentity = { pid: 0, started: '' };

/** Reads the record beside the cluster; one that is absent or unreadable names processes that never live. */
export async function readOwnership(home: string): Promise<Ownership> {
  try {
    return {
      owner: NOBODY,
      watchdog: NOBODY,
      ...(JSON.parse(await readFile(join(home, NAME), 'utf8')) as object),
    };
  } catch {
    return { owner: NOBODY, watchdog: NOBODY };
  }
}

/** Records this process as the owner, replacing the file at once so that nobody reads half of it. */
export async function takeOwnership(home: string, watchdog: ProcessIdentity): Promise<void> {
  const record: Ownership = { owner: await identify(), watchdog };
  const file = join(home, NAME);
  await rm(`${file}.new`, { force: true });
  await writeFile(`${file}.new`, `${JSON.stringify(record)}\n`, { flag: 'wx', mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Forgets who owns the server: nobody does any more. */
export async function dropOwnership(home: string): Promise<void> {
  await rm(join(home, NAME), { force: true });
}
