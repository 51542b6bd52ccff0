import { WrongResult } from './errors.js';
import { type Statement, sql } from './sql.js';

/** The first step of every statement or transaction: it sets the settings that the policies read, and returns what it set. */
export interface Context<Accepted> {
  /** The tenant by which the pool queues and limits the request. */
  tenant: string;
  /** Whether the caller sent no token: the work of all such callers has one connection of its own. */
  isAnonymous?: boolean;
  /**
   * The select list of one row, with its `from` clause where it needs one. Its column `accepted` says whether the query or
   * the work may run.
   */
  sql: Statement;
  /**
   * Checks the row, and returns what the work needs of it.
   *
   * @throws WrongResult when the row belongs to another context; otherwise the reason why it is not accepted
   */
  parse(row: Record<string, unknown>): Accepted;
}

/** The number of contexts so far. Each sends its number and expects it back in the result. */
let requests = 0;

/** A context that is sent once. */
export interface SentContext<Accepted> {
  /** A common table expression of one row. */
  row: Statement;
  /** @throws WrongResult when the row is of another request; what `Context.parse` throws */
  parse(row: Record<string, unknown> | undefined): Accepted;
}

/**
 * Numbers a context, to match its result with it.
 *
 * @param settings further items of the select list
 */
export function numbered<Accepted>(context: Context<Accepted>, settings = sql``): SentContext<Accepted> {
  requests += 1;
  const request = String(requests);
  return {
    row: sql`with tenant_context as materialized (
  select ${request}::text as request, ${settings}
    ${context.sql}
)`,
    parse: (row) => {
      if (row?.request !== request) {
        throw new WrongResult();
      }
      return context.parse(row);
    },
  };
}
