import { ConnectionLost, Unavailable } from './errors.js';
import type { Lease, LeaseKind, Pool } from './pool.js';
import { operation, type Query, type Statement, sql } from './sql.js';

/** The first step of a read or a transaction: it sets the tenant context and returns what it set. */
export interface Entry<Context> {
  /** The tenant by which the pool queues and limits the request. */
  tenant: string;
  /** The select list of one row, with its `from` clause where it needs one; the row is the context. */
  columns: Statement;
  /** Correlation check: whether the context belongs to this entry. A mismatch is a protocol violation. */
  verify: (context: Context) => boolean;
}

export interface ReadOptions {
  /** The name in the comment at the start of the statement. */
  operation: string;
  /** The condition over the row `tenant_context` under which the query is evaluated. */
  condition: Statement;
  lease: LeaseKind;
}

/** The context and the rows; the rows are undefined when the condition was false and nothing was read. */
export interface Answer<Context, Row> {
  context: Context;
  rows: Row[] | undefined;
}

/** The limit for a read with both attempts, from its first lease. */
const DEADLINE_MS = 5_000;
/**
 * The limit for one attempt on a shared connection; above the role's lock_timeout (3 s), so one read that waits for a lock
 * destroys no connection.
 */
const SHARED_ATTEMPT_MS = 3_500;
const ATTEMPTS = 2;
const OVERDUE = 'A read took too long.';

/** The number of reads so far. Each read sends its number and expects it back in the result. */
let requests = 0;

/**
 * Reads with one statement, which PostgreSQL runs as one transaction: it sets the context, evaluates the query if the
 * context meets the condition, and returns JSON. No state remains on the connection, so reads of several tenants may be
 * in flight on one connection.
 *
 * A read that lost its connection because of another statement is sent once more; a read past its deadline is not.
 *
 * @throws Unavailable; UnsafeDatabase; postgres.PostgresError when the statement fails
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
  const destroyWith = (reason: string) => {
    const error = new Unavailable(reason);
    connection.destroy(error);
    return error;
  };
  let overdue: Unavailable | undefined;
  const timer = setTimeout(
    () => {
      overdue = destroyWith(OVERDUE);
    },
    kind === 'shared' ? Math.min(SHARED_ATTEMPT_MS, leftMs) : leftMs,
  );
  requests += 1;
  const request = String(requests);
  try {
    const statement = readStatement(request, entry, query, options);
    const result = await connection.query<ReadRow<Context, Row>>(statement);
    // at(-1): if an error follows a row, the driver does not reset its row index, and the next result starts at a higher one.
    const { tenant_context: context, answer }: ReadRow<Context, Row> = result.at(-1) ?? {};
    if (context?.request !== request || answer === undefined || !entry.verify(context)) {
      throw destroyWith('The connection to the database answered another question.');
    }
    return { context, rows: answer ?? undefined };
  } catch (error) {
    throw overdue ?? error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The two columns of every read, of type json; do not change them. When result types change, the driver repeats the
 * statement after those in flight, and results would reach the wrong reads. A column without valid JSON is undefined.
 */
interface ReadRow<Context, Row> {
  tenant_context?: Context & { request: string };
  answer?: Row[] | null;
}

/** Composes the statement of a read. */
export function readStatement<Row>(
  request: string,
  { columns }: Entry<never>,
  query: Query<Row>,
  { operation: name, condition }: ReadOptions,
): Statement {
  // Deploys and the entry of every write lock app.members first, and PostgreSQL locks the tables of a statement before it
  // runs. The join gives reads the same lock order, which avoids deadlocks. It reads no rows.
  return sql`${operation(name)}
with tenant_context as materialized (
  select ${request}::text as request, set_config('transaction_read_only', 'on', true) as read_only,
    ${columns}
)
select row_to_json(tenant_context) as tenant_context,
  case when ${condition}
    then (select coalesce(json_agg(answer), '[]') from (${query}) as answer) end as answer
from tenant_context left join app.members as locked_first on false`;
}
