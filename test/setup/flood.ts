import pg from 'pg';
import type { TestDatabase } from './database.js';
import type { Answer, Person } from './service.js';

/** More than may wait. */
const FLOOD = 5_200;

/**
 * Lets somebody flood their club while nothing is served, because the table is locked, so that the flood piles up.
 *
 * @param meanwhile is called when the first of it was refused
 * @returns what became of the flood once the table was free
 */
export async function inFlood(
  db: TestDatabase,
  flooder: Person,
  meanwhile: (early: Answer) => Promise<void>,
): Promise<Answer[]> {
  const holder = new pg.Client(db.adminUrl);
  await holder.connect();
  await holder.query('begin; lock table app.tasks in access exclusive mode');
  const flood = Array.from({ length: FLOOD }, () => flooder.get('/api/tasks'));
  await meanwhile(await Promise.race(flood));
  await holder.query('commit');
  await holder.end();
  return Promise.all(flood);
}
