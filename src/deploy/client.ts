import net from 'node:net';
import pg from 'pg';
import { OperatorError, reasonOf } from '../database/errors.js';
import { type RoleFacts, requireRole } from '../database/session-setup.js';
import { parseDatabaseUrl, type Role } from '../database/socket.js';

/** After this time without data the operating system asks whether the server is still there, and gives up ten seconds later. */
const KEEP_ALIVE_MS = 10_000;
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

/** A connection of `withClient`, for the modules that use no driver themselves. */
export type Client = pg.Client;

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
  const client = await connect(url).catch((error) => {
    throw new ConnectionFailed(error, variable);
  });
  let loss: Error | undefined;
  client.on('error', (error) => {
    loss = error;
  });
  try {
    // A setting of the login or the database could print names and texts in another way than the stored facts.
    await client.query('set quote_all_identifiers = off; set standard_conforming_strings = on');
    return await work(client);
  } catch (error) {
    const isFatal = isDatabaseError(error) && error.severity === 'FATAL';
    throw isFatal || loss !== undefined ? new ConnectionFailed(isFatal ? error : loss, variable) : error;
  } finally {
    await client.end();
  }
}

/** @throws Error of the URL, of a file that it names, of the network or of the server; Standby */
async function connect(url: string): Promise<pg.Client> {
  const { role } = parseDatabaseUrl(url);
  const socket = new net.Socket();
  const client = new pg.Client({
    connectionString: url,
    stream: () => socket,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: 'club-management-service operator',
  });
  // What is in flight fails too. Without a listener the event would end the process.
  client.on('error', () => {});
  const timer = setTimeout(
    () => socket.destroy(new Error('the server did not respond in time')),
    CONNECT_TIMEOUT_MS,
  );
  try {
    await client.connect();
    await checkRole(client, role);
    return client;
  } catch (error) {
    // Otherwise the server waits a minute for the rest of the login, and DROP DATABASE waits for that.
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** @throws Standby when the server does not have the role */
async function checkRole(client: pg.Client, role: Role): Promise<void> {
  if (role === 'any') {
    return;
  }
  const { rows } = await client.query<RoleFacts>(
    `select pg_catalog.pg_is_in_recovery() as "isStandby",
       pg_catalog.current_setting('default_transaction_read_only') = 'on' as "isReadOnly"`,
  );
  requireRole(role, rows[0]);
}
