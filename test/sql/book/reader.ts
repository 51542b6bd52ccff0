/** Runs the blocks of the DBA's book like a reader: SQL in one session for each role, the rest in a shell. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Test } from 'tap';
import { environmentWith } from '../../../src/config.js';
import { deploy } from '../../../src/deploy/deploy.js';
import { loadDemo } from '../../../tools/demo.js';
import { createDatabase } from '../../../tools/development-database.js';
import { root } from '../../../tools/root.js';
import { startServer } from '../../setup/server.js';

export interface Reader {
  /** Runs statements in the session of a role; returns what `psql --quiet --tuples-only` prints. */
  query(role: string, text: string): Promise<string>;
  /** Runs a script at the root of the reader's own checkout; returns its output. */
  shell(script: string): Promise<string>;
  /** The folder of the reader's checkout. */
  checkout: string;
}

/** A separate server, deployed and with the data of `make run`: its roles are not shared with other tests. */
export async function startReader(t: Test): Promise<Reader> {
  const server = await startServer(t);
  await createDatabase(server, 'clubs');
  const url = (role: string) => server.url('clubs', role, server.password);
  await deploy(url('club_migrator'));
  await loadDemo({ url: url('club_api'), migrationUrl: url('club_migrator') });

  const sessions = new Map<string, pg.Client>();
  const open = async (role: string) => {
    const client = new pg.Client(role === 'an administrator' ? server.url('clubs') : url(role));
    client.on('error', () => {});
    await client.connect();
    t.teardown(() => client.end());
    sessions.set(role, client);
    return client;
  };
  const checkout = await mkdtemp(join(tmpdir(), 'club-checkout-'));
  t.teardown(() => rm(checkout, { recursive: true, force: true }));
  for (const folder of ['sql', 'dist', 'package.json']) {
    await cp(join(root, folder), join(checkout, folder), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const env = environmentWith({
    ADMIN_URL: server.url('clubs'),
    AUDIT_DATABASE_URL: url('club_auditor'),
    MIGRATION_DATABASE_URL: url('club_migrator'),
  });
  return {
    query: async (role, text) => print(sessions.get(role) ?? (await open(role)), statementsOf(text)),
    shell: (script) =>
      new Promise((resolve) =>
        execFile('/bin/sh', ['-euc', script], { cwd: checkout, env }, (error, stdout, stderr) =>
          resolve(`${stdout}${stderr}${error ? `exit code ${error.code}` : ''}`),
        ),
      ),
    checkout,
  };
}

/** A statement ends with a semicolon at the end of a line, outside of a function's body. */
function statementsOf(text: string): string[] {
  const statements = [''];
  for (const line of text.split('\n').filter((line) => !/^\s*(--.*)?$/.test(line))) {
    const statement = `${statements.pop()}${line}\n`;
    const isWhole = /;\s*(--.*)?$/.test(line) && statement.split('$$').length % 2 === 1;
    statements.push(statement, ...(isWhole ? [''] : []));
  }
  return statements.filter((statement) => statement !== '');
}

async function print(client: pg.Client, statements: string[]): Promise<string> {
  let printed = '';
  for (const text of statements) {
    try {
      const result = await client.query({
        text,
        rowMode: 'array',
        // As text: the book shows the values as the server sends them.
        types: { getTypeParser: () => (value: string) => value },
      } as pg.QueryArrayConfig);
      printed += result.fields.length > 0 ? table(result) : '';
    } catch (error) {
      const { severity, code, message } = error as pg.DatabaseError;
      printed += `${severity}:  ${code}: ${message}\n`;
    }
  }
  return printed;
}

/** Rows in columns, as psql aligns them. */
function table({ fields, rows }: pg.QueryArrayResult): string {
  const cells = rows.map((row) => row.map((value) => (value === null ? '' : String(value))));
  const widths = fields.map(({ name }, column) =>
    Math.max(name.length, ...cells.map((row) => (row[column] as string).length)),
  );
  return cells
    .map((row) =>
      ` ${row.map((text, column) => text.padEnd(widths[column] as number)).join(' | ')}`.trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
