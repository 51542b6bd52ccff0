import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const COUNT = availableParallelism();

/**
 * Whether processes can be told which processors to run on: by `taskset` of util-linux, where there are two or more.
 *
 * A generator takes ten times as much of them in a flood as at the knee. Where it shares them with the service, a drive
 * shows what the generator leaves, and no operator has one on the machine of the service.
 */
export const canPlace = COUNT > 1 && process.platform === 'linux';

/** Gives the first processor to this process, with all its threads, and to what they start. */
export function placeOnFirst(pid: number): void {
  place(pid, '0');
}

/** Gives this process all processors but the first, likewise. */
export function placeOnOthers(pid: number): void {
  place(pid, `1-${COUNT - 1}`);
}

function place(pid: number, processors: string): void {
  execFileSync('taskset', ['-acp', processors, String(pid)], { stdio: 'pipe' });
}
