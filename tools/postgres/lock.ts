import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readlink, symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { identify, isAlive } from './processes.js';

const PATIENCE = 180_000;
const FREE = 'free';

/** The names of the lock's files, by which a directory of this launcher is also recognised. */
export const LOCK_FILE = /^lock\.(\d+)$/;

/**
 * Takes the directory's exclusive lock and returns the function that gives it back.
 *
 * The lock is the highest-numbered symbolic link `lock.<n>`, whose target names the holder: a link is made
 * exclusively and complete in one step. A dead holder's link is never removed to free the lock, since a
 * second process that judged the same link would then remove its successor's; the next number is claimed
 * instead.
 */
export async function lock(directory: string): Promise<() => Promise<void>> {
  const { pid, started } = await identify();
  const claim = `${pid}:${started}:${randomUUID()}`;
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const [latest = 0] = await numbers(directory);
    const holder = latest === 0 ? FREE : await target(directory, latest);
    if (holder !== undefined && !(await isHeld(holder)) && (await take(directory, latest + 1, claim))) {
      return () => giveBack(directory, latest + 1, claim);
    }
    if (Date.now() > deadline) {
      throw new Error(`Process ${holder?.split(':')[0]} does not finish starting PostgreSQL in ${directory}`);
    }
    await sleep(50);
  }
}

async function take(directory: string, number: number, claim: string): Promise<boolean> {
  // A throwaway directory may have been swept away meanwhile, together with the lock that was waited for.
  await mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    await symlink(claim, path(directory, number));
  } catch (error) {
    if (['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) {
      return false;
    }
    throw error;
  }
  const [latest, ...older] = await numbers(directory);
  if (latest !== number) {
    // The lock moved on between judging the last holder and claiming; this number no longer counts.
    await discard(directory, number);
    return false;
  }
  await Promise.all(older.map((old) => discard(directory, old)));
  return true;
}

/** Frees the lock under the next number, unless its directory is gone and another may stand in its place. */
async function giveBack(directory: string, number: number, claim: string): Promise<void> {
  if ((await target(directory, number)) === claim) {
    await symlink(FREE, path(directory, number + 1)).catch(() => {});
    await discard(directory, number);
  }
}

async function isHeld(holder: string): Promise<boolean> {
  const [pid, started = ''] = holder.split(':');
  return holder !== FREE && (await isAlive({ pid: Number(pid), started }));
}

/** All numbers in use, the highest first. */
async function numbers(directory: string): Promise<number[]> {
  const names = await readdir(directory).catch(() => []);
  const found = names.map((name) => Number(LOCK_FILE.exec(name)?.[1] ?? 0));
  return found.filter((number) => number > 0).sort((a, b) => b - a);
}

function target(directory: string, number: number): Promise<string | undefined> {
  return readlink(path(directory, number)).catch(() => undefined);
}

function discard(directory: string, number: number): Promise<void> {
  return unlink(path(directory, number)).catch(() => {});
}

function path(directory: string, number: number): string {
  return join(directory, `lock.${number}`);
}
