/**
 * `make snapshot` writes the generated files, and `make verify` fails when one is stale: sql/snapshot.txt from a new
 * deploy, docs/errors.md from the catalogue of errors, and docs/api-snapshot.txt, docs/requests.http and the types of the
 * client from the OpenAPI document.
 *
 * sql/snapshot.txt has one fact about the database per line, so that a review shows each added grant or removed policy. It
 * is always from the embedded server, because PostgreSQL versions print some facts differently. docs/api-snapshot.txt has one
 * fact about the API per line: a removed line breaks a promise to clients.
 */
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withClient } from '../src/deploy/client.js';
import { deploy } from '../src/deploy/deploy.js';
import { sqlDirectory } from '../src/deploy/release.js';
import { describeApi } from './api-snapshot.js';
import { describeOperations, describeResources, describeTypes } from './client-types.js';
import { createDatabase } from './development-database.js';
import { readDocument } from './document.js';
import { describeCodes } from './errors-page.js';
import { startPostgres } from './postgres.js';
import { describeRequests } from './requests.js';

const DATABASE = 'club';
const document = await readDocument();

const generated: { name: string; file: URL; make: () => Promise<string> }[] = [
  { name: 'sql/snapshot.txt', file: new URL('snapshot.txt', sqlDirectory), make: readFacts },
  {
    name: 'docs/errors.md',
    file: new URL('../docs/errors.md', sqlDirectory),
    make: async () => describeCodes(),
  },
  {
    name: 'docs/api-snapshot.txt',
    file: new URL('../docs/api-snapshot.txt', sqlDirectory),
    make: async () => describeApi(document),
  },
  {
    name: 'docs/requests.http',
    file: new URL('../docs/requests.http', sqlDirectory),
    make: async () => describeRequests(document),
  },
  {
    name: 'client/src/generated/document.ts',
    file: new URL('../client/src/generated/document.ts', sqlDirectory),
    make: () => describeTypes(document),
  },
  {
    name: 'client/src/generated/resources.ts',
    file: new URL('../client/src/generated/resources.ts', sqlDirectory),
    make: async () => describeResources(document, await readdir(new URL('../client/src/', sqlDirectory))),
  },
  {
    name: 'client/src/generated/operations.ts',
    file: new URL('../client/src/generated/operations.ts', sqlDirectory),
    make: async () => describeOperations(document),
  },
];

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

/** The lines of a text that another text does not have. */
function without(text: string, other: string): string[] {
  const known = new Set(other.split('\n'));
  return text.split('\n').filter((line) => !known.has(line));
}

for (const { name, file, make } of generated) {
  const text = await make();
  if (!process.argv.includes('--verify')) {
    await writeFile(file, text);
    continue;
  }
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored !== text) {
    const changes = [
      ...without(stored, text).map((line) => `- ${line}`),
      ...without(text, stored).map((line) => `+ ${line}`),
    ];
    console.error(`${name} is stale. Review these changes, then run make snapshot.\n${changes.join('\n')}`);
    process.exitCode = 1;
  }
}
