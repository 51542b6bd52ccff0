/**
 * `make snapshot` writes sql/snapshot.txt from a fresh deploy; `make verify` fails when it is stale.
 *
 * One line a fact, so that the review of a change shows what it does to the database: a grant more, a policy
 * less. Always from the embedded server, because versions of PostgreSQL print some facts differently.
 */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withClient } from '../deploy/client.js';
import { deploy } from '../deploy/deploy.js';
import { sqlDirectory } from '../deploy/release.js';
import { createDatabase } from './database.js';
import { startPostgres } from './postgres/index.js';

const DATABASE = 'club';
const snapshotFile = new URL('snapshot.txt', sqlDirectory);

async function readFacts(): Promise<string> {
  const server = await startPostgres({
    dataDir: await mkdtemp(join(tmpdir(), 'club-snapshot-')),
    throwaway: true,
  });
  try {
    await createDatabase(server, DATABASE);
    await deploy(server.url(DATABASE, 'club_migrator', server.password));
    const { rows } = await withClient(server.url(DATABASE), (client) =>
      client.query<{ line: string }>('select line from audit.snapshot'),
    );
    return `${rows.map(({ line }) => line).join('\n')}\n`;
  } finally {
    await server.stop();
  }
}

/** The lines that one text has and the other has not. */
function without(text: string, other: string): string[] {
  const known = new Set(other.split('\n'));
  return text.split('\n').filter((line) => !known.has(line));
}

const facts = await readFacts();
if (process.argv.includes('--verify')) {
  const stored = await readFile(snapshotFile, 'utf8').catch(() => '');
  if (stored !== facts) {
    const changes = [
      ...without(stored, facts).map((line) => `- ${line}`),
      ...without(facts, stored).map((line) => `+ ${line}`),
    ];
    console.error(
      `sql/snapshot.txt is stale. Look at what changed, then run make snapshot.\n${changes.join('\n')}`,
    );
    process.exitCode = 1;
  }
} else {
  await writeFile(snapshotFile, facts);
}
