import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const COUNT = availableParallelism();

/**
 * Whether processes can be pinned to processors: with `taskset` of util-linux, and two or more processors.
 *
 * A generator uses ten times as much CPU in a flood as at the knee. If it shares a processor with the service, a drive
 * measures what the generator leaves, and in production no generator runs on the service's machine.
 */
export const canPlace = COUNT > 1 && process.platform === 'linux';

/** Pins a process with all its threads and children to the first processor. */
export function placeOnFirst(pid: number): void {
  place(pid, '0');
}

/** Pins a process in the same way to all other processors. */
export function placeOnOthers(pid: number): void {
  place(pid, `1-${COUNT - 1}`);
}

function place(pid: number, processors: string): void {
  execFileSync('taskset', ['-acp', processors, String(pid)], { stdio: 'pipe' });
}
