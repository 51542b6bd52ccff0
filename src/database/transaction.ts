import type { Connection, Result } from './connection.js';
import { isStatementError, Unavailable } from './errors.js';
import type { Entry } from './read.js';
import { operation, type Query, type Statement, sql } from './sql.js';

/**
 * What queries of a write need, and all they get: a transaction that has entered its context.
 */
export interface Transaction {
  /**
   * Runs a statement behind all earlier ones of this transaction.
   *
   * @throws postgres.PostgresError when the server refuses it; every later statement then fails the same way
   * @throws Unavailable when the connection is lost
   */
  query<Row>(query: Query<Row>): Promise<Row[]>;
}

export type Mode = 'read only' | 'read write';

/** One snapshot for all statements of a reader, so that their answers agree; writers see what is newest. */
const BEGIN: Record<Mode, Statement> = {
  'read only': sql`begin isolation level repeatable read, read only`,
  'read write': sql`begin isolation level read committed, read write`,
};
const COMMIT = sql`commit`;
const ROLLBACK = sql`rollback`;

/**
 * Runs work inside one transaction: BEGIN, the entry, the work's statements, COMMIT.
 *
 * BEGIN, the entry and the first statement leave together, and no row is believed before the answers of the first two
 * are checked. Every later statement leaves when the one before it was answered, and COMMIT when all of them were. A
 * failure is sticky: work that swallows one cannot commit. When this returns or throws, the server has said COMMIT or
 * ROLLBACK, or the connection is destroyed.
 *
 * @param accept looks at the context; throws to refuse the transaction
 * @throws what the work, `accept` or a statement threw, after ROLLBACK; Unavailable when the connection was lost
 */
export async function runTransaction<Context, Result>(
  connection: Connection,
  mode: Mode,
  name: string,
  entry: Entry<Context>,
  accept: (context: Context) => void,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const statements = new Statements(connection, mode, name, entry, accept);
  let result: Result;
  try {
    result = await work(statements);
    await statements.settled();
  } catch (error) {
    await statements.settled().catch(() => {});
    // Why the entry was refused comes before what the work made of having no rows.
    const refusal = await statements.refusal();
    await rollBack(connection, connection.query(ROLLBACK));
    throw refusal ?? error;
  }
  await commit(connection);
  return result;
}

/** The statements of a transaction, one after another. */
class Statements implements Transaction {
  readonly #connection: Connection;
  readonly #name: Statement;
  readonly #entered: Promise<void>;
  /** Resolves when every statement so far was answered. */
  #last: Promise<unknown> | undefined;
  #isOver = false;

  constructor(
    connection: Connection,
    mode: Mode,
    name: string,
    entry: Entry<never>,
    accept: (context: never) => void,
  ) {
    this.#connection = connection;
    this.#name = operation(name);
    this.#entered = handled(enter(connection, mode, this.#name, entry, accept));
  }

  query<Row>(query: Query<Row>): Promise<Row[]> {
    if (this.#isOver) {
      return Promise.reject(new Error('The transaction is over; its work must await every query.'));
    }
    const statement = sql`${this.#name} ${query}`;
    const rows =
      this.#last === undefined ? this.#first<Row>(statement) : this.#next<Row>(this.#last, statement);
    this.#last = handled(rows);
    return rows;
  }

  /** Resolves when every statement was answered; rejects with the first failure. No query after this. */
  async settled(): Promise<void> {
    this.#isOver = true;
    await this.#entered;
    await this.#last;
  }

  /** Why the transaction was not entered, if it was not. */
  async refusal(): Promise<unknown> {
    return this.#entered.then(
      () => undefined,
      (reason: unknown) => reason,
    );
  }

  async #first<Row>(statement: Statement): Promise<Row[]> {
    const rows = handled(this.#connection.query<Row>(statement));
    await this.#entered;
    return rows;
  }

  async #next<Row>(last: Promise<unknown>, statement: Statement): Promise<Row[]> {
    await last;
    return this.#connection.query<Row>(statement);
  }
}

async function enter<Context>(
  connection: Connection,
  mode: Mode,
  name: Statement,
  entry: Entry<Context>,
  accept: (context: Context) => void,
): Promise<void> {
  const begun = handled(connection.query(BEGIN[mode]));
  const entered = handled(connection.query<Context>(sql`${name} select ${entry.columns}`));
  try {
    expectTag(connection, await begun, 'BEGIN');
  } catch (error) {
    if (isStatementError(error)) {
      // As a standby refuses to begin a write. What left behind BEGIN found no context, so it did nothing.
      connection.destroy(error);
      throw new Unavailable('The server did not begin a transaction.', 'no', { cause: error });
    }
    throw error;
  }
  const [context] = await entered;
  if (context === undefined || !entry.verify(context)) {
    throw violation(connection, 'the entry was answered with another one');
  }
  accept(context);
}

async function commit(connection: Connection): Promise<void> {
  if (connection.isDestroyed) {
    throw new Unavailable('The connection was lost before COMMIT.');
  }
  let result: Result;
  try {
    result = await connection.query(COMMIT);
  } catch (error) {
    if (!isStatementError(error)) {
      throw new Unavailable('The connection was lost during COMMIT.', 'unknown', { cause: error });
    }
    // A deferred constraint refused, and nothing was kept. The tag of a ROLLBACK is the server's word for it.
    await rollBack(connection, connection.rollbackAfterFailedCommit(ROLLBACK));
    throw error;
  }
  if (result.command === 'ROLLBACK') {
    throw new Unavailable('The transaction was rolled back by the server.');
  }
  expectTag(connection, result, 'COMMIT', 'unknown');
}

/** Destroys the connection unless the server says ROLLBACK: it may still be inside the transaction. */
async function rollBack(connection: Connection, sent: Promise<Result>): Promise<void> {
  try {
    expectTag(connection, await sent, 'ROLLBACK');
  } catch (error) {
    connection.destroy(error as Error);
  }
}

function expectTag(
  connection: Connection,
  { command }: Result,
  tag: string,
  committed: 'no' | 'unknown' = 'no',
): void {
  if (command !== tag) {
    throw violation(connection, `${tag} was answered with ${command}`, committed);
  }
}

/** Destroys a connection whose state is unknown. */
function violation(connection: Connection, reason: string, committed: 'no' | 'unknown' = 'no'): Unavailable {
  const cause = new Error(reason);
  connection.destroy(cause);
  return new Unavailable('The connection to the database answered out of turn.', committed, { cause });
}

/** Marks a promise as handled; `settled` reports its rejection. */
function handled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}
