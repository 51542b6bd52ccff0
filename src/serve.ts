import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyPluginAsync } from 'fastify';
import { buildApp } from './app.js';
import type { ServerConfig } from './config.js';
import { Database } from './database/database.js';
import { UnsafeRole } from './database/failures.js';
import { isDeployed } from './database/readiness.js';
import { CannotListen } from './listening.js';
import { openLog } from './log.js';

/**
 * How many may wait to be connected; the system may allow fewer (net.core.somaxconn). Of Node's own 511 a flood leaves
 * none, and whoever finds no room tries again only after a second, then after three.
 */
const BACKLOG = 4_096;

/**
 * Starts the service: checks the login and the release of the database, then listens.
 *
 * A database that is down or older than this release does not stop it: it comes back or is deployed, and the
 * service is not ready until then.
 *
 * @param addition what `make run` adds to /docs
 * @returns the way to stop. For `drainMs` milliseconds it answers on, not ready and closing each connection with
 *   its answer, so that load balancers and clients go elsewhere; then running requests finish, and the connections
 *   to the database close, and the log is written.
 * @throws UnsafeRole when row-level security would not hold for the login; CannotListen
 */
export async function serve(
  config: ServerConfig,
  addition: FastifyPluginAsync | null = null,
): Promise<(drainMs: number) => Promise<void>> {
  const { logger, flush } = openLog(config.logLevel);
  const database = new Database(config.database);
  const app = await buildApp(config, database, logger, undefined, addition);

  try {
    if (!(await isDeployed(database))) {
      logger.warn('The database is older than this release: not ready until it is deployed.');
    }
  } catch (error) {
    if (error instanceof UnsafeRole) {
      await database.close();
      throw error;
    }
    logger.warn(
      { reason: (error as Error).message },
      'The database cannot be reached: not ready until it can.',
    );
  }

  try {
    await app.listen({ host: config.host, port: config.port, backlog: BACKLOG });
  } catch (error) {
    throw new CannotListen(error as Error);
  }
  return async (drainMs) => {
    logger.info({ drainMs }, 'stopping');
    app.drain();
    await sleep(drainMs);
    await app.close();
    await database.close();
    await flush();
  };
}
