import { SQLSTATE } from '../database/sql-states.js';
import { type Client, withClient } from '../deploy/client.js';
import { lockDeploysShared } from '../deploy/locks.js';
import { MIGRATOR, OWNER } from '../deploy/roles.js';
import { ClubFileRefused } from './errors.js';

/** The mode of a transaction that reads one snapshot. */
export const SNAPSHOT = 'isolation level repeatable read read only';

/** The mode of a transaction that writes. */
export const WRITE = 'isolation level read committed read write';

/** The login of the deploy in a database. */
export interface Login {
  url: string;
  /** The variable that has the URL, for errors. */
  variable: 'MIGRATION_DATABASE_URL' | 'TARGET_DATABASE_URL';
}

/**
 * Settings of the session: values are written as text in one form, and no limit of the login or the database ends a long copy. The server
 * ends a session whose client has not responded for 30 s, even while it waits for a lock: otherwise its locks would stay for two hours.
 */
const SETTINGS = {
  search_path: 'pg_catalog, pg_temp',
  timezone: 'UTC',
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  // Since PostgreSQL 17.
  transaction_timeout: '0',
  synchronous_commit: 'on',
  tcp_keepalives_idle: '15',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '30000',
  client_connection_check_interval: '10000',
  idle_session_timeout: '0',
};

/**
 * Runs work in one transaction as club_owner, while no deploy runs.
 *
 * @throws ClubFileRefused when a deploy runs; ConnectionFailed; what the work threw
 */
export async function inTransaction<Result>(
  login: Login,
  mode: typeof SNAPSHOT | typeof WRITE,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  return withoutDeploys(login, async (client) => {
    await client.query(`begin ${mode}`);
    await client.query(`set local role ${OWNER}`).catch((error) => {
      throw error.code === SQLSTATE.INSUFFICIENT_PRIVILEGE
        ? new ClubFileRefused(`The login of ${login.variable} is not that of the deploy, ${MIGRATOR}.`)
        : error;
    });
    const result = await work(client);
    await client.query('commit');
    return result;
  });
}

/** Runs work while a session keeps deploys from the database. @throws as inTransaction */
export async function withoutDeploys<Result>(
  { url, variable }: Login,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const run = async (client: Client) => {
    await client.query(
      'select set_config(name, $1::jsonb ->> lower(name), false) from pg_settings where $1::jsonb ? lower(name)',
      [JSON.stringify(SETTINGS)],
    );
    if (!(await lockDeploysShared(client))) {
      throw new ClubFileRefused('A deploy runs in this database. Try again when it has ended.');
    }
    return work(client);
  };
  return withClient(url, run, variable);
}

/** The fingerprint of the release that was deployed last. */
export async function readFingerprint(client: Client): Promise<string> {
  const { rows } = await client.query(
    'select fingerprint from deploy.releases order by applied_at desc limit 1',
  );
  return rows[0]?.fingerprint;
}

/** Continues the transaction as a role that reads or writes the rows of one club. */
export async function enterClub(
  client: Client,
  role: 'club_export' | 'club_import',
  id: string,
): Promise<void> {
  await client.query(`select set_config('app.tenant_id', $1, true)`, [id]);
  await client.query(`set local role ${role}`);
}
