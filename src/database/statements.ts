import type { Outcome } from './exchange.js';
import type { Session } from './session.js';
import type { Statement } from './sql.js';

/** The chain of a transaction's statements. */
export class Statements {
  readonly #session: Session;
  readonly #begin: (first: Statement[]) => Promise<Outcome>;
  #begun: Promise<Outcome> | undefined;
  #last: Promise<unknown> | undefined;
  #over = false;

  /** @param begin begins the transaction, with its first statement if it has one */
  constructor(session: Session, begin: (first: Statement[]) => Promise<Outcome>) {
    this.#session = session;
    this.#begin = begin;
  }

  query<Row>(statement: Statement): Promise<Row[]> {
    if (this.#over) {
      const refused = Promise.reject(new Error('The transaction is over; its work must await every query.'));
      // Work that does not even await this must not end the process for everybody.
      refused.catch(() => {});
      return refused;
    }
    const answer = this.#last === undefined ? this.#first(statement) : this.#next(this.#last, statement);
    this.#last = answer;
    // Reported by settled(), whether or not the work awaits it.
    answer.catch(() => {});
    return answer as Promise<Row[]>;
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

  async #first(statement: Statement): Promise<unknown[]> {
    this.#begun = this.#begin([statement]);
    const { answers, failure } = await this.#begun;
    if (failure !== undefined) {
      throw failure;
    }
    return answers[0]?.rows ?? [];
  }

  async #next(last: Promise<unknown>, statement: Statement): Promise<unknown[]> {
    await last;
    const { rows } = await this.#session.send(statement);
    return rows;
  }
}
