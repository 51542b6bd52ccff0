import type { Query, Statement } from '../../src/database/sql.js';
import { compose } from '../../src/database/statement.js';
import {
  type Caller,
  type DirectoryCaller,
  directoryContext,
  memberContext,
} from '../../src/database/tenant-context.js';

/** The one statement that the service sends for a read: inside a club, or of the directory for a list of clubs. */
export function readStatementOf(
  reader: Caller | DirectoryCaller,
  query: Query<unknown>,
  name = 'list',
): Statement {
  return 'clubIds' in reader
    ? compose('read', name, directoryContext(reader), query).statement
    : compose('read', name, memberContext(reader, false), query).statement;
}

/** A statement for PREPARE, and its values for EXECUTE. */
export function prepared({ strings, values }: Statement): { text: string; literals: string } {
  const text = strings.reduce((all, piece, place) => `${all}$${place}${piece}`);
  const literals = values.map((value) =>
    typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value),
  );
  return { text, literals: literals.length === 0 ? '' : `(${literals.join(', ')})` };
}
