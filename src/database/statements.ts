import type { Outcome } from './exchange.js';
import type { Session } from './session.js';
import type { Statement } from './sql.js';

/** The chain of a transaction's statements. */
export class Statements {
  readonly #session: Session;
  readonly #begin: (first: Statement[]) => Promise<Outcome>;
  #begun: Promise<Outcome> | undefined;
  #last: Promise<unknown[][]> | undefined;
  #over = false;

  /** @param begin begins the transaction, with its first statement if it has one */
  constructor(session: Session, begin: (first: Statement[]) => Promise<Outcome>) {
    this.#session = session;
    this.#begin = begin;
  }

  query<Row>(statement: Statement): Promise<Row[]> {
    return told(this.#ask([statement]).then(([rows]) => rows as Row[]));
  }

  queryAll<Rows extends unknown[][]>(...statements: { [Index in keyof Rows]: Statement }): Promise<Rows> {
    return told(this.#ask(statements)) as Promise<Rows>;
  }

  /** Resolves when every statement has been answered; rejects with the first failure. No query after this. */
  async settled(): Promise<void> {
    this.#over = true;
    this.#begun ??= this.#begin([]);
    await this.#begun;
    await this.#last;
  }

  /** Why the transaction was not entered, if it was not. */
  async refusal(): Promise<unknown> {
    return this.#begun?.then(
      () => undefined,
      (reason: unknown) => reason,
    );
  }

  #ask(statements: Statement[]): Promise<unknown[][]> {
    if (this.#over) {
      return Promise.reject(new Error('The transaction is over; its work must await every query.'));
    }
    this.#last = told(
      this.#last === undefined ? this.#first(statements) : this.#next(this.#last, statements),
    );
    return this.#last;
  }

  async #first(statements: Statement[]): Promise<unknown[][]> {
    this.#begun = this.#begin(statements);
    return rowsOf(await this.#begun);
  }

  async #next(last: Promise<unknown>, statements: Statement[]): Promise<unknown[][]> {
    await last;
    return rowsOf(await this.#session.exchange(...statements));
  }
}

function rowsOf({ answers, failure }: Outcome): unknown[][] {
  if (failure !== undefined) {
    throw failure;
  }
  return answers.map(({ rows }) => rows);
}

/** An answer whose failure is told at the end, whether or not the work awaits it: it must not end the process. */
export function told<Value>(answer: Promise<Value>): Promise<Value> {
  answer.catch(() => {});
  return answer;
}
