import pg from 'pg';
import type { TestDatabase } from './database.js';
import type { Person, Response } from './send.js';

/**
 * Floods a club with so many requests while its table is locked, so that they wait.
 *
 * @param meanwhile is called with the requests while the table is locked
 * @returns the results of the flood after the lock is released
 */
export async function inFlood(
  db: TestDatabase,
  { flooder, count }: { flooder: Person; count: number },
  meanwhile: (flood: Promise<Response>[]) => Promise<void>,
): Promise<Response[]> {
  const holder = new pg.Client(db.adminUrl);
  await holder.connect();
  await holder.query('begin; lock table app.tasks in access exclusive mode');
  const flood = Array.from({ length: count }, () => flooder.get('/api/tasks'));
  await meanwhile(flood);
  await holder.query('commit');
  await holder.end();
  return Promise.all(flood);
}
