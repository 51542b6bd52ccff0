/** All ways to wait for a state instead of a time. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Database } from '../../src/database/database.js';
import type { TestDatabase } from './database.js';

/** A hang guard: nothing takes as long, even on a slow machine. */
export const HANG_MS = 180_000;

/**
 * Reads a value again and again until it is enough.
 *
 * @param options.forMs how long to try, for a caller that does something else then: the last value is returned
 * @throws Error with the last value, after minutes
 */
export async function until<Value>(
  read: () => Value | Promise<Value>,
  isEnough: (value: Value) => boolean,
  { everyMs = 20, forMs }: { everyMs?: number; forMs?: number } = {},
): Promise<Value> {
  // Tests stop and move the clocks of Date and performance.
  const deadline = process.hrtime.bigint() + BigInt(forMs ?? HANG_MS) * 1_000_000n;
  for (;;) {
    const value = await read();
    if (isEnough(value)) {
      return value;
    }
    if (process.hrtime.bigint() > deadline) {
      if (forMs !== undefined) {
        return value;
      }
      const seen = inspect(value, { depth: 4 });
      throw new Error(`Waited for minutes until ${isEnough.toString()}; the last value is ${seen}`);
    }
    await sleep(everyMs);
  }
}

/** Waits until no transaction is running. */
export function untilIdle(database: Database): Promise<Database['load']> {
  return until(
    () => database.load,
    ({ inUse, queued }) => inUse + queued === 0,
  );
}

/**
 * Waits until this many sessions of the database wait for a lock.
 *
 * @param work what is expected to wait
 * @returns how many wait: fewer if some of the work has ended instead, so that a missing lock fails the test
 */
export function untilWaitingForLocks(
  db: TestDatabase,
  sessions: number,
  ...work: Promise<unknown>[]
): Promise<number> {
  let hasEnded = false;
  for (const each of work) {
    const end = () => {
      hasEnded = true;
    };
    each.then(end, end);
  }
  const count = async () => {
    const [row] = await db.queryAsAdmin<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return row?.waiting ?? 0;
  };
  return until(count, (waiting) => waiting >= sessions || hasEnded, { everyMs: 5 });
}

/**
 * Waits until a process of the service answers a probe with 200.
 *
 * @param probe the URL of its `/readyz` or `/livez`
 * @throws Error when the process has ended, or after minutes
 */
export async function untilReady(child: ChildProcess, probe: string): Promise<void> {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const isReady = async () => (await fetch(probe).catch(() => undefined))?.ok === true;
  if (!(await until(isReady, (ready) => ready || hasEnded(), { everyMs: 50 }))) {
    throw new Error(`The process does not answer at ${probe}.`);
  }
}
