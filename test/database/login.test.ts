import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import pg from 'pg';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { buildApp } from '../../src/app.js';
import { environmentWith, readServerConfig } from '../../src/config.js';
import { Database } from '../../src/database/database.js';
import { ConnectionLost, explain, reasonOf, UnsafeDatabase } from '../../src/database/errors.js';
import { sql } from '../../src/database/sql.js';
import { readOwn } from '../../src/database/tenant-context.js';
import { deploy } from '../../src/deploy/deploy.js';
import { isDeployed } from '../../src/ops/schema-version.js';
import { urlOf } from '../../tools/database-url.js';
import { createDatabase } from '../../tools/development-database.js';
import { freePort } from '../setup/free-port.js';
import { startProxy } from '../setup/proxy.js';
import { sendTo } from '../setup/send.js';
import { startServer } from '../setup/server.js';
import { until } from '../setup/wait.js';

// Roles are shared by the whole server, and dangerous ones would be findings in other tests' databases.
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

const openDatabase = (url: string, prepare = true) =>
  new Database({ url, size: 2, prepare, readsPerConnection: 8 });

t.test(
  'a login that bypasses the policies, or can become a role that does, is refused with the reason',
  async (t) => {
    for (const [reason, url] of Object.entries(refused)) {
      for (const prepare of [true, false]) {
        const database = openDatabase(url, prepare);
        const attempt = isDeployed(database);
        await t.rejects(attempt, UnsafeDatabase);
        await t.rejects(attempt, { message: new RegExp(`DATABASE_URL ${reason},`) });
        t.same(database.load, { inUse: 0, queued: 0 });
        await database.close();
      }
    }
  },
);

t.test('a dangerous login is refused even if it sets a harmless role', async (t) => {
  const database = openDatabase(`${db.adminUrl}?role=club_api`);
  await t.rejects(isDeployed(database), { message: /is a superuser/ });
  await database.close();
});

t.test('the runtime login is accepted', async (t) => {
  const database = openDatabase(db.url);
  t.equal(await isDeployed(database), true);
  await database.close();
});

t.test('a session has the settings of its role and URL, but always UTC and ISO dates', async (t) => {
  const settings = sql`
    select current_setting('plan_cache_mode') as "planCacheMode", current_setting('statement_timeout') as "statementTimeout",
      current_setting('work_mem') as "workMem", current_setting('TimeZone') as "timeZone",
      current_setting('DateStyle') as "dateStyle", current_setting('application_name') as "applicationName"`;
  for (const [query, workMem, applicationName] of [
    ['', '4MB', 'club-management-service'],
    ['?options=-c%20work_mem%3D8MB&TimeZone=Asia/Tokyo&DateStyle=German', '8MB', 'club-management-service'],
    ['?application_name=second', '4MB', 'second'],
  ] as const) {
    const database = openDatabase(`${db.url}${query}`);
    t.match(await readOwn(database, 'readSettings', settings), [
      {
        ...{ planCacheMode: 'force_generic_plan', statementTimeout: '5s' },
        ...{ workMem, timeZone: 'UTC', dateStyle: /^ISO/, applicationName },
      },
    ]);
    await database.close();
  }
});

// The output of the process.

interface Service {
  process: ChildProcess;
  /** All its output. */
  output: () => string;
  /** Waits until its output matches, or the process has ended. */
  until: (form: RegExp) => Promise<unknown>;
}

function startProcess(url: string): Service {
  const child = spawn(process.execPath, ['dist/server.js'], {
    env: environmentWith({
      ...{ DATABASE_URL: url, AUTH_ISSUER: 'http://127.0.0.1:9', NODE_ENV: 'test' },
      ...{ PORT: '0', LOG_LEVEL: 'info' },
    }),
  });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  let hasEnded = false;
  child.once('close', () => {
    hasEnded = true;
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text;
    });
  }
  return {
    process: child,
    output: () => output,
    until: (form) =>
      until(
        () => output,
        (text) => form.test(text) || hasEnded,
      ),
  };
}

/** Starts the service and stops it when it listens; returns its warnings. */
async function warningsOf(url: string): Promise<{ msg: string; reason?: string }[]> {
  const service = startProcess(url);
  await service.until(/Server listening/);
  service.process.kill('SIGKILL');
  const [started = ''] = service.output().split(/^.*Server listening/m, 1);
  return linesOf(started).filter(({ level }) => level === 40);
}

function linesOf(output: string) {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

t.test('the service exits with 1 and one sentence when its login is dangerous', async (t) => {
  const service = startProcess(refused['may become the owner of the tables']);
  const closed = once(service.process, 'close');
  await service.until(/Server listening/);
  service.process.kill('SIGKILL');
  const [code] = await closed;
  t.equal(code, 1);
  t.match(
    service.output(),
    /^The login \S+ of DATABASE_URL .+, so row-level security does not apply to it\. [^\n]+\n$/,
  );
  t.notMatch(service.output(), password);
});

t.test(
  'a login without the privileges of the service is reported, and the database is not called old',
  async (t) => {
    const url = server.url(name, 'club_auditor', server.password);
    const database = openDatabase(url);
    t.teardown(() => database.close());
    const wrong =
      'The login club_auditor lacks the privileges of the service: DATABASE_URL must log in as club_api.';
    await t.rejects(isDeployed(database), { message: wrong });
    t.match(await warningsOf(url), [
      { reason: wrong, msg: 'The database cannot be used: not ready until it can.' },
    ]);
  },
);

/** Probes a service with a login once; returns the response, and the lines of the log. */
async function probe(t: Test, url: string) {
  const provided = { NODE_ENV: 'test', DATABASE_URL: url, AUTH_ISSUER: 'http://127.0.0.1:9' };
  const config = readServerConfig(provided, {});
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const database = new Database(config.database);
  const { app } = await buildApp({ config, database, logger, auditTimes: null });
  t.teardown(async () => {
    await app.close();
    await database.close();
  });
  const { status, body } = await sendTo(app)('GET', '/readyz');
  return {
    status,
    detail: body.detail,
    lines: lines.map((line) => JSON.parse(line)),
  };
}

t.test('/readyz reports that the login is wrong or not safe, and only the log contains it', async (t) => {
  const logins: [user: string, url: string, detail: RegExp, reason: RegExp][] = [
    [
      'club_auditor',
      server.url(name, 'club_auditor', server.password),
      /^The login of DATABASE_URL lacks the privileges of the service\.$/,
      /^The login club_auditor lacks/,
    ],
    [
      'maker',
      refused['has CREATEROLE'],
      /^Row-level security does not apply to the login or the database\. The log has the reason\.$/,
      /^The login maker of DATABASE_URL has CREATEROLE/,
    ],
  ];
  for (const [user, url, detail, reason] of logins) {
    const seen = await probe(t, url);
    t.match(seen, { status: 503, detail, lines: [{ level: 30, status: 503, reason, msg: 'request' }] });
    t.equal(seen.lines.length, 1, `${user}: one line, and no error`);
  }
  const seen = await probe(t, db.url);
  t.match(
    seen,
    { status: 503, detail: 'The database has not been audited yet.' },
    'the login of the service',
  );
});

t.test('a missing privilege and a missing right to connect have different remedies', async (t) => {
  const database = openDatabase(server.url(name, 'club_auditor', server.password));
  const reason = await readOwn(database, 'readClubs', sql`select from app.clubs`).catch(reasonOf);
  await database.close();
  t.equal(
    reason,
    'permission denied for schema app. The login lacks a privilege: DATABASE_URL must log in as club_api, ' +
      'and this release must be deployed.',
  );
});

t.test('a deploy with the login of the service reports both logins', async (t) => {
  for (const user of ['club_api', 'club_auditor']) {
    t.equal(
      await deploy(server.url(name, user, server.password)).catch(explain),
      `The login ${user} may not deploy: MIGRATION_DATABASE_URL must log in as club_migrator.`,
    );
  }
});

/** The reason that a start logs when it cannot use the database. */
async function reasonFor(url: string): Promise<string> {
  const database = openDatabase(url);
  const reason = await isDeployed(database).then(() => 'none', reasonOf);
  await database.close();
  return reason;
}

t.test('the reason why the database cannot be used includes how to fix it', async (t) => {
  const port = await freePort();
  const of = (url: string, change: (url: URL) => void) => {
    const changed = new URL(url);
    change(changed);
    return changed.href;
  };
  await admin.query("create role no_connect login password 'secret'");
  await admin.query("create role no_login nologin password 'secret'");
  const faults: Record<string, [url: string, reason: RegExp]> = {
    'wrong password': [
      of(db.url, (url) => {
        url.password = 'wrong';
      }),
      /password authentication failed for user "club_api"\. .*correct DATABASE_URL/,
    ],
    'login missing': [
      of(db.url, (url) => {
        url.username = 'nobody';
      }),
      /password authentication failed for user "nobody"\. .*run sql\/roles\.sql/,
    ],
    'unknown database': [
      urlOf(db.url, 'nothing', { user: 'club_api', password: server.password }),
      /database "nothing" does not exist\. .*create the database/,
    ],
    'no right to connect': [
      urlOf(db.url, name, { user: 'no_connect', password: 'secret' }),
      /permission denied for database "club"\. .*run sql\/roles\.sql/,
    ],
    'login forbidden': [
      urlOf(db.url, name, { user: 'no_login', password: 'secret' }),
      /role "no_login" is not permitted to log in\. /,
    ],
    'port closed': [
      of(db.url, (url) => {
        url.port = String(port);
      }),
      new RegExp(`ECONNREFUSED.*:${port}\\. No server listens at this address: start PostgreSQL`),
    ],
    'port closed, of a name with several addresses': [
      of(db.url, (url) => {
        url.host = `localhost:${port}`;
      }),
      new RegExp(`ECONNREFUSED.*:${port}\\. No server listens at this address: start PostgreSQL`),
    ],
    'no such socket': [
      `postgres://localhost/club?host=/nowhere`,
      /ENOENT.*\. A file or a socket that DATABASE_URL names does not exist/,
    ],
    'TLS that the server lacks': [`${db.url}?sslmode=require`, /the server does not offer TLS/],
  };
  for (const [fault, [url, reason]] of Object.entries(faults)) {
    // A slow machine may not connect in time; then another attempt gives the reason.
    const found = await until(
      () => reasonFor(url),
      (reason) => !reason.includes('not ready in time'),
    );
    t.match(found, reason, fault);
    t.notMatch(found, server.password);
  }
  const missing = await admin.query('execute missing').catch(reasonOf);
  t.match(missing, /does not exist\. A pooler in transaction mode needs DATABASE_PREPARE=off\.$/);
});

t.test('why the database cannot be used is logged once, at the start, and so is the recovery', async (t) => {
  const user = 'late';
  const proxy = await startProxy(t, await login(user, 'in role club_api'));
  await admin.query(`alter role ${user} password 'another'`);
  const service = startProcess(proxy.url);
  await service.until(/Server listening/);
  // The audit tries again every second. Of three rejections after the start, two at most are those of its first attempt and of
  // the other job: with the new password the first would succeed, and nothing recover.
  const rejections = () => proxy.log.filter(({ from, type }) => from === 'server' && type === 'E').length;
  const before = rejections();
  await until(rejections, (count) => count >= before + 3);
  await admin.query(`alter role ${user} password '${new URL(proxy.url).password}'`);
  await service.until(/the audit can be run again/);
  service.process.kill('SIGKILL');
  const lines = linesOf(service.output()).filter(({ reason = '' }) => reason.includes('DATABASE_URL'));
  t.match(lines, [
    {
      level: 40,
      reason: /^password authentication failed for user "late"/,
      msg: 'The database cannot be used: not ready until it can.',
    },
  ]);
  t.equal(lines.length, 1);
  t.notMatch(service.output(), server.password);
});

t.test('a failed host name with several addresses is reported with each of them', async (t) => {
  const port = await freePort();
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '127.0.0.2', family: 4 },
  ];
  const socket = net.connect({
    host: 'database.example',
    port,
    lookup: (_, __, found) => found(null, addresses),
  });
  const [error] = await once(socket, 'error');
  t.equal(
    reasonOf(new ConnectionLost(error)),
    `connect ECONNREFUSED 127.0.0.1:${port}, connect ECONNREFUSED 127.0.0.2:${port}. ` +
      'No server listens at this address: start PostgreSQL, or correct host and port in DATABASE_URL.',
  );
});

t.test(
  'a start warns of each setting of roles.sql that another default overrides, and only then',
  async (t) => {
    t.same(await warningsOf(db.url), []);
    const user = 'unset';
    const url = await login(user, 'in role club_api');
    t.match(await warningsOf(url), [
      {
        login: user,
        plan_cache_mode: 'auto',
        msg: /plan_cache_mode = force_generic_plan.*Run sql\/roles\.sql/,
      },
    ]);
    await admin.query(
      `alter role ${user} set plan_cache_mode = force_generic_plan;
     alter role ${user} set default_transaction_isolation = 'serializable';
     alter role ${user} set default_transaction_read_only = on`,
    );
    t.match(await warningsOf(url), [
      { login: user, default_transaction_isolation: 'serializable' },
      { login: user, default_transaction_read_only: 'on' },
    ]);
  },
);

t.test('a start on a database that is not deployed warns of that only', async (t) => {
  await createDatabase(server, 'empty');
  const warnings = await warningsOf(server.url('empty', 'club_api', server.password));
  t.match(warnings, [{ msg: /older than this release/ }]);
  t.equal(warnings.length, 1);
});
