import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { pino } from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { Database } from '../../src/database/database.js';
import { Unavailable } from '../../src/database/errors.js';
import { type Query, sql } from '../../src/database/sql.js';
import { writeInTenant } from '../../src/database/tenant-context.js';
import { withClient } from '../../src/deploy/client.js';
import { provisionClub } from '../../src/deploy/provision-club.js';
import { startVictim } from '../campaigns/chaos/postgres.js';
import { sendTo } from '../setup/send.js';
import { until } from '../setup/wait.js';
import { callerOf, readRows } from '../setup/work.js';

// A separate server: synchronous replication is a setting of the whole server.
const victim = await startVictim(t);
const name = await victim.makeDatabase();
const queryAsAdmin = <Row extends pg.QueryResultRow>(text: string) => victim.queryAsAdmin<Row>(name, text);
const database = new Database({ url: victim.urls(name).api, size: 1, prepare: true, readsPerConnection: 1 });
t.teardown(() => database.close());
const club = await provisionClub(victim.urls(name).migration, {
  name: 'North',
  slug: 'north',
  timeZone: 'Europe/Berlin',
});

/** Runs a statement as an Admin; returns the result for its caller. */
const run = (query: Query<object>, to = database) =>
  writeInTenant(to, callerOf(club), 'write', (tx) => tx.query(query)).then(
    () => 'committed',
    (error) => (error instanceof Unavailable ? error.committed : error),
  );
/** Writes a task. */
const write = (title: string, to = database) => run(sql`insert into app.tasks (title) values (${title})`, to);
/** Writes until a write is committed: on a busy machine a connection may not open in time. */
const writeAgain = (title: string) =>
  until(
    () => write(title),
    (outcome) => outcome === 'committed',
  );
const isThere = async (title: string) =>
  (await queryAsAdmin(`select from app.tasks where title = '${title}'`)).length === 1;
const waitFor = async (standby: string) => {
  await queryAsAdmin(`alter system set synchronous_standby_names = '${standby}'`);
  await queryAsAdmin('select pg_reload_conf()');
};
/** The process that waits for the standby, once there is one. */
const waiting = async (): Promise<number> => {
  const [row] = await until(
    () => queryAsAdmin<{ pid: number }>(`select pid from pg_stat_activity where wait_event = 'SyncRep'`),
    (rows) => rows.length > 0,
  );
  return row?.pid as number;
};
let count = 0;
/** Writes until a COMMIT waits: the setting takes effect with a delay. */
const writeAndWait = async (): Promise<{ title: string; outcome: Promise<unknown>; pid: number }> => {
  count += 1;
  const title = `write ${count}`;
  const outcome = write(title);
  const pid = await Promise.race([waiting(), outcome]);
  return typeof pid === 'number' ? { title, outcome, pid } : writeAndWait();
};

t.test(
  'a COMMIT whose wait for its standby is cancelled is reported as unknown, and its connection is destroyed',
  async (t) => {
    t.equal(await writeAgain('before'), 'committed');
    await waitFor('absent');
    for (const end of ['pg_cancel_backend', 'pg_terminate_backend']) {
      const { title, outcome, pid } = await writeAndWait();
      await queryAsAdmin(`select ${end}(${pid})`);
      t.equal(await outcome, 'unknown', end);
      t.ok(await until(() => isThere(title), Boolean), 'committed here, and nowhere else');
    }
    t.equal(await write('late'), 'unknown', 'the deadline of the transaction ends the wait');
    await waitFor('');
    t.equal(await writeAgain('after'), 'committed');
    t.same(database.load, { inUse: 0, queued: 0 });
  },
);

t.test('a stored response is sent again only when the standby has it', async (t) => {
  await waitFor('absent');
  const { pid: first } = await writeAndWait();
  await queryAsAdmin(`select pg_cancel_backend(${first})`);
  for (const attempt of ['first', 'replay']) {
    const outcome = run(sql`select app.claim_key('key', sha256(''))`);
    const pid = await Promise.race([waiting(), outcome]);
    t.type(pid, 'number', `the ${attempt} one waits`);
    await queryAsAdmin(`select pg_cancel_backend(${Number(pid)})`);
    t.equal(await outcome, 'unknown', attempt);
  }
  await waitFor('');
  t.equal(await writeAgain('after the replay'), 'committed');
});

t.test('on a standby the service reads, refuses writes and is not ready, until it is promoted', async (t) => {
  const [row] = await queryAsAdmin<{ path: string }>(`select current_setting('data_directory') as path`);
  await writeFile(join(row?.path ?? '', 'standby.signal'), '');
  await victim.restart('SIGINT');
  const provided = { NODE_ENV: 'test', AUTH_ISSUER: 'http://127.0.0.1:9' };
  const config = readServerConfig({ ...provided, DATABASE_URL: victim.urls(name).api }, {});
  const standby = new Database(config.database);
  const { app, audit } = await buildApp({
    config,
    database: standby,
    logger: pino({ level: 'silent' }),
    auditTimes: null,
  });
  t.teardown(async () => {
    await app.close();
    await standby.close();
  });
  await audit.run();
  const send = sendTo(app);
  const ready = async () => {
    const { status, body } = await send('GET', '/readyz');
    return { status, detail: body.detail };
  };

  const { api, migration } = victim.urls(name);
  const ofPrimary = new Database({ ...config.database, url: `${api}?target_session_attrs=primary` });
  const readOnly = 'target_session_attrs=read-write&options=-c%20default_transaction_read_only%3Don';
  const ofReadOnly = new Database({ ...config.database, url: `${api}?${readOnly}` });
  t.teardown(() => Promise.all([ofPrimary.close(), ofReadOnly.close()]));
  for (const one of [ofPrimary, ofReadOnly]) {
    await t.rejects(readRows(one, callerOf(club), sql`select title from app.tasks`), {
      name: 'Standby',
      message: 'The server is a standby. DATABASE_URL must lead to the primary.',
    });
  }
  await t.rejects(
    withClient(`${migration}?target_session_attrs=primary`, async () => {}),
    { message: /The server is a standby\. MIGRATION_DATABASE_URL must lead to the primary\.$/ },
  );

  t.same(await ready(), {
    status: 503,
    detail: 'The server is a standby. DATABASE_URL must lead to the primary.',
  });
  const titles = sql`select title from app.tasks where title = 'before'`;
  const rows = await readRows(standby, callerOf(club), titles);
  t.same(rows, [{ title: 'before' }]);
  t.equal(await write('on a standby', standby), 'no');

  await queryAsAdmin('select pg_promote()');
  t.match(await ready(), { status: 200 });
  t.equal(await write('after the promotion', standby), 'committed');
  t.equal(await write('after the promotion of the primary', ofPrimary), 'committed');
  await t.rejects(readRows(ofReadOnly, callerOf(club), titles), {
    name: 'Standby',
    message: 'The server is read-only.',
  });
  await withClient(`${migration}?target_session_attrs=primary`, (client) => client.query('select'));
  await t.rejects(
    withClient(`${migration}?${readOnly}`, async () => {}),
    /The server is read-only\.$/,
  );
});
