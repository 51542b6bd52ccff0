import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process, told apart from a later one that was given the same number. */
export interface ProcessIdentity {
  pid: number;
  /**
   * The kernel's start time in clock ticks; empty where there is no /proc, so that the number alone decides.
   */
  started: string;
}

/** Names a process so that it can be recognised later, also by another process. */
export async function identify(pid: number = process.pid): Promise<ProcessIdentity> {
  return { pid, started: (await readStat(pid))?.started ?? '' };
}

/** Whether the very process that was identified still runs; a zombie waiting to be reaped does not. */
export async function isAlive({ pid, started }: ProcessIdentity): Promise<boolean> {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !exists(pid)) {
    return false;
  }
  const stat = await readStat(pid);
  return stat === undefined || (stat.state !== 'Z' && stat.started === started);
}

/** Waits until the process is gone; false when it outlasts the time given. */
export async function waitForEnd(identity: ProcessIdentity, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds;
  while (await isAlive(identity)) {
    if (Date.now() > deadline) {
      return false;
    }
    await sleep(50);
  }
  return true;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process may not be signalled, which proves that it exists.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Reads fields 3 and 22 of /proc/<pid>/stat, counted from the last parenthesis as a name may contain
 * anything.
 */
async function readStat(pid: number): Promise<{ state: string; started: string } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields && { state: fields[0] ?? '', started: fields[19] ?? '' };
}
