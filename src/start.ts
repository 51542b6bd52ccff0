import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyBaseLogger, FastifyPluginAsync } from 'fastify';
import { buildApp } from './app.js';
import type { ServerConfig } from './config.js';
import { Database } from './database/database.js';
import { OperatorError, reasonOf, UnsafeDatabase } from './database/errors.js';
import { sql } from './database/sql.js';
import { readOwn } from './database/tenant-context.js';
import { openLog } from './logger.js';
import { warnOfReason } from './ops/periodic-job.js';
import { isDeployed } from './ops/schema-version.js';

/**
 * Connections that may wait to be accepted; the system may allow fewer (net.core.somaxconn). A flood fills Node's default
 * of 511; a client that is not accepted retries after one second, then after three.
 */
const BACKLOG = 4_096;

/** The parts of a stop, in milliseconds. */
export interface StopTimes {
  /** How long requests are still served, while load balancers and clients go elsewhere. */
  drainMs: number;
  /** How long running requests may take after that. */
  finishMs: number;
}

/** The service cannot listen at the configured address. The message says where and why. */
export class CannotListen extends OperatorError {
  override name = 'CannotListen';

  constructor(cause: NodeJS.ErrnoException & { port?: number }) {
    super(
      cause.code === 'EADDRINUSE'
        ? `The port ${cause.port} is taken: is the service running already? Stop it, or set PORT or METRICS_PORT to another one.`
        : `The service cannot listen (${cause.message}): HOST, PORT, METRICS_HOST and METRICS_PORT say where it should.`,
      { cause },
    );
  }
}

/**
 * Starts the service: checks the login and the release of the database, then listens.
 *
 * It also starts when the database is down or older than this release, and is not ready until that has changed.
 *
 * @param extraPlugin what `make run` adds to /docs
 * @returns the function that stops the service. While it drains, `/readyz` is 503 and each response closes its connection.
 *   Then running requests finish, the connections to the database close, and the log is written.
 * @throws UnsafeDatabase when row-level security would not hold; CannotListen
 */
export async function start(
  config: ServerConfig,
  extraPlugin: FastifyPluginAsync | null = null,
): Promise<(times: StopTimes) => Promise<void>> {
  const { logger, flush } = openLog(config.logLevel);
  for (const warning of config.warnings) {
    logger.warn(warning);
  }
  const database = new Database(config.database);
  const { app } = await buildApp({ config, database, logger, extraPlugin });

  try {
    await checkDatabase(database, logger);
  } catch (error) {
    if (error instanceof UnsafeDatabase) {
      await database.close();
      throw error;
    }
    warnOfReason(logger, database, {
      reason: reasonOf(error),
      message: 'The database cannot be used: not ready until it can.',
    });
  }

  try {
    await app.listen({ host: config.host, port: config.port, backlog: BACKLOG });
  } catch (error) {
    await database.close();
    // Errors without a system call are those of routes and plugins, which listen() prepares.
    throw (error as NodeJS.ErrnoException).syscall === undefined ? error : new CannotListen(error as Error);
  }
  return async ({ drainMs, finishMs }) => {
    logger.info({ drainMs }, 'stopping');
    app.drain();
    await sleep(drainMs);
    // Node.js does not count a connection as idle before its first request: browsers and load balancers open such ones.
    const cut = setTimeout(() => app.server.closeAllConnections(), finishMs);
    await app.close();
    clearTimeout(cut);
    await database.close();
    await flush();
  };
}

/** The settings of roles.sql that the service depends on. */
const SETTINGS: Record<string, { expected: string; reason: string }> = {
  plan_cache_mode: { expected: 'force_generic_plan', reason: 'PostgreSQL plans each page again' },
  default_transaction_isolation: {
    expected: 'read committed',
    reason: 'a call does not see what was committed while it waited for a lock',
  },
  default_transaction_read_only: { expected: 'off', reason: 'calls such as signing up fail' },
};

/** Logs what an operator should change before the service is ready, or fast. */
async function checkDatabase(database: Database, logger: FastifyBaseLogger): Promise<void> {
  if (!(await isDeployed(database))) {
    logger.warn('The database is older than this release: not ready until it is deployed.');
    return;
  }
  const settings = await readOwn<{ login: string; name: string; value: string }>(
    database,
    'readSettings',
    sql`select session_user as login, name, setting as value from pg_catalog.pg_show_all_settings()
      where name in ('plan_cache_mode', 'default_transaction_isolation', 'default_transaction_read_only')`,
  );
  for (const { login, name, value } of settings) {
    const { expected, reason } = SETTINGS[name] as (typeof SETTINGS)[string];
    if (value !== expected) {
      logger.warn(
        { login, [name]: value },
        `The login lacks the setting ${name} = ${expected}: ${reason}. Run sql/roles.sql; a setting for the database must go.`,
      );
    }
  }
}
