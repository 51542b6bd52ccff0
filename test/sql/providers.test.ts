import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { readRelease } from '../../src/deploy/release.js';
import { readLogins, readRolesFile } from '../../src/deploy/roles.js';
import { root } from '../../tools/root.js';
import { startServer } from '../setup/server.js';

/** What a provider sets up: its superuser, the administrator that it gives to a customer, and SQL with its source. */
function readProvider(file: string) {
  const text = readFileSync(join(root, 'test/sql/providers', file), 'utf8');
  const named = (what: string) => new RegExp(`^-- ${what}: (\\S+)$`, 'm').exec(text)?.[1] ?? '';
  const [inServer = '', inDatabase = ''] = text.split('-- In the database of the customer:\n');
  return { superuser: named('superuser'), admin: named('admin'), inServer, inDatabase };
}

/** Makes a server as the provider does, and a database with the roles of the service as its customer does. */
async function startProvider(t: Test, file: string) {
  const { superuser, admin, inServer, inDatabase } = readProvider(file);
  const server = await startServer(t);
  const url = (database: string, user: string) => server.url(database, user, server.password);
  if (superuser !== 'postgres') {
    await withClient(server.url('postgres'), (postgres) =>
      postgres.query(`create role helper superuser login password '${server.password}'`),
    );
    await withClient(url('postgres', 'helper'), (helper) =>
      helper.query(`alter role postgres rename to ${superuser}`),
    );
  }
  // What is done in template1 is in every new database.
  await withClient(url('template1', superuser), async (client) => {
    await client.query('drop role if exists helper');
    const { rows } = await client.query(`select current_setting('server_version_num')::int / 10000 as major`);
    // CREATE TABLESPACE does not run together with another statement.
    for (const paragraph of inServer.split('\n\n')) {
      if (rows[0].major >= Number(/^-- From (\d+):$/m.exec(paragraph)?.[1] ?? 0)) {
        await client.query(paragraph);
      }
    }
    await client.query(`alter role ${admin} password '${server.password}'`);
  });
  await withClient(url('postgres', admin), (client) => client.query('create database clubs'));
  await withClient(url('clubs', superuser), (client) => client.query(inDatabase));
  await withClient(url('clubs', admin), async (client) => {
    await client.query(readRolesFile());
    for (const login of readLogins()) {
      await client.query(`alter role ${login} password '${server.password}'`);
    }
  });
  const findings = () =>
    withClient(url('clubs', 'club_auditor'), async (auditor) => {
      const { rows } = await auditor.query('select severity, code, object, detail from audit.findings');
      return rows.map(({ severity, code, object, detail }) => `${severity} ${code} ${object}: ${detail}`);
    });
  const query = (statement: string) =>
    withClient(url('clubs', superuser), (client) => client.query(statement));
  return { admin, migrationUrl: url('clubs', 'club_migrator'), findings, query };
}

/** The names that docs/operate.md gives for a provider. */
function readNames(file: string): string[] {
  const page = readFileSync(join(root, 'docs/operate.md'), 'utf8');
  const [, names = ''] = new RegExp(`/providers/${file}\\) \\| \`(\\S+)\` \\|$`, 'm').exec(page) ?? [];
  return names.split(',');
}

for (const file of readdirSync(join(root, 'test/sql/providers'))) {
  t.test(
    `${file}: the roles on the page cause no finding after APPROVE, and no critical one before`,
    async (t) => {
      const { admin, migrationUrl, findings } = await startProvider(t, file);
      await deploy(migrationUrl);
      t.same(
        (await findings()).filter((finding) => !finding.startsWith('warning ')),
        [],
      );
      await deploy(migrationUrl, readRelease(), [admin, ...readNames(file)]);
      t.same(await findings(), []);
    },
  );
}

t.test('APPROVE excuses no access to the service that a role of the provider gets later', async (t) => {
  const { admin, migrationUrl, findings, query } = await startProvider(t, 'supabase.sql');
  await deploy(migrationUrl, readRelease(), [admin, 'anon', ...readNames('supabase.sql')]);
  for (const [statement, code] of [
    ['grant club_owner to anon', 'role_lent'],
    ['grant club_api to anon', 'role_lent'],
    ['grant select on app.tasks to anon', 'granted_to_stranger'],
    ['grant execute on function pg_read_file(text) to anon', 'system_object_lent'],
    [
      'alter default privileges for role club_owner in schema app grant select on tables to anon',
      'default_privileges',
    ],
  ] as const) {
    await query(statement);
    t.match((await findings()).join('\n'), ` ${code} `, statement);
    await query(statement.replace('grant', 'revoke').replace(' to anon', ' from anon'));
  }
});
