import type { Answer } from './exchange.js';
import { Unavailable } from './failures.js';
import type { Session } from './session.js';
import type { Statement } from './sql.js';

/** The statement that says who is asking, and what to make of its one row. */
export interface Entry<Row = never> {
  statement: Statement;
  /** Whose turn it is when transactions wait for a slot: the club; undefined for the service itself. */
  group?: string;
  /** Whether the row answers this very entry, by naming what it asked to enter. */
  isEcho: (row: Row) => boolean;
  /** Looks at the row; throws to refuse the transaction. Nothing else is believed before this returns. */
  accept: (row: Row) => void;
}

/**
 * Looks at what the entry was answered with.
 *
 * @throws Unavailable when that answers something else; the session is lost then
 * @throws what `accept` throws
 */
export function acceptEntry<Row>(session: Session, entry: Entry<Row>, { rows }: Answer): void {
  const row = rows[0] as Row | undefined;
  if (row === undefined || !entry.isEcho(row)) {
    doubt(session, 'the entry was answered with another one');
  }
  entry.accept(row);
}

/** Loses a session whose state nobody knows. */
export function doubt(session: Session, reason: string): never {
  const error = new Error(reason);
  session.lose(error);
  throw new Unavailable('The connection to the database answered out of turn.', 'unknown', { cause: error });
}
