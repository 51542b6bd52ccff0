import type { Test } from 'tap';
import { Database } from '../../src/database/database.js';
import { isStatementError } from '../../src/database/errors.js';
import type { LeaseKind } from '../../src/database/pool.js';
import { bounded, type Query, type Statement, sql } from '../../src/database/sql.js';
import {
  type Caller,
  readInTenant,
  type TenantTransaction,
  writeInTenant,
} from '../../src/database/tenant-context.js';
import type { Role } from '../../src/roles.js';
import { callerWith } from '../../tools/people.js';
import { makeDatabase, type TestDatabase } from './database.js';
import { withoutTimeLimits } from './runtime.js';

/** A club, a database for transactions, and an Admin. */
export interface Work {
  db: TestDatabase;
  club: string;
  database: Database;
  size: number;
  anna: Caller;
  /** Runs work in a write transaction. */
  write<Result>(work: (tx: TenantTransaction) => Promise<Result>): Promise<Result>;
  /** Reads with one statement. */
  read<Row>(query: Query<Row>): Promise<Row[]>;
  /** A statement that inserts a task with this title. */
  insert(title: string): Statement;
  /** The titles of committed tasks. */
  titles(like: string): Promise<string[]>;
}

/** Unavailable.committed of a write that was not committed, for `match`, which looks for a text in a text: `unknown` contains `no`. */
export const NOT_COMMITTED = /^no$/;

/** A caller with a role in a club, as the plugins pass it to the database. */
export function callerOf(tenantId: string, role: Role = 'Admin', subject = 'anna'): Caller {
  return callerWith({ sub: subject, name: subject }, tenantId, role);
}

export async function makeWork(t: Test): Promise<Work> {
  const size = 3;
  const db = await makeDatabase(t);
  const club = await db.makeClub('north');
  const url = withoutTimeLimits(db.url);
  const database = new Database({ url, size, prepare: true, readsPerConnection: 1 });
  t.teardown(() => database.close());
  const anna = callerOf(club);
  const write: Work['write'] = (work) => writeInTenant(database, anna, 'write', work);
  // Her member is created here, so that each call in the tests is one transaction.
  await write((tx) => tx.query(sql`select`));
  return {
    db,
    club,
    database,
    size,
    anna,
    write,
    read: (query) => readRows(database, anna, query, 'exclusive'),
    insert: (title) => sql`insert into app.tasks (title) values (${title})`,
    titles: async (like) => {
      const rows = await db.queryAsAdmin<{ title: string }>(
        'select title from app.tasks where title like $1 order by 1',
        [like],
      );
      return rows.map(({ title }) => title);
    },
  };
}

/** The rows of a read inside the caller's club, on an exclusive connection or shared with other reads. */
export async function readRows<Row>(
  database: Database,
  caller: Caller,
  query: Query<Row>,
  lease: LeaseKind = 'shared',
): Promise<Row[]> {
  const { rows } = await readInTenant(database, caller, 'listTasks', bounded(query, lease === 'shared'));
  return rows.map((row) => row.parse());
}

/** The SQLSTATE of a failed statement; any other error unchanged. */
export function sqlstate(error: unknown): unknown {
  return isStatementError(error) ? error.code : error;
}
