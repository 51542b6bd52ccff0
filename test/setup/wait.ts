/** All ways to wait for a state instead of a time. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/database/database.js';
import type { TestDatabase } from './database.js';

/** Reads a value again and again, for at most two minutes by default; returns the last one, for the test to check. */
export async function until<Value>(
  read: () => Value | Promise<Value>,
  isEnough: (value: Value) => boolean,
  { everyMs = 20, forMs = 120_000 } = {},
): Promise<Value> {
  const deadline = Date.now() + forMs;
  for (;;) {
    const value = await read();
    if (isEnough(value) || Date.now() > deadline) {
      return value;
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
 * @param isOver whether one that should wait has ended instead
 * @returns how many wait: fewer when it is over, or after twenty seconds, so that a missing lock fails the test
 */
export function untilWaitingForLocks(
  db: TestDatabase,
  sessions: number,
  isOver = () => false,
): Promise<number> {
  const count = async () => {
    const [row] = await db.queryAsAdmin<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return row?.waiting ?? 0;
  };
  return until(count, (waiting) => waiting >= sessions || isOver(), { everyMs: 5, forMs: 20_000 });
}

/**
 * Waits until a process of the service answers a probe with 200.
 *
 * @param probe the URL of its `/readyz` or `/livez`
 * @throws Error when the process has ended, or after two minutes
 */
export async function untilReady(child: ChildProcess, probe: string): Promise<void> {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const isReady = async () => (await fetch(probe).catch(() => undefined))?.ok === true;
  if (!(await until(isReady, (ready) => ready || hasEnded(), { everyMs: 50 }))) {
    throw new Error(`The process does not answer at ${probe}.`);
  }
}
