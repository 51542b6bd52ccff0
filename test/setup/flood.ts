import pg from 'pg';
import type { TestDatabase } from './database.js';
import type { Person, Response } from './send.js';

/** More than the queue holds. */
const FLOOD = 5_200;

/**
 * Floods a club with requests while its table is locked, so that the queue fills.
 *
 * @param meanwhile is called when the first request is rejected
 * @returns the results of the flood after the lock is released
 */
export async function inFlood(
  db: TestDatabase,
  flooder: Person,
  meanwhile: (early: Response) => Promise<void>,
): Promise<Response[]> {
  const holder = new pg.Client(db.adminUrl);
  await holder.connect();
  await holder.query('begin; lock table app.tasks in access exclusive mode');
  const flood = Array.from({ length: FLOOD }, () => flooder.get('/api/tasks'));
  await meanwhile(await Promise.race(flood));
  await holder.query('commit');
  await holder.end();
  return Promise.all(flood);
}
