/**
 * `make snapshot` writes the generated files, and `make verify` fails when one is stale: the lists of roles in
 * sql/policies and sql/audit from sql/roles.sql, sql/snapshot.txt from a new deploy, docs/errors.md from the catalogue of errors, and
 * docs/api-snapshot.txt, docs/requests.http, the table of operations in docs/api.md and the types of the client from the OpenAPI
 * document. Both print what the audit and the rules of sql/lint.sql find in the new database.
 * `make check` calls it with --stale if the types are wrong: a stale file can be the reason.
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
import { readRoles } from '../src/deploy/roles.js';
import { describeApi } from './api-snapshot.js';
import { describeOperations, describeResources, describeTypes } from './client-types.js';
import { createDatabase } from './development-database.js';
import { readDocument } from './document.js';
import { describeCodes } from './errors-page.js';
import { withOperations } from './operations-table.js';
import { startPostgres } from './postgres.js';
import { describeRequests } from './requests.js';
import { describeRoles, withCapabilityRoles } from './role-lists.js';
import { root } from './root.js';
import { findFaults, readRules } from './schema-lint.js';

const DATABASE = 'club';
const [mode] = process.argv.slice(2);
const document = await readDocument();
const roles = readRoles();

/** What makes each file, from its stored text. */
const generated: Record<string, (stored: string) => string | Promise<string>> = {
  // First, because sql/snapshot.txt is from a deploy of these files.
  'sql/audit/05_roles.sql': () => describeRoles(roles),
  'sql/policies/00_reset.sql': (stored) => withCapabilityRoles(stored, roles),
  'sql/policies/99_prune.sql': (stored) => withCapabilityRoles(stored, roles),
  // Takes seconds.
  ...(mode !== '--stale' && { 'sql/snapshot.txt': readFacts }),
  'docs/errors.md': () => describeCodes(),
  'docs/api-snapshot.txt': () => describeApi(document),
  'docs/requests.http': () => describeRequests(document),
  'docs/api.md': (stored) => withOperations(stored, document),
  'client/src/generated/document.ts': () => describeTypes(document),
  'client/src/generated/resources.ts': async () =>
    describeResources(document, await readdir(join(root, 'client/src'))),
  'client/src/generated/operations.ts': () => describeOperations(document),
};

async function readFacts(): Promise<string> {
  const server = await startPostgres({
    dataDir: await mkdtemp(join(tmpdir(), 'club-snapshot-')),
    throwaway: true,
  });
  try {
    await createDatabase(server, DATABASE);
    await deploy(server.url(DATABASE, 'club_migrator', server.password));
    return await withClient(server.url(DATABASE), async (client) => {
      const { rows: findings } = await client.query<{ text: string }>(
        `select concat_ws(' ', severity, code, object, detail) as text from audit.findings`,
      );
      if (findings.length > 0) {
        console.error(
          `The audit of a new database has findings:\n${findings.map(({ text }) => text).join('\n')}`,
        );
        process.exitCode = 1;
      }
      const faults = await findFaults(client, readRules());
      if (faults.length > 0) {
        console.error(`A new database breaks rules of sql/lint.sql:\n${faults.join('\n')}`);
        process.exitCode = 1;
      }
      const { rows } = await client.query<{ line: string }>('select line from audit.snapshot');
      return `${rows.map(({ line }) => line).join('\n')}\n`;
    });
  } finally {
    await server.stop();
  }
}

/** The lines of a text that another text does not have. */
function without(text: string, other: string): string[] {
  const known = new Set(other.split('\n'));
  return text.split('\n').filter((line) => !known.has(line));
}

for (const [name, make] of Object.entries(generated)) {
  const file = join(root, name);
  const stored = await readFile(file, 'utf8').catch(() => '');
  const text = await make(stored);
  if (mode === undefined) {
    await writeFile(file, text);
  } else if (stored !== text) {
    const changes = [
      ...without(stored, text).map((line) => `- ${line}`),
      ...without(text, stored).map((line) => `+ ${line}`),
    ];
    console.error(
      mode === '--stale'
        ? `${name} is stale: run make snapshot.`
        : `${name} is stale. Review these changes, then run make snapshot.\n${changes.join('\n')}`,
    );
    process.exitCode = 1;
  }
}
