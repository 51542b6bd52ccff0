import pg from 'pg';
import type { CommandCompleteMessage, RowDescriptionMessage } from 'pg-protocol/dist/messages';
import { serialize } from 'pg-protocol/dist/serializer';
import type { Connection, RowReader } from './client.js';
import { again, first, once, type Prepared, prepared } from './prepared.js';
import { type Column, columnsOf, type Piece, readRow } from './rows.js';
import type { Statement } from './sql.js';

/** What the server said of one statement. */
export interface Answer {
  /** The command tag, such as `COMMIT` or `INSERT 0 1`. */
  tag: string;
  rows: Record<string, unknown>[];
}

/** What the server said of statements that were sent together. */
export interface Outcome {
  /** Of each statement that it completed, in order. */
  answers: Answer[];
  /** Why it did not complete the one after those. It has run nothing behind that one. */
  failure: pg.DatabaseError | undefined;
}

/** What a session has prepared, and the columns of each. */
export type Layouts = Map<Prepared, Column[]>;

const SYNC = serialize.sync();

/**
 * Statements that leave in one piece behind one Sync, so that PostgreSQL runs them in a row, answers in one piece,
 * and runs nothing behind the first that fails.
 *
 * It is a query of the driver's, which calls `submit` when it is its turn and then hands over each message
 * (https://www.postgresql.org/docs/current/protocol-flow.html, "Extended Query").
 */
export class Exchange implements pg.Submittable, RowReader {
  readonly #statements: Statement[];
  readonly #layouts: Layouts | undefined;
  readonly #onEnd: (outcome: Outcome | Error) => void;
  readonly #columns: Column[][] = [];
  readonly #tags: string[] = [];
  readonly #rows: Record<string, unknown>[][] = [[]];
  /** Why a row could not be read. */
  #unreadable: Error | undefined;
  /** What the server refused with. It may still hang up: then it was not only this statement. */
  failure: pg.DatabaseError | undefined;

  /**
   * @param layouts of the session; undefined when it prepares nothing
   * @param onEnd called with what the server said, or why nobody knows
   */
  constructor(
    statements: Statement[],
    layouts: Layouts | undefined,
    onEnd: (outcome: Outcome | Error) => void,
  ) {
    this.#statements = statements;
    this.#layouts = layouts;
    this.#onEnd = onEnd;
  }

  submit(connection: Connection): Error | null {
    try {
      connection.rowReader = this;
      connection.stream.write(Buffer.concat([...this.#statements.flatMap(this.#ask, this), SYNC]));
      return null;
    } catch (error) {
      return error as Error;
    }
  }

  handleRowDescription({ fields }: RowDescriptionMessage): void {
    this.#columns[this.#tags.length] = columnsOf(fields);
    this.#keep();
  }

  readRow(piece: Piece, at: number): void {
    const index = this.#tags.length;
    try {
      this.#rows[index]?.push(readRow(this.#columns[index] as Column[], piece, at));
    } catch (error) {
      this.#unreadable = error as Error;
    }
  }

  handleDataRow = (): void => this.#onEnd(new Error('the driver read a row'));

  handleCommandComplete({ text }: CommandCompleteMessage): void {
    this.#columns[this.#tags.length] ??= [];
    this.#keep();
    this.#tags.push(text);
    this.#rows.push([]);
  }

  handleReadyForQuery(connection: Connection): void {
    // A row that nobody asked for is the driver's to doubt.
    connection.rowReader = undefined;
    this.#onEnd(this.#unreadable ?? this.#outcome());
  }

  /** Called with what the server refuses with, and with what becomes of the connection. */
  handleError(error: Error, connection: Connection): void {
    if (error instanceof pg.DatabaseError) {
      // Not by the severity, which is in the server's language: after an ERROR it is ready for the next query, after a
      // FATAL it hangs up.
      this.failure = error;
      connection.once('readyForQuery', () => this.handleReadyForQuery(connection));
    } else {
      this.#onEnd(error);
    }
  }

  // What no statement of this service leads to.
  handleEmptyQuery = (): void => this.#onEnd(new Error('the server saw an empty statement'));
  handlePortalSuspended = (): void => this.#onEnd(new Error('the server kept rows back'));
  handleCopyInResponse = (): void => this.#onEnd(new Error('the server asked for data'));
  handleCopyData = (): void => this.#onEnd(new Error('the server sent data'));

  #ask(statement: Statement, index: number): Buffer[] {
    const one = prepared(statement);
    if (this.#layouts === undefined) {
      return once(one, statement);
    }
    const columns = this.#layouts.get(one);
    if (columns === undefined) {
      return first(one, statement);
    }
    this.#columns[index] = columns;
    return again(one, statement);
  }

  #outcome(): Outcome | Error {
    const { failure } = this;
    if (failure === undefined && this.#tags.length !== this.#statements.length) {
      return new Error(`the server answered ${this.#tags.length} of ${this.#statements.length} statements`);
    }
    const answers = this.#tags.map((tag, index) => ({ tag, rows: this.#rows[index] ?? [] }));
    return { answers, failure };
  }

  /** Remembers that the statement under way is prepared, and its columns. */
  #keep(): void {
    const index = this.#tags.length;
    this.#layouts?.set(prepared(this.#statements[index] as Statement), this.#columns[index] as Column[]);
  }
}
