import type { Connection, Result } from './connection.js';
import { type Context, numbered } from './context.js';
import { isStatementError, Unavailable, WrongResult } from './errors.js';
import { Json } from './json.js';
import { operation, type Query, type Statement, sql } from './sql.js';

/** An open transaction whose context is set. */
export interface Transaction<Accepted = unknown> {
  /** What `Context.parse` returned. */
  readonly context: Accepted;
  /**
   * Runs a statement after all earlier ones of this transaction.
   *
   * @throws postgres.PostgresError when the statement fails; every later statement then fails with the same error
   * @throws Unavailable when the connection is lost
   */
  query<Row extends object>(query: Query<Row>): Promise<Row[]>;
  /** Runs a statement whose rows are JSON: it ends with `asJson`. @throws what `query` throws */
  json<Row>(statement: Statement): Promise<Json<Row>[]>;
}

/** The access mode of a transaction. */
export type AccessMode = 'read only' | 'read write';

/** A reader has one snapshot for all its statements; each statement of a writer sees the latest committed rows. */
const BEGIN: Record<AccessMode, Statement> = {
  'read only': sql`begin isolation level repeatable read, read only`,
  'read write': sql`begin isolation level read committed, read write`,
};
const COMMIT = sql`commit`;
const ROLLBACK = sql`rollback`;

/**
 * Runs work inside one transaction: BEGIN, the context, the statements of the work, COMMIT.
 *
 * BEGIN and the context are sent together; the work begins when both results were checked. Each statement is sent when
 * the one before it has a result, and COMMIT when all have one. Work that catches the error of a statement still cannot
 * commit. When this function returns or throws, the server has confirmed COMMIT or ROLLBACK, or the connection is destroyed.
 *
 * @param name the operation, for the comment at the start of each statement
 * @throws what the work, `Context.parse` or a statement threw, after ROLLBACK; Unavailable when the connection was lost
 */
export async function runTransaction<Accepted, Result>(
  connection: Connection,
  mode: AccessMode,
  name: string,
  context: Context<Accepted>,
  work: (tx: Transaction<Accepted>) => Promise<Result>,
): Promise<Result> {
  const comment = operation(name);
  let result: Result;
  try {
    const accepted = await enter(connection, mode, comment, context);
    result = await runAll(new Statements(connection, comment, accepted), work);
  } catch (error) {
    await rollBack(connection, connection.query(ROLLBACK));
    throw error;
  }
  await commit(connection);
  return result;
}

/** Runs the work, and waits for every statement that it sent. */
async function runAll<Accepted, Result>(
  statements: Statements<Accepted>,
  work: (tx: Transaction<Accepted>) => Promise<Result>,
): Promise<Result> {
  try {
    const result = await work(statements);
    await statements.settled();
    return result;
  } catch (error) {
    await statements.settled().catch(() => {});
    throw error;
  }
}

/** Sends the statements of a transaction, one after another. */
class Statements<Accepted> implements Transaction<Accepted> {
  readonly context: Accepted;
  readonly #connection: Connection;
  readonly #name: Statement;
  /** Settles when the latest statement has a result; after a failure no later one is sent. */
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(connection: Connection, name: Statement, context: Accepted) {
    this.#connection = connection;
    this.#name = name;
    this.context = context;
  }

  query<Row extends object>(query: Query<Row>): Promise<Row[]> {
    if (this.#isOver) {
      return Promise.reject(new Error('The transaction has ended. Await every query inside the work.'));
    }
    const statement = sql`${this.#name} ${query}`;
    const rows = this.#last.then(() => this.#connection.query<Row>(statement));
    // `settled` reports the failure, even if the work does not await the query.
    rows.catch(() => {});
    this.#last = rows;
    return rows;
  }

  async json<Row>(statement: Statement): Promise<Json<Row>[]> {
    const rows = await this.query<{ json: string }>(statement);
    return rows.map(({ json }) => new Json<Row>(json));
  }

  /** Resolves when every statement has a result; rejects with the first failure. Later queries are rejected. */
  async settled(): Promise<void> {
    this.#isOver = true;
    await this.#last;
  }
}

async function enter<Accepted>(
  connection: Connection,
  mode: AccessMode,
  name: Statement,
  context: Context<Accepted>,
): Promise<Accepted> {
  const sent = numbered(context);
  const [begun, entered] = await Promise.allSettled([
    connection.query(BEGIN[mode]),
    connection.query<{ tenant_context?: Record<string, unknown> }>(
      sql`${name} ${sent.row} select row_to_json(tenant_context) as tenant_context from tenant_context`,
    ),
  ]);
  if (begun.status === 'rejected') {
    if (isStatementError(begun.reason)) {
      // For example on a standby. The statement that was sent with BEGIN ran outside of the transaction and changed nothing.
      connection.destroy(begun.reason);
      throw new Unavailable('The server did not begin a transaction.', 'no', { cause: begun.reason });
    }
    throw begun.reason;
  }
  expectTag(connection, begun.value, 'BEGIN');
  if (entered.status === 'rejected') {
    throw entered.reason;
  }
  try {
    return sent.parse(entered.value[0]?.tenant_context);
  } catch (error) {
    if (error instanceof WrongResult) {
      connection.destroy(error);
    }
    throw error;
  }
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

/** Destroys the connection after a command tag other than the expected one: its state is unknown. */
function expectTag(
  connection: Connection,
  { command }: Result,
  tag: string,
  committed: 'no' | 'unknown' = 'no',
): void {
  if (command !== tag) {
    const cause = new Error(`${tag} returned ${command}`);
    connection.destroy(cause);
    throw new Unavailable('The connection to the database returned results out of order.', committed, {
      cause,
    });
  }
}
