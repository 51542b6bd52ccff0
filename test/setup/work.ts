import type { Test } from 'tap';
import { type Caller, type ClubTransaction, inClub } from '../../src/database/context.js';
import { Database } from '../../src/database/database.js';
import { isStatementError } from '../../src/database/failures.js';
import { type Statement, sql } from '../../src/database/sql.js';
import { callerOf } from './caller.js';
import { makeDatabase, type TestDatabase } from './database.js';

/** A club, a database to run transactions on, and an Admin at work. */
export interface Work {
  db: TestDatabase;
  club: string;
  database: Database;
  slots: number;
  anna: Caller;
  /** Runs work in a transaction that may write. */
  write<Result>(work: (tx: ClubTransaction) => Promise<Result>): Promise<Result>;
  /** Makes a task of this title. */
  insert(title: string): Statement;
  /** The titles of tasks that were kept. */
  titles(like: string): Promise<string[]>;
}

export async function makeWork(t: Test): Promise<Work> {
  const slots = 3;
  const db = await makeDatabase(t);
  const club = await db.makeClub('north');
  const database = new Database({ url: db.url, slots, prepare: true });
  t.teardown(() => database.close());
  const anna = callerOf(club);
  const write: Work['write'] = (work) => inClub(database, anna, 'read write', work);
  // Her member is made here, so that each transaction of the tests is one.
  await write((tx) => tx.query(sql`select`));
  return {
    db,
    club,
    database,
    slots,
    anna,
    write,
    insert: (title) => sql`insert into app.tasks (title) values (${title})`,
    titles: async (like) => {
      const rows = await db.look<{ title: string }>(
        'select title from app.tasks where title like $1 order by 1',
        [like],
      );
      return rows.map(({ title }) => title);
    },
  };
}

/** The SQLSTATE of a statement's failure; any other error as it is. */
export function sqlstate(error: unknown): unknown {
  return isStatementError(error) ? error.code : error;
}
