import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type EmbeddedPostgres, startPostgres } from '../../tools/postgres.js';
import { parentDirectory } from '../../tools/test-cluster.js';
import { testCluster } from './database.js';

/** A separate server, for tests of server-wide state: roles, crashes. Removed when the test ends. */
export async function startServer(t: Test, settings: Record<string, string> = {}): Promise<EmbeddedPostgres> {
  const dataDir = await mkdtemp(join(await parentDirectory(), 'club-server-'));
  const server = await startPostgres({ dataDir, throwaway: true, bin: testCluster().bin, settings });
  t.teardown(() => server.stop());
  return server;
}
