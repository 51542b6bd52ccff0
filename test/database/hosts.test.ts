import t from 'tap';
import { Connection } from '../../src/database/connection.js';
import { Database } from '../../src/database/database.js';
import { reasonOf, Standby } from '../../src/database/errors.js';
import { parseServers } from '../../src/database/servers.js';
import { sql } from '../../src/database/sql.js';
import { OUTSIDE_OF_CLUBS } from '../../src/database/tenant-context.js';
import { withClient } from '../../src/deploy/client.js';
import { type Advance, stopClock } from '../setup/clock.js';
import { configErrors, production } from '../setup/config.js';
import { makeDatabase } from '../setup/database.js';
import { freePort } from '../setup/free-port.js';
import { message, startProxy, type TestProxy } from '../setup/proxy.js';
import { until } from '../setup/wait.js';

const db = await makeDatabase(t);
/** As in src/database/open-first.ts and connection.ts. */
const [PATIENCE_MS, CONNECT_TIMEOUT_MS] = [250, 2_000];
const ROLE = 'target_session_attrs=primary';

/** The URL with these hosts instead of its own. */
function withHosts(url: string, hosts: string[], query = ROLE): string {
  const { host } = new URL(url);
  return `${url.replace(`@${host}/`, `@${hosts.join(',')}/`)}?${query}`;
}
const hostOf = (url: string) => new URL(url).host;
const untilClosed = (proxy: TestProxy) =>
  until(
    async () => proxy.open,
    (sockets) => sockets === 0,
    { forMs: 20_000 },
  );
/** Waits until a connection is open, while the clock stands still; after half a minute its limit passes. */
async function untilOpen(connection: Connection, advance: Advance): Promise<void> {
  if (!(await until(() => connection.isOpen, Boolean, { forMs: 30_000 }))) {
    await advance(CONNECT_TIMEOUT_MS);
  }
  await connection.ready;
}
const closed = async () => `127.0.0.1:${await freePort()}`;

t.test('a list of hosts is that of libpq; an invalid one is refused with one sentence', async (t) => {
  t.same(
    parseServers(
      'postgres://u:p%2C@one:5432,[::1]:2,three/d?target_session_attrs=read-write&sslmode=disable',
    ),
    {
      urls: ['one:5432', '[::1]:2', 'three'].map((host) => `postgres://u:p%2C@${host}/d?sslmode=disable`),
      role: 'read-write',
    },
  );
  const url = 'postgres://u:p@one/d?application_name=a%20b';
  t.same(parseServers(url), { urls: [url], role: 'any' }, 'one host is not changed');
  const refused: [hosts: string, reason: RegExp][] = [
    ['one,', /\(host 2 of the list is empty\)/],
    [',two', /\(host 1 of the list is empty\)/],
    ['one:1:2,two', /\(host 1 of the list is not a host with one port\)/],
    ['one,two:x', /\(host 2 of the list is not a host with one port\)/],
    ['u:secret,pa/ss@one', /\(host 1 of the list is not a host with one port\)/],
    ['one,two/d?host=three#', /\(the hosts are in a list or in the parameter host, not in both\)/],
    ['one,two:99999', /\(Invalid URL\)/],
  ];
  for (const [hosts, reason] of refused) {
    const errors = configErrors({ ...production, DATABASE_URL: `postgres://u@${hosts}/d?${ROLE}` });
    t.equal(errors.length, 1, hosts);
    t.match(errors[0], reason, hosts);
  }
  for (const role of ['', 'standby', 'Primary', 'any,primary']) {
    const DATABASE_URL = `postgres://u@one,two/d?target_session_attrs=${role}`;
    t.match(configErrors({ ...production, DATABASE_URL }), [
      /target_session_attrs must be one of any, primary, read-write/,
    ]);
  }
});

t.test('several hosts need the role of the primary, and no pooler', async (t) => {
  const url = (role: string) => `postgres://u@one,two/d${role}`;
  for (const role of ['?target_session_attrs=primary', '?target_session_attrs=read-write']) {
    t.same(configErrors({ ...production, DATABASE_URL: url(role) }), []);
    t.match(configErrors({ ...production, DATABASE_URL: url(role), DATABASE_PREPARE: 'off' }), [
      /DATABASE_URL must name one host with DATABASE_PREPARE=off/,
    ]);
  }
  for (const role of ['', '?target_session_attrs=any']) {
    t.match(configErrors({ ...production, DATABASE_URL: url(role) }), [
      /DATABASE_URL must have target_session_attrs=primary/,
    ]);
    t.match(configErrors({ ...production, MIGRATION_DATABASE_URL: url(role) }), [
      /MIGRATION_DATABASE_URL must have target_session_attrs=primary/,
    ]);
    t.same(configErrors({ ...production, AUDIT_DATABASE_URL: url(role) }), []);
  }
});

t.test('the next host is tried when one refuses, and after 250 ms without an answer', async (t) => {
  const advance = stopClock(t);
  const silent = await startProxy(t, db.url);
  silent.greeting = 'say nothing';
  const good = await startProxy(t, db.url);
  /** Waits until the silent host was tried this often; then 250 ms pass. */
  const pass = async (tried: number) => {
    await until(
      () => silent.accepted,
      (count) => count === tried,
    );
    const { accepted } = good;
    await advance(PATIENCE_MS - 1);
    t.equal(good.accepted, accepted);
    await advance(1);
  };
  for (const first of [await closed(), hostOf(silent.url)]) {
    const url = withHosts(db.url, [first, hostOf(good.url)]);
    const isSilent = first === hostOf(silent.url);
    const connection = new Connection({ url, prepare: true });
    await (isSilent && pass(1));
    await untilOpen(connection, advance);
    t.equal(hostOf(connection.url ?? ''), hostOf(good.url));
    t.same([...(await connection.query(sql`select 1 as one`))], [{ one: 1 }]);
    t.equal(await untilClosed(silent), 0, 'the slow one is abandoned');
    await connection.close();
    const rows = withClient(url, async (client) => (await client.query('select 1 as one')).rows);
    await (isSilent && pass(2));
    t.same(await rows, [{ one: 1 }]);
  }
  t.equal(await untilClosed(silent), 0);
});

t.test('without a host that can be used, the error names each reason within the limit', async (t) => {
  const advance = stopClock(t);
  const silent = await startProxy(t, db.url);
  silent.greeting = 'say nothing';
  const hosts = [await closed(), await closed()];
  const refused = new Connection({ url: withHosts(db.url, hosts), prepare: true });
  const reason = await refused.ready.then(() => '', reasonOf);
  t.ok(
    hosts.every((host) => reason.includes(host)),
    reason,
  );
  t.ok(refused.isDestroyed);
  const hanging = new Connection({ url: withHosts(db.url, [hostOf(silent.url), ...hosts]), prepare: true });
  await advance(CONNECT_TIMEOUT_MS - 1);
  t.notOk(hanging.isDestroyed);
  await advance(1);
  t.match(await hanging.ready.then(() => '', reasonOf), /not ready in time/);
  t.equal(await untilClosed(silent), 0);
});

t.test('a connection that is destroyed tries no further host', async (t) => {
  const advance = stopClock(t);
  const [silent, next] = [await startProxy(t, db.url), await startProxy(t, db.url)];
  silent.greeting = 'say nothing';
  const hosts = [silent, next].map(({ url }) => hostOf(url));
  const connection = new Connection({ url: withHosts(db.url, hosts), prepare: true });
  connection.destroy(new Error('not needed'));
  t.match(await connection.ready.then(() => '', reasonOf), /not needed/);
  await advance(10 * PATIENCE_MS);
  // It would be accepted before this one.
  const later = new Connection({ url: next.url, prepare: true });
  await later.ready;
  await later.close();
  t.equal(next.accepted, 1);
  t.equal(await untilClosed(silent), 0);
});

t.test('of three hosts two may be silent', async (t) => {
  const advance = stopClock(t);
  const silent = await startProxy(t, db.url);
  silent.greeting = 'say nothing';
  const hosts = [hostOf(silent.url), hostOf(silent.url), hostOf(db.url)];
  const connection = new Connection({ url: withHosts(db.url, hosts), prepare: true });
  await advance(2 * PATIENCE_MS);
  await untilOpen(connection, advance);
  await connection.close();
});

t.test('an operator gets the error of their work, even if another host was refused before', async (t) => {
  const standby = await startProxy(t, db.url);
  // One row of two columns: it is in recovery, and not read-only.
  const isStandby = message('D', '\0\x02\0\0\0\x01t\0\0\0\x01f');
  standby.onMessage = ({ type, from }) => (from === 'server' && type === 'D' ? { bytes: isStandby } : 'pass');
  const url = withHosts(db.url, [hostOf(standby.url), hostOf(db.url)]);
  const work = withClient(url, async (client) => {
    t.equal(await untilClosed(standby), 0);
    await client.query('select from nowhere');
  });
  await t.rejects(work, { code: '42P01' });
  t.equal(standby.accepted, 1);
});

t.test('a wrong password on several hosts is one reason with one remedy', async (t) => {
  const url = new URL(db.url);
  url.password = 'wrong';
  const connection = new Connection({ url: withHosts(url.href, [url.host, url.host]), prepare: true });
  const reason = await connection.ready.then(() => '', reasonOf);
  t.match(
    reason,
    /^password authentication failed for user "[^"]+"\. The server rejected the login or its password: [^.]+\.sql[^.]+\.$/,
  );
});

t.test('the host that was used last is tried first', async (t) => {
  const [one, two] = [await startProxy(t, db.url), await startProxy(t, db.url)];
  const url = withHosts(db.url, [hostOf(one.url), hostOf(two.url)]);
  const database = new Database({ url, size: 1, prepare: true, readsPerConnection: 1 });
  t.teardown(() => database.close());
  const read = () =>
    database
      .read({ operation: 'test', context: OUTSIDE_OF_CLUBS, query: sql`select 1 as one` })
      .catch(() => {});
  // Should the other one be slow, the next is tried as well, after 250 ms.
  const tried: TestProxy[] = [];
  for (const proxy of [one, two]) {
    proxy.onMessage = () => {
      tried.push(proxy);
      return 'pass';
    };
  }
  await read();
  t.equal(tried[0], one);
  await one.stop();
  one.cut();
  await read();
  await read();
  t.equal(tried.at(-1), two);
  await one.start();
  tried.length = 0;
  two.cut();
  await read();
  t.equal(tried[0], two);
});

t.test('a server that is read-only by default is not one for read-write', async (t) => {
  const { host } = new URL(db.url);
  const open = async (role: string) => {
    const query = `target_session_attrs=${role}&options=-c%20default_transaction_read_only%3Don`;
    const connection = new Connection({ url: withHosts(db.url, [host], query), prepare: true });
    const error = await connection.ready.then(
      () => undefined,
      (reason) => reason,
    );
    await connection.close();
    return error;
  };
  t.type(await open('read-write'), Standby);
  t.equal(await open('primary'), undefined);
});
