import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type EmbeddedPostgres, startPostgres } from '../../tools/postgres.js';
import { testCluster } from './database.js';

/** A separate server, for tests of server-wide state: roles, crashes. Removed when the test ends. */
export async function startServer(t: Test): Promise<EmbeddedPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'club-server-'));
  const server = await startPostgres({ dataDir, throwaway: true, bin: testCluster().bin });
  t.teardown(() => server.stop());
  return server;
}
