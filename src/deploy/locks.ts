import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { OperatorError } from '../database/errors.js';
import { numberParameters, type Statement, sql } from '../database/sql.js';
import { SQLSTATE } from '../database/sql-states.js';
import { OWNER } from './roles.js';

/**
 * The key of the advisory lock of a deploy. It serializes deploys, and no audit runs while a deploy holds it. The number
 * is arbitrary; nothing else in the database may use it.
 */
export const DEPLOY_LOCK = 4_242_017_001;

/** The application_name of the session of a deploy. */
const DEPLOY_SESSION = 'club-management-service deploy';

/** Who holds the lock of deploys in this database; the session is null for a prepared transaction. */
const holders: Statement = sql`
  pg_locks as lock left join pg_stat_activity as session on session.pid = lock.pid
  where lock.locktype = 'advisory' and lock.granted and lock.objsubid = 1
    and lock.database = (select oid from pg_database where datname = current_database())
    and (lock.classid::bigint << 32) | lock.objid::bigint = ${DEPLOY_LOCK}`;

/**
 * A condition: whether an audit may run in this transaction. During a deploy it would report findings that are none.
 *
 * It takes the lock of deploys in shared mode, so that a deploy waits for the audit and neither waits for the table locks of
 * the other. Any login may take that lock, so an audit runs without it unless its holder is a deploy: a session of that
 * name whose login may become the owner.
 */
export const auditMayRun: Statement = sql`
  (pg_try_advisory_xact_lock_shared(${DEPLOY_LOCK}) or not exists (
    select from ${holders} and session.application_name = ${DEPLOY_SESSION} and exists (
      select from pg_roles as owner where owner.rolname = ${OWNER} and pg_has_role(session.usesysid, owner.oid, 'member'))))`;

/** The lock_timeout of one attempt: requests for the same table wait for this long too. */
const LOCK_TIMEOUT_MS = 200;
/** The longest pause between two attempts. */
const LONGEST_PAUSE_MS = 5_000;
/** The limit for all attempts together. */
const GIVE_UP_AFTER_MS = 120_000;
/** The SQLSTATEs after which another attempt is made; the first is that of lock_timeout. */
const RETRYABLE: string[] = [SQLSTATE.LOCK_NOT_AVAILABLE, SQLSTATE.DEADLOCK_DETECTED];

/** A statement of the deploy failed, and its step was rolled back. The message has what PostgreSQL said of it. */
export class DeployFailed extends OperatorError {
  override name = 'DeployFailed';
}

/** The deploy must not continue; the message says what to do. */
export class DeployError extends OperatorError {
  override name = 'DeployError';
}

/**
 * Acquires the lock of a deploy until the end of this session, and names the session as that of a deploy. It polls instead
 * of waiting: so the error can name the session that holds the lock, and a concurrent index build does not wait for this
 * session's transaction.
 *
 * @throws DeployError when another session holds the lock for two minutes
 */
export async function lockDeploys(client: pg.Client, giveUpAfterMs = GIVE_UP_AFTER_MS): Promise<void> {
  await client.query('select set_config($1, $2, false)', ['application_name', DEPLOY_SESSION]);
  for (const giveUpAt = Date.now() + giveUpAfterMs; ; await sleep(100)) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as free', [DEPLOY_LOCK]);
    if (rows[0].free) {
      return;
    }
    if (Date.now() > giveUpAt) {
      throw new DeployError(
        `Another session holds the lock of deploys (${await holdersOf(client)}); nothing was changed. ` +
          'Wait until it ends, or end it with pg_terminate_backend or rollback prepared.',
      );
    }
  }
}

/** Keeps deploys from this database until the end of the session; false while one runs. */
export async function lockDeploysShared(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock_shared($1) as free', [DEPLOY_LOCK]);
  return rows[0].free;
}

/** Who holds the lock of deploys: sessions, each with its process id and role, and prepared transactions. */
async function holdersOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    numberParameters(sql`
      select case when lock.pid is null then 'a prepared transaction'
        else format('pid %s, role %s', lock.pid, coalesce(session.usename, 'unknown')) end as holder
      from ${holders}`),
  );
  return rows.map(({ holder }) => holder).join('; ');
}

/**
 * Runs work that takes strong locks, and repeats it until it acquires them.
 *
 * While a statement waits for a strong lock, all later statements on the table wait for it. So each attempt has a short
 * lock_timeout, and the pauses between attempts grow: a long transaction delays the deploy and not the service. The work
 * must change nothing when it fails.
 *
 * @throws DeployError when the locks could not be acquired for two minutes
 */
export async function whenLocksAreFree<Result>(
  client: pg.Client,
  work: () => Promise<Result>,
  giveUpAfterMs = GIVE_UP_AFTER_MS,
): Promise<Result> {
  const giveUpAt = Date.now() + giveUpAfterMs;
  await client.query(`set lock_timeout = '${LOCK_TIMEOUT_MS}ms'`);
  for (let pauseMs = LOCK_TIMEOUT_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!RETRYABLE.includes(String((error as pg.DatabaseError).code))) {
        throw error;
      }
      if (Date.now() > giveUpAt) {
        const seconds = Math.round(giveUpAfterMs / 1_000);
        throw new DeployError(
          `Other sessions held locks of the tables for ${seconds} s; this step changed nothing. ` +
            'Look for long transactions in pg_stat_activity, and deploy again.',
          { cause: error },
        );
      }
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}
