import type { Connection, Result } from './connection.js';
import { isStatementError, Unavailable } from './errors.js';
import type { Entry } from './read.js';
import { operation, type Query, type Statement, sql } from './sql.js';

/** An open transaction whose context is set. */
export interface Transaction<Accepted = unknown> {
  /** What `accept` returned for the context. Await it after a query, because the first query is sent with the entry. */
  readonly entered: Promise<Accepted>;
  /**
   * Runs a statement after all earlier ones of this transaction.
   *
   * @throws postgres.PostgresError when the statement fails; every later statement then fails with the same error
   * @throws Unavailable when the connection is lost
   */
  query<Row extends object>(query: Query<Row>): Promise<Row[]>;
}

export type Mode = 'read only' | 'read write';

/** A reader has one snapshot for all its statements; each statement of a writer sees the latest committed rows. */
const BEGIN: Record<Mode, Statement> = {
  'read only': sql`begin isolation level repeatable read, read only`,
  'read write': sql`begin isolation level read committed, read write`,
};
const COMMIT = sql`commit`;
const ROLLBACK = sql`rollback`;

/**
 * Runs work inside one transaction: BEGIN, the entry, the work's statements, COMMIT.
 *
 * BEGIN, the entry and the first statement are sent together; rows are returned only after the results of BEGIN and the
 * entry were checked. Each later statement is sent when the one before it has a result, and COMMIT when all have one.
 * Work that catches the error of a statement still cannot commit. When this function returns or throws, the server has
 * confirmed COMMIT or ROLLBACK, or the connection is destroyed.
 *
 * @param accept checks the context and returns what the work needs of it; throws to reject the transaction
 * @throws what the work, `accept` or a statement threw, after ROLLBACK; Unavailable when the connection was lost
 */
export async function runTransaction<Context extends object, Accepted, Result>(
  connection: Connection,
  mode: Mode,
  name: string,
  entry: Entry<Context>,
  accept: (context: Context) => Accepted,
  work: (tx: Transaction<Accepted>) => Promise<Result>,
): Promise<Result> {
  const comment = operation(name);
  const entered = handled(enter(connection, mode, comment, entry, accept));
  const statements = new Statements(connection, comment, entered);
  let result: Result;
  try {
    result = await work(statements);
    await statements.settled();
  } catch (error) {
    await statements.settled().catch(() => {});
    // The error of the entry is the cause; the error of the work follows from it.
    const entryError = await statements.entryError();
    await rollBack(connection, connection.query(ROLLBACK));
    throw entryError ?? error;
  }
  await commit(connection);
  return result;
}

/** Sends the statements of a transaction, one after another. */
class Statements<Accepted> implements Transaction<Accepted> {
  readonly entered: Promise<Accepted>;
  readonly #connection: Connection;
  readonly #name: Statement;
  /** Settles when the latest statement has a result. */
  #last: Promise<unknown> | undefined;
  #isOver = false;

  constructor(connection: Connection, name: Statement, entered: Promise<Accepted>) {
    this.#connection = connection;
    this.#name = name;
    this.entered = entered;
  }

  query<Row extends object>(query: Query<Row>): Promise<Row[]> {
    if (this.#isOver) {
      return Promise.reject(new Error('The transaction has ended. Await every query inside the work.'));
    }
    const statement = sql`${this.#name} ${query}`;
    const rows =
      this.#last === undefined ? this.#first<Row>(statement) : this.#next<Row>(this.#last, statement);
    this.#last = handled(rows);
    return rows;
  }

  /** Resolves when every statement has a result; rejects with the first failure. Later queries are rejected. */
  async settled(): Promise<void> {
    this.#isOver = true;
    await this.entered;
    await this.#last;
  }

  /** The error of BEGIN or the entry; undefined when both succeeded. */
  async entryError(): Promise<unknown> {
    return this.entered.then(
      () => undefined,
      (reason: unknown) => reason,
    );
  }

  async #first<Row extends object>(statement: Statement): Promise<Row[]> {
    const rows = handled(this.#connection.query<Row>(statement));
    await this.entered;
    return rows;
  }

  async #next<Row extends object>(last: Promise<unknown>, statement: Statement): Promise<Row[]> {
    await last;
    return this.#connection.query<Row>(statement);
  }
}

async function enter<Context extends object, Accepted>(
  connection: Connection,
  mode: Mode,
  name: Statement,
  entry: Entry<Context>,
  accept: (context: Context) => Accepted,
): Promise<Accepted> {
  const begun = handled(connection.query(BEGIN[mode]));
  const entered = handled(connection.query<Context>(sql`${name} select ${entry.columns}`));
  try {
    expectTag(connection, await begun, 'BEGIN');
  } catch (error) {
    if (isStatementError(error)) {
      // For example on a standby. The statements that were sent with BEGIN ran without a context and changed nothing.
      connection.destroy(error);
      throw new Unavailable('The server did not begin a transaction.', 'no', { cause: error });
    }
    throw error;
  }
  const [context] = await entered;
  if (context === undefined || !entry.verify(context)) {
    throw violation(connection, 'the entry was answered with another one');
  }
  return accept(context);
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
    // For example a deferred constraint failed. The command tag ROLLBACK confirms that nothing was committed.
    await rollBack(connection, connection.rollbackAfterFailedCommit(ROLLBACK));
    throw error;
  }
  if (result.command === 'ROLLBACK') {
    throw new Unavailable('The transaction was rolled back by the server.');
  }
  expectTag(connection, result, 'COMMIT', 'unknown');
}

/** Destroys the connection unless the server confirms ROLLBACK, because the transaction may still be open. */
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

/** Destroys a connection after a protocol violation: its state is unknown. */
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
