import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { App } from '../../src/app.js';
import { withClient } from '../../src/deploy/client.js';
import { until } from './caller.js';
import type { TestDatabase } from './database.js';
import { untilWaiting } from './locks.js';

/**
 * Sends a request that changes a task and waits for a lock, and closes its connection before there is a response. Then the
 * lock is released, and the service completes the request.
 *
 * @param app a service that listens, and has no other connection
 */
export async function abandon(
  db: TestDatabase,
  { server }: App,
  { body, ...options }: { path: string; method: string; headers: Record<string, string>; body?: string },
): Promise<void> {
  const { port } = server.address() as AddressInfo;
  await withClient(db.adminUrl, async (client) => {
    await client.query('begin');
    await client.query('select from app.tasks for update');
    const sent = request({ port, agent: false, ...options }).on('error', () => {});
    sent.end(body);
    await untilWaiting(db, 1);
    sent.destroy();
    await until(promisify(server.getConnections.bind(server)), (count) => count === 0);
    await client.query('rollback');
  });
}
