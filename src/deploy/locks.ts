import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/**
 * The advisory lock of a deploy: two at once wait for each other on it, and audits stay away while it is held. Any
 * number that nothing else in the database uses.
 */
export const DEPLOY_LOCK = 4_242_017_001;

/** How long one attempt queues for a lock of a table: every request that comes meanwhile queues behind it. */
const LOCK_TIMEOUT_MS = 200;
/** The longest pause between two attempts. */
const LONGEST_PAUSE_MS = 5_000;
/** How long the attempts go on altogether. */
const PATIENCE_MS = 120_000;
/** lock_timeout, and a deadlock, which PostgreSQL resolves by giving one of its two up. */
const MAY_PASS = ['55P03', '40P01'];

/** A deploy that must not go on; the message says what to do. */
export class DeployError extends Error {
  override name = 'DeployError';
}

/**
 * Takes the lock of a deploy for this session, which holds it until it ends. It asks again and again instead of waiting, so
 * that it can say who holds the lock, and keeps no index build from ending.
 *
 * @throws DeployError when another session holds it for two minutes
 */
export async function lockDeploys(client: pg.Client, patienceMs = PATIENCE_MS): Promise<void> {
  for (const giveUpAt = Date.now() + patienceMs; ; await sleep(100)) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as free', [DEPLOY_LOCK]);
    if (rows[0].free) {
      return;
    }
    if (Date.now() > giveUpAt) {
      throw new DeployError(
        `Another session holds the lock of deploys (${await holdersOf(client)}), and nothing was changed. ` +
          'Wait until it has ended, or end it with pg_terminate_backend.',
      );
    }
  }
}

/** Who holds the lock of deploys: the process and the role of each session. */
async function holdersOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `select format('pid %s, role %s', pid, coalesce(usename, 'unknown')) as holder
     from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and pg_locks.database = (select oid from pg_database where datname = current_database())
       and objsubid = 1 and (classid::bigint << 32) | objid::bigint = $1`,
    [DEPLOY_LOCK],
  );
  return rows.map(({ holder }) => holder).join('; ');
}

/**
 * Runs work that takes strong locks, again and again until it gets them.
 *
 * A statement that waits for a strong lock makes all later statements on the table wait behind it. So each
 * attempt gives up quickly, lets the traffic through, and tries again after a pause that grows: a long transaction delays
 * the deploy and not the service. The work must leave nothing behind when it fails.
 *
 * @throws DeployError when the locks were not to be had for two minutes
 */
export async function whenLocksAreFree<Result>(
  client: pg.Client,
  work: () => Promise<Result>,
  patienceMs = PATIENCE_MS,
): Promise<Result> {
  const giveUpAt = Date.now() + patienceMs;
  await client.query(`set lock_timeout = '${LOCK_TIMEOUT_MS}ms'`);
  for (let pauseMs = LOCK_TIMEOUT_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!MAY_PASS.includes(String((error as pg.DatabaseError).code))) {
        throw error;
      }
      if (Date.now() > giveUpAt) {
        const seconds = Math.round(patienceMs / 1_000);
        throw new DeployError(
          `Other sessions held locks of the tables for ${seconds} s, and nothing of this step was changed. ` +
            'Look for long transactions in pg_stat_activity, and deploy again.',
          { cause: error },
        );
      }
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}
