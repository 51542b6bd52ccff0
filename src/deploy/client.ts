import pg from 'pg';

/** Shorter than the connect timeout of the operating system. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Runs work on a separate connection: for deploys, audits and operators. The service itself uses only `src/database`.
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
  // A lost connection fails the query in flight; without this listener it would also end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
