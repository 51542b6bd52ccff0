import pg from 'pg';
import { OperatorError, reasonOf } from '../database/errors.js';

/** Shorter than the connect timeout of the operating system. */
const CONNECT_TIMEOUT_MS = 10_000;

/** The server could not be connected to, or the connection was lost. */
export class ConnectionFailed extends OperatorError {
  override name = 'ConnectionFailed';

  /** @param variable the variable with the URL of the database */
  constructor(cause: unknown, variable: string) {
    super(`The database of ${variable} cannot be used: ${reasonOf(cause, variable).replace(/\.$/, '')}.`, {
      cause,
    });
  }
}

/** Whether the server refused a statement or the login. */
export function isDatabaseError(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError;
}

/**
 * Runs work on a separate connection: for deploys, audits and operators. The service itself uses only `src/database`.
 *
 * @param variable the variable with the URL
 * @throws ConnectionFailed; what the work threw
 */
export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
  variable = 'MIGRATION_DATABASE_URL',
): Promise<Result> {
  let loss: Error | undefined;
  const client = await connect(url, (error) => {
    loss = error;
  }).catch((error) => {
    throw new ConnectionFailed(error, variable);
  });
  try {
    return await work(client);
  } catch (error) {
    const isFatal = isDatabaseError(error) && error.severity === 'FATAL';
    throw isFatal || loss !== undefined ? new ConnectionFailed(isFatal ? error : loss, variable) : error;
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
