import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import pg from 'pg';
import t from 'tap';
import { environmentWith } from '../../src/config.js';
import { Database } from '../../src/database/database.js';
import { UnsafeRole } from '../../src/database/failures.js';
import { isDeployed } from '../../src/database/readiness.js';
import { sql } from '../../src/database/sql.js';
import { deploy } from '../../src/deploy/deploy.js';
import { createDatabase } from '../../src/development/database.js';
import { urlOf } from '../../src/development/test-cluster.js';
import { startServer } from '../setup/server.js';

// Roles belong to a whole server, and dangerous ones would be findings in the databases of other tests.
const server = await startServer(t);
const name = 'club';
await createDatabase(server, name);
await deploy(server.url(name, 'club_migrator', server.password));
const admin = new pg.Client(server.url(name));
await admin.connect();
t.teardown(() => admin.end());
const db = { url: server.url(name, 'club_api', server.password), adminUrl: server.url(name) };
const password = randomBytes(16).toString('hex');

async function login(user: string, attributes: string): Promise<string> {
  await admin.query(`create role ${user} login password '${password}' ${attributes}`);
  await admin.query(`grant connect on database ${name} to ${user}`);
  return urlOf(db.url, name, { user, password });
}

await admin.query('create role bypassing nologin bypassrls');
const refused = {
  'is a superuser': await login('superuser', 'superuser'),
  'has BYPASSRLS': await login('bypass', 'bypassrls'),
  'has CREATEROLE': await login('maker', 'createrole'),
  'may become the owner of the tables': await login('owner_member', 'in role club_owner'),
  'may become a role that policies do not bind': await login('climber', 'in role bypassing'),
};

t.test(
  'a login that the policies do not bind, or that may become one, is refused with its reason',
  async (t) => {
    for (const [reason, url] of Object.entries(refused)) {
      const database = new Database({ url, slots: 2, prepare: true });
      const attempt = isDeployed(database);
      await t.rejects(attempt, UnsafeRole);
      await t.rejects(attempt, { message: new RegExp(`DATABASE_URL ${reason},`) });
      t.same(database.load, { lent: 0, waiting: 0 });
      await database.close();
    }
  },
);

t.test('a dangerous login stays refused when it calls itself by a harmless role', async (t) => {
  const database = new Database({ url: `${db.adminUrl}?role=club_api`, slots: 1, prepare: true });
  await t.rejects(isDeployed(database), { message: /is a superuser/ });
  await database.close();
});

t.test('the runtime login is admitted', async (t) => {
  const database = new Database({ url: db.url, slots: 1, prepare: true });
  t.equal(await isDeployed(database), true);
  await database.close();
});

t.test('a session plans a statement once and reads by default; behind a pooler nothing is set', async (t) => {
  const entry = {
    statement: sql`select ''`,
    isEcho: () => true,
    accept: () => {},
  };
  for (const [prepare, settings] of [
    [true, { planCacheMode: 'force_generic_plan', isolation: 'repeatable read', readOnly: 'on' }],
    [false, { planCacheMode: 'auto', isolation: 'read committed', readOnly: 'off' }],
  ] as const) {
    const database = new Database({ url: db.url, slots: 1, prepare });
    const rows = await database.transaction('read write', entry, (tx) =>
      tx.query(sql`
        select
          current_setting('plan_cache_mode') as plan_cache_mode,
          current_setting('default_transaction_isolation') as isolation,
          current_setting('default_transaction_read_only') as read_only`),
    );
    t.same(rows, [settings], `prepared statements ${prepare ? 'on' : 'off'}`);
    await database.close();
  }
});

t.test('the service ends with 1 and one sentence when its login is dangerous', async (t) => {
  const ends = [db.adminUrl, refused['may become the owner of the tables']].map(async (url) => {
    const service = spawn(process.execPath, ['dist/server.js'], {
      env: environmentWith({
        ...{
          DATABASE_URL: url,
          AUTH_ISSUER: 'http://127.0.0.1:9',
          NODE_ENV: 'test',
          PORT: '0',
          LOG_LEVEL: 'info',
        },
      }),
    });
    let output = '';
    for (const stream of [service.stdout, service.stderr]) {
      stream.on('data', (text) => {
        output += text;
      });
    }
    const [code] = await once(service, 'close');
    return { code, output };
  });
  for (const { code, output } of await Promise.all(ends)) {
    t.equal(code, 1);
    t.match(
      output,
      /^The login \S+ of DATABASE_URL .+, so row-level security would not hold for it\. [^\n]+\n$/,
    );
    t.notMatch(output, password);
  }
});
