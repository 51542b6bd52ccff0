import pg from 'pg';

/** A server that does not answer is told by then, and not whenever the system gives up. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Runs work on a connection of its own, outside of the service: for deploys and operators.
 *
 * The service itself speaks to the database only through `src/database`.
 */
export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'club-management-service operator',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A connection that dies fails the query under way; without a listener it would end the process as well.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
