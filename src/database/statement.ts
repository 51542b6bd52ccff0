import type { Connection } from './connection.js';
import { type Context, numbered, type SentContext } from './context.js';
import { Unavailable, WrongResult } from './errors.js';
import { Json } from './json.js';
import { operation, type Query, type Statement, sql } from './sql.js';

/** A read cannot write. A call evaluates one function that writes. */
export type StatementMode = 'read' | 'call';

/** What the context accepted, and the rows of the query. */
export interface StatementResult<Accepted, Row> {
  context: Accepted;
  rows: Json<Row>[];
}

/**
 * The two columns of every statement, of type json and text; do not change them. When result types change, the driver repeats the
 * statement after those in flight, and results would reach the wrong reads. A column without valid JSON is undefined.
 */
interface ResultRow {
  tenant_context?: Record<string, unknown>;
  result?: string | null;
}

const READ_ONLY = sql`set_config('transaction_read_only', 'on', true) as read_only,`;
const READ_WRITE = sql``;
/** Separates the rows of a result. JSON has no such character: in a text it is escaped, and white space has none. */
const SEPARATOR = String.fromCharCode(30);

/**
 * Reads, or calls a function that writes, with one statement, which PostgreSQL runs as one transaction: it sets the context,
 * evaluates the query if the context is accepted, and returns JSON. No state remains on the connection, so reads of several
 * tenants may be in flight on one connection.
 *
 * @param name the operation, for the comment at the start of the statement
 * @throws what `Context.parse` throws, postgres.PostgresError when the statement fails, WrongResult and ConnectionLost; for a call
 *   Unavailable with an unknown outcome in place of the last two
 */
export async function runStatement<Accepted, Row>(
  connection: Connection,
  mode: StatementMode,
  name: string,
  context: Context<Accepted>,
  query: Query<Row>,
): Promise<StatementResult<Accepted, Row>> {
  const { statement, parse } = compose(mode, name, context, query);
  try {
    const results = await connection.query<ResultRow>(statement);
    // at(-1): if an error follows a row, the driver does not reset its row index, and the next result starts at a higher one.
    const { tenant_context: row, result }: ResultRow = results.at(-1) ?? {};
    const accepted = parse(row);
    if (typeof result !== 'string') {
      throw new WrongResult();
    }
    return {
      context: accepted,
      rows: result === '' ? [] : result.split(SEPARATOR).map((text) => new Json<Row>(text)),
    };
  } catch (error) {
    if (error instanceof WrongResult) {
      connection.destroy(error);
    }
    throw mode === 'call' && error instanceof Unavailable
      ? new Unavailable('The connection to the database was lost during the call.', 'unknown', {
          cause: error,
        })
      : error;
  }
}

/** Composes the statement of a read or a call, and the check of the context in its result. */
export function compose<Accepted>(
  mode: StatementMode,
  name: string,
  context: Context<Accepted>,
  query: Query<unknown>,
): { statement: Statement; parse: SentContext<Accepted>['parse'] } {
  const { row, parse } = numbered(context, mode === 'read' ? READ_ONLY : READ_WRITE);
  // Deploys and the entry of every transaction lock app.members first, and PostgreSQL locks the tables of a statement before it
  // runs. The join gives the same lock order here, which avoids deadlocks. It reads no rows.
  const statement = sql`${operation(name)}
${row}
select row_to_json(tenant_context) as tenant_context,
  case when tenant_context.accepted
    then (select coalesce(string_agg(row_to_json(result)::text, chr(30)), '') from (${query}) as result) end as result
from tenant_context left join app.members as locked_first on false`;
  return { statement, parse };
}
