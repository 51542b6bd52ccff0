/** A part of `make verify`: fails when a migration would block requests, and prints the statement. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRelease } from '../src/deploy/release.js';
import { findBlocking } from './migration-lint.js';
import { startPostgres } from './postgres.js';

const server = await startPostgres({ dataDir: await mkdtemp(join(tmpdir(), 'club-lint-')), throwaway: true });
try {
  const found = await findBlocking(server.url('postgres'), readRelease().migrations);
  if (found.length > 0) {
    console.error(found.join('\n\n'));
    process.exitCode = 1;
  }
} finally {
  await server.stop();
}
