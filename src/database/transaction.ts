import { acceptEntry, doubt, type Entry } from './entry.js';
import type { Answer, Outcome } from './exchange.js';
import { Unavailable } from './failures.js';
import type { Session } from './session.js';
import { type Statement, sql } from './sql.js';
import { Statements } from './statements.js';

/**
 * What queries need, and all they get: a transaction that has entered its context.
 *
 * Only `runTransaction` and `look` make one, so a query outside of a transaction does not compile.
 */
export interface Transaction {
  /**
   * Runs a statement after all earlier ones of this transaction.
   *
   * @throws pg.DatabaseError when the server refuses it; every later statement then fails the same way
   * @throws Unavailable when the connection is lost
   */
  query<Row>(statement: Statement): Promise<Row[]>;
  /** Runs statements in a row, none of which needs the answer to another: they leave in one piece. Throws alike. */
  queryAll<Rows extends unknown[][]>(...statements: { [Index in keyof Rows]: Statement }): Promise<Rows>;
}

/** One snapshot for all statements of a reader, so that what they answer agrees; writers see what is newest. */
const READ_ONLY = sql`begin isolation level repeatable read, read only`;
const BEGIN = {
  'read once': READ_ONLY,
  'read only': READ_ONLY,
  'read write': sql`begin isolation level read committed, read write`,
};
const END = { COMMIT: sql`commit`, ROLLBACK: sql`rollback` } as const;

/** What a transaction may do. One that reads once asks `query` or `queryAll` once. */
export type Mode = keyof typeof BEGIN;

/**
 * Runs work inside one transaction: BEGIN, the entry, the work's statements, COMMIT.
 *
 * The work's first statement leaves in one exchange with BEGIN and the entry: the server runs none of them behind one
 * that fails, and the answers are checked before the work sees a row. Every other statement leaves when the one
 * before it has been answered, and COMMIT when all of them have, so a write is never half kept. A failure is sticky:
 * work that swallows one cannot commit.
 *
 * The session may be used again only if it is not lost afterwards.
 *
 * @throws what the work or the entry threw, after ROLLBACK; Unavailable when the connection was lost
 */
export async function runTransaction<Result, Row>(
  session: Session,
  mode: Mode,
  entry: Entry<Row>,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const statements = new Statements(session, (first) => begin(session, mode, entry, first));
  let result: Result;
  try {
    result = await work(statements);
    await statements.settled();
  } catch (error) {
    await statements.settled().catch(() => {});
    // Why the entry was refused comes before what the work made of having no rows.
    const refusal = await statements.refusal();
    await finish(session, 'ROLLBACK').catch(() => {});
    throw refusal ?? error;
  }
  await finish(session, 'COMMIT');
  return result;
}

/**
 * Begins, enters and runs the first statements, if there are any.
 *
 * @returns what the server made of the first statements
 * @throws why the transaction was not entered
 */
async function begin<Row>(
  session: Session,
  mode: Mode,
  entry: Entry<Row>,
  first: Statement[],
): Promise<Outcome> {
  const { answers, failure } = await session.exchange(BEGIN[mode], entry.statement, ...first);
  const [begun, entered, ...others] = answers;
  if (begun === undefined) {
    // As a standby refuses to begin a write.
    session.lose(failure as Error);
    throw new Unavailable('The server did not begin a transaction.', 'nothing', { cause: failure });
  }
  if (begun.tag !== 'BEGIN') {
    doubt(session, `BEGIN was answered with ${begun.tag}`);
  }
  if (entered === undefined) {
    throw failure;
  }
  acceptEntry(session, entry, entered);
  return { answers: others, failure };
}

/** Ends the transaction by the server's own word; anything else loses the session. */
async function finish(session: Session, command: keyof typeof END): Promise<void> {
  const wasLost = session.lost;
  let answer: Answer;
  try {
    answer = await session.send(END[command]);
  } catch (error) {
    if (error instanceof Unavailable) {
      throw command === 'COMMIT' && !wasLost
        ? new Unavailable('The connection was lost during COMMIT.', 'unknown', { cause: error })
        : error;
    }
    // COMMIT was refused, as a deferred constraint would: nothing was kept.
    session.lose(error as Error);
    throw error;
  }
  if (answer.tag === 'ROLLBACK' && command === 'COMMIT') {
    // The server had seen a failure that we had not.
    throw new Unavailable('The transaction was rolled back by the server.');
  }
  if (answer.tag !== command) {
    doubt(session, `${command} was answered with ${answer.tag}`);
  }
}
