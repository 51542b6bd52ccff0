import { ConnectionLost, Unavailable } from './errors.js';
import type { Lease, LeaseKind, Pool } from './pool.js';
import { operation, type Query, type Statement, sql } from './sql.js';

/** What a read or a transaction begins with: it sets the context of the database and says what it set. */
export interface Entry<Context> {
  /** Whose turn it is in the queue. */
  tenant: string;
  /** The select list of one row, with what it needs behind `from`; the row is the context. */
  columns: Statement;
  /** Whether the context is that of this entry; anything else is a protocol violation. */
  verify: (context: Context) => boolean;
}

export interface ReadOptions {
  /** For the comment that the statement begins with. */
  operation: string;
  /** The condition over the row `tenant_context` under which the query is evaluated. */
  condition: Statement;
  lease: LeaseKind;
}

/** What was entered, and the rows; undefined where the condition did not hold, and nothing was read then. */
export interface Answer<Context, Row> {
  context: Context;
  rows: Row[] | undefined;
}

/** A read with both attempts, from its first lease on. */
const DEADLINE_MS = 5_000;
/** One attempt on a shared connection: above the lock_timeout of the role (3 s), so that a lock costs no connection. */
const SHARED_ATTEMPT_MS = 3_500;
const ATTEMPTS = 2;
const OVERDUE = 'A read took too long.';

/** Numbers the reads, so that each answer names its question. */
let requests = 0;

/**
 * Reads with one statement, which PostgreSQL runs as one transaction: it sets the context, then evaluates the query
 * where the context meets the condition, and answers with JSON. Nothing else is sent, and no state stays behind, so
 * reads of several tenants may be in flight on one connection.
 *
 * A read whose connection was lost by another's doing is sent once more; one that is overdue is not.
 *
 * @throws Unavailable; UnsafeDatabase; postgres.PostgresError when the server refuses the statement
 */
export async function read<Context, Row>(
  pool: Pool,
  entry: Entry<Context>,
  query: Query<Row>,
  options: ReadOptions,
): Promise<Answer<Context, Row>> {
  let deadline: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const lease = await pool.acquire(options.lease, entry.tenant);
    deadline ??= lease.since + DEADLINE_MS;
    try {
      return await readOn(lease, entry, query, options, deadline - performance.now());
    } catch (error) {
      if (!(error instanceof ConnectionLost) || attempt >= ATTEMPTS) {
        throw error;
      }
    } finally {
      pool.release(lease);
    }
  }
}

async function readOn<Context, Row>(
  { connection, kind }: Lease,
  entry: Entry<Context>,
  query: Query<Row>,
  options: ReadOptions,
  leftMs: number,
): Promise<Answer<Context, Row>> {
  if (leftMs <= 0) {
    throw new Unavailable(OVERDUE);
  }
  const give = (reason: string) => {
    const error = new Unavailable(reason);
    connection.destroy(error);
    return error;
  };
  let overdue: Unavailable | undefined;
  const timer = setTimeout(
    () => {
      overdue = give(OVERDUE);
    },
    kind === 'shared' ? Math.min(SHARED_ATTEMPT_MS, leftMs) : leftMs,
  );
  requests += 1;
  const request = String(requests);
  try {
    const result = await connection.query<ReadRow>(readStatement(request, entry, query, options));
    // The last row: an error behind a row would leave the driver's count of rows where it was.
    const answer = parse<Context, Row>(result.at(-1));
    if (answer?.context.request !== request || !entry.verify(answer.context)) {
      throw give('The connection to the database answered another question.');
    }
    return answer;
  } catch (error) {
    throw overdue ?? error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The two columns of every read, for ever. With others a changed type would make the driver send the statement again
 * behind those in flight, and answers would reach the wrong questions.
 */
interface ReadRow {
  tenant_context: string;
  answer: unknown;
}

/** The one statement of a read. */
export function readStatement<Row>(
  request: string,
  { columns }: Entry<never>,
  query: Query<Row>,
  { operation: name, condition }: ReadOptions,
): Statement {
  // A deploy locks app.members first, as the entry of every write does, and PostgreSQL locks the tables of a statement
  // before it runs any of it: the join makes a read take its locks in this order too. It reads nothing.
  return sql`${operation(name)}
with tenant_context as materialized (
  select ${request}::text as request, set_config('transaction_read_only', 'on', true) as read_only,
    ${columns}
)
select row_to_json(tenant_context)::text as tenant_context,
  case when ${condition}
    then (select coalesce(json_agg(answer), '[]') from (${query}) as answer) end as answer
from tenant_context left join app.members as locked_first on false`;
}

function parse<Context, Row>(
  row: ReadRow | undefined,
): { context: Context & { request: string }; rows: Row[] | undefined } | undefined {
  if (typeof row?.tenant_context !== 'string' || row.answer === undefined) {
    return undefined;
  }
  try {
    const context = JSON.parse(row.tenant_context) as Context & { request: string };
    return { context, rows: (row.answer as Row[] | null) ?? undefined };
  } catch {
    return undefined;
  }
}
