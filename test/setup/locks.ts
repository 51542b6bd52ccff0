import { setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from './database.js';

/**
 * Waits until this many sessions of the database wait for a lock.
 *
 * @returns how many wait: fewer after twenty seconds, so that a missing lock fails the test
 */
export async function untilWaiting(db: TestDatabase, sessions: number): Promise<number> {
  for (const deadline = Date.now() + 20_000; ; await sleep(5)) {
    const [row] = await db.queryAsAdmin<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    const waiting = row?.waiting ?? 0;
    if (waiting >= sessions || Date.now() > deadline) {
      return waiting;
    }
  }
}
