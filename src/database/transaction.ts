import { Unavailable } from './failures.js';
import type { Session } from './session.js';
import type { Statement } from './sql.js';

/**
 * What queries need, and all they get: a transaction that has entered its context.
 *
 * Only `runTransaction` makes one, so a query outside of a transaction does not compile.
 */
export interface Transaction {
  /**
   * Runs a statement after all earlier ones of this transaction.
   *
   * @throws postgres.PostgresError when the server refuses it; every later statement then fails the same way
   * @throws Unavailable when the connection is lost
   */
  query<Row>(statement: Statement): Promise<Row[]>;
}

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

/** One snapshot for all statements of a reader, so that what they answer agrees; writers see what is newest. */
const BEGIN = {
  'read only': 'begin isolation level repeatable read, read only',
  'read write': 'begin isolation level read committed, read write',
} as const;

export type Mode = keyof typeof BEGIN;

/**
 * Runs work inside one transaction: BEGIN, the entry, the work's statements, COMMIT.
 *
 * The work's first statement leaves in one flush with BEGIN and the entry, whose answers are checked before it
 * sees a row: with BEGIN failing, nothing behind it finds a tenant, because the accessors in SQL raise. Every
 * other statement leaves when the one before it has been answered, and COMMIT when all of them have, so a write
 * is never half kept. A failure is sticky: work that swallows one cannot commit.
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
  const begun = session.command(BEGIN[mode]);
  const entered = session.send<Row>(entry.statement);
  const confirmed = confirm(session, begun, entered, entry);
  const statements = new Statements(session, confirmed);
  let result: Result;
  try {
    result = await work(statements);
    await statements.settled();
  } catch (error) {
    await statements.settled().catch(() => {});
    // Why the entry was refused comes before what the work made of having no rows.
    const refusal = await confirmed.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    await finish(session, 'rollback').catch(() => {});
    throw refusal ?? error;
  }
  const ended = finish(session, 'commit');
  if (mode === 'read only' && session.ownsBackend) {
    // A reader has nothing to keep, so its answer need not wait. COMMIT leaves in one flush with the BEGIN of whoever
    // borrows the session next, and a wrong answer to it loses the session under them, before they believe a row.
    ended.catch(() => {});
    return result;
  }
  await ended;
  return result;
}

async function confirm<Row>(
  session: Session,
  begun: Promise<string>,
  entered: Promise<Row[]>,
  entry: Entry<Row>,
) {
  entered.catch(() => {});
  const tag = await begun.catch((error: Error) => {
    // A standby refuses to begin a write: what left behind BEGIN ran outside of a transaction, in no club.
    session.lose(error);
    throw new Unavailable('The server did not begin a transaction.', 'nothing', { cause: error });
  });
  if (tag !== 'BEGIN') {
    doubt(session, `BEGIN was answered with ${tag}`);
  }
  const [row] = await entered;
  if (row === undefined || !entry.isEcho(row)) {
    doubt(session, 'the entry was answered with another one');
  }
  entry.accept(row);
}

/** Ends the transaction by the server's own word; anything else loses the session. */
async function finish(session: Session, command: 'commit' | 'rollback'): Promise<void> {
  const wasLost = session.lost;
  let tag: string;
  try {
    tag = await session.command(command);
  } catch (error) {
    if (error instanceof Unavailable) {
      throw command === 'commit' && !wasLost
        ? new Unavailable('The connection was lost during COMMIT.', 'unknown', { cause: error })
        : error;
    }
    // COMMIT was refused, as a deferred constraint would: nothing was kept.
    session.lose(error as Error);
    throw error;
  }
  if (tag === 'ROLLBACK' && command === 'commit') {
    // The server had seen a failure that we had not.
    throw new Unavailable('The transaction was rolled back by the server.');
  }
  if (tag !== command.toUpperCase()) {
    doubt(session, `${command} was answered with ${tag}`);
  }
}

function doubt(session: Session, reason: string): never {
  const error = new Error(reason);
  session.lose(error);
  throw new Unavailable('The connection to the database answered out of turn.', 'unknown', { cause: error });
}

/** The chain of a transaction's statements. */
class Statements implements Transaction {
  readonly #session: Session;
  readonly #confirmed: Promise<void>;
  #last: Promise<unknown>;
  #started = false;
  #over = false;

  constructor(session: Session, confirmed: Promise<void>) {
    this.#session = session;
    this.#confirmed = confirmed;
    this.#last = confirmed;
    // Reported by the statements and by settled(); never as an unhandled rejection.
    confirmed.catch(() => {});
  }

  query<Row>(statement: Statement): Promise<Row[]> {
    if (this.#over) {
      const refused = Promise.reject(new Error('The transaction is over; its work must await every query.'));
      // Work that does not even await this must not end the process for everybody.
      refused.catch(() => {});
      return refused;
    }
    const answer = this.#started ? this.#next<Row>(statement) : this.#first<Row>(statement);
    this.#started = true;
    this.#last = answer;
    answer.catch(() => {});
    return answer;
  }

  /** Resolves when every statement has been answered; rejects with the first failure. No query after this. */
  async settled(): Promise<void> {
    this.#over = true;
    await this.#last;
  }

  /** Leaves behind BEGIN and the entry; its rows are believed after theirs. */
  async #first<Row>(statement: Statement): Promise<Row[]> {
    const rows = this.#session.send<Row>(statement);
    rows.catch(() => {});
    await this.#confirmed;
    return rows;
  }

  async #next<Row>(statement: Statement): Promise<Row[]> {
    await this.#last;
    return this.#session.send<Row>(statement);
  }
}
