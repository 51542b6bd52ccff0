import type { Database } from '../../src/database/database.js';
import { type Entry, type ReadOptions, readStatement } from '../../src/database/read.js';
import type { Query, Statement } from '../../src/database/sql.js';
import { type Caller, readDirectory, readInTenant } from '../../src/database/tenant-context.js';

/** The one statement that the service sends for a read: inside a club, or of the directory for a list of clubs. */
export async function readStatementOf(
  caller: Caller | string[],
  query: Query<unknown>,
  name = 'list',
): Promise<Statement> {
  const sent: Statement[] = [];
  const database = {
    read: async (entry: Entry<never>, statement: Query<unknown>, options: ReadOptions) => {
      sent.push(readStatement('1', entry, statement, options));
      return { context: { clubExists: true, memberId: 'somebody', memberIsCurrent: true }, rows: [] };
    },
  } as unknown as Database;
  await (Array.isArray(caller)
    ? readDirectory(database, caller, name, query)
    : readInTenant(database, caller, name, 'shared', query));
  return sent[0] as Statement;
}

/** A statement for PREPARE, and its values for EXECUTE. */
export function prepared({ strings, values }: Statement): { text: string; literals: string } {
  const text = strings.reduce((all, piece, place) => `${all}$${place}${piece}`);
  const literals = values.map((value) =>
    typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value),
  );
  return { text, literals: literals.length === 0 ? '' : `(${literals.join(', ')})` };
}
