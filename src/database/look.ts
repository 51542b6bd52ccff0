import { acceptEntry, doubt, type Entry } from './entry.js';
import type { Session } from './session.js';
import type { Statement } from './sql.js';
import { told } from './statements.js';
import type { Transaction } from './transaction.js';

/**
 * Runs work that asks once: the entry and what the work asks leave in one exchange, without BEGIN and COMMIT.
 *
 * PostgreSQL makes one transaction of an exchange, which ends with it and takes the context along. What that
 * transaction may do, the session was told when it was admitted: read, from one snapshot. The work sees a row
 * only after the answer to the entry was looked at, and a failure is sticky.
 *
 * The session may be used again only if it is not lost afterwards.
 *
 * @throws what the entry, a statement or the work threw, in this order; Unavailable when the connection was lost
 */
export async function look<Result, Row>(
  session: Session,
  entry: Entry<Row>,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  let answer: Promise<unknown[][]> | undefined;
  const ask = (...statements: Statement[]): Promise<unknown[][]> => {
    if (answer !== undefined) {
      return Promise.reject(new Error('Work that reads once asks once.'));
    }
    answer = told(exchange(session, entry, statements));
    return answer;
  };
  const tx = {
    query: (statement: Statement) => told(ask(statement).then(([rows]) => rows)),
    queryAll: (...statements: Statement[]) => told(ask(...statements)),
  } as Transaction;
  let result: Result;
  try {
    result = await work(tx);
  } catch (error) {
    await (answer ?? ask());
    throw error;
  }
  await (answer ?? ask());
  return result;
}

async function exchange<Row>(
  session: Session,
  entry: Entry<Row>,
  statements: Statement[],
): Promise<unknown[][]> {
  const { answers, failure } = await session.exchange(entry.statement, ...statements);
  if (!session.isIdle) {
    doubt(session, 'a transaction did not end with its exchange');
  }
  const [entered, ...others] = answers;
  if (entered === undefined) {
    throw failure;
  }
  acceptEntry(session, entry, entered);
  if (failure !== undefined) {
    throw failure;
  }
  return others.map(({ rows }) => rows);
}
