import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 120_000;

/**
 * Waits until a process of the service answers a probe with 200.
 *
 * @param probe the URL of its `/readyz` or `/livez`
 * @throws Error when the process has ended, or after two minutes
 */
export async function untilReady(child: ChildProcess, probe: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await fetch(probe).catch(() => undefined))?.ok) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      throw new Error(`The process does not answer at ${probe}.`);
    }
    await sleep(50);
  }
}
