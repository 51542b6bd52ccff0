import type { Database } from '../../src/database/database.js';
import { type Entry, type ReadOptions, readStatement } from '../../src/database/read.js';
import type { Query, Statement } from '../../src/database/sql.js';
import { type Caller, readInTenant } from '../../src/database/tenant-context.js';

/** The one statement that a read of the caller's is sent as; nothing is sent. */
export async function readStatementOf(
  caller: Caller,
  name: string,
  query: Query<unknown>,
): Promise<Statement> {
  let statement: Statement | undefined;
  const database = {
    read: async (entry: Entry<never>, asked: Query<unknown>, options: ReadOptions) => {
      statement = readStatement('1', entry, asked, options);
      return { context: { clubExists: true, memberId: caller.testMemberId ?? 'somebody' }, rows: [] };
    },
  };
  await readInTenant(database as unknown as Database, caller, name, 'shared', query);
  return statement as Statement;
}

/** The text of a statement as PostgreSQL gets it. */
export function textOf({ strings }: Statement): string {
  return strings.reduce((text, piece, place) => `${text}$${place}${piece}`);
}
