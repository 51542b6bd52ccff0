import pg from 'pg';
import { reasonOf } from '../database/errors.js';

/** Shorter than the connect timeout of the operating system. */
const CONNECT_TIMEOUT_MS = 10_000;

/** The server could not be connected to, or the connection was lost; the cause says why. */
export class ConnectionFailed extends Error {
  override name = 'ConnectionFailed';

  constructor(cause: unknown) {
    super('There is no connection to the database.', { cause });
  }

  /** One sentence for an operator. @param variable the variable with the URL of the database */
  explain(variable: string): string {
    return `The database of ${variable} cannot be used: ${reasonOf(this, variable).replace(/\.$/, '')}.`;
  }
}

/** Whether the server refused a statement or the login. */
export function isDatabaseError(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError;
}

/**
 * Runs work on a separate connection: for deploys, audits and operators. The service itself uses only `src/database`.
 *
 * @throws ConnectionFailed; what the work threw
 */
export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  let loss: Error | undefined;
  const client = await connect(url, (error) => {
    loss = error;
  }).catch((error) => {
    throw new ConnectionFailed(error);
  });
  try {
    return await work(client);
  } catch (error) {
    const isFatal = isDatabaseError(error) && error.severity === 'FATAL';
    throw isFatal || loss !== undefined ? new ConnectionFailed(isFatal ? error : loss) : error;
  } finally {
    await client.end();
  }
}

/**
 * @param onLoss is called when the connection is lost
 * @throws Error of the URL, of a file that it names, of the network or of the server
 */
async function connect(url: string, onLoss: (error: Error) => void): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'club-management-service operator',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', onLoss);
  try {
    await client.connect();
  } catch (error) {
    // Otherwise the server waits a minute for the rest of the login, and DROP DATABASE waits for that.
    client.end().catch(() => {});
    throw error;
  }
  return client;
}
