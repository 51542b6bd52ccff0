import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/**
 * The advisory lock of a deploy: two at once wait for each other on it, and audits stay away while it is held. Any
 * number that nothing else in the database uses.
 */
export const DEPLOY_LOCK = 4_242_017_001;

/** How long one attempt queues for a lock: every request that comes meanwhile queues behind it. */
const LOCK_TIMEOUT_MS = 200;
/** How long the attempts go on altogether. */
const PATIENCE_MS = 120_000;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Runs work that takes strong locks, again and again until it gets them.
 *
 * A statement that waits for a strong lock makes all later statements on the table wait behind it. So each
 * attempt gives up quickly, lets the traffic through, and tries again: a long transaction delays the deploy
 * and not the service. The work must leave nothing behind when it fails.
 */
export async function whenLocksAreFree<Result>(
  client: pg.Client,
  work: () => Promise<Result>,
): Promise<Result> {
  const giveUpAt = Date.now() + PATIENCE_MS;
  await client.query(`set lock_timeout = '${LOCK_TIMEOUT_MS}ms'`);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if ((error as pg.DatabaseError).code !== LOCK_NOT_AVAILABLE || Date.now() > giveUpAt) {
        throw error;
      }
      await sleep(LOCK_TIMEOUT_MS * (1 + Math.random()));
    }
  }
}
