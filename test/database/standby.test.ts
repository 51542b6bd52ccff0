import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import t from 'tap';
import { provisionClub } from '../../src/clubs/provision.js';
import { inClub } from '../../src/database/context.js';
import { Database } from '../../src/database/database.js';
import { Unavailable } from '../../src/database/failures.js';
import { sql } from '../../src/database/sql.js';
import { startVictim } from '../chaos/postgres.js';
import { callerOf, until } from '../setup/caller.js';

// A server of its own: what a COMMIT waits for is a setting of all its databases.
const victim = await startVictim(t);
const name = await victim.makeDatabase();
const look = <Row extends pg.QueryResultRow>(text: string) => victim.look<Row>(name, text);
const database = new Database({ url: victim.urls(name).api, slots: 1, prepare: true });
t.teardown(() => database.close());
const club = await provisionClub(victim.urls(name).migration, {
  name: 'North',
  slug: 'north',
  timeZone: 'Europe/Berlin',
});

/** What a writer of a task is told. */
const write = (title: string) =>
  inClub(database, callerOf(club), 'read write', (tx) =>
    tx.query(sql`insert into app.tasks (title) values (${title})`),
  ).then(
    () => 'kept',
    (error) => (error instanceof Unavailable ? error.kept : error),
  );
const isThere = async (title: string) =>
  (await look(`select from app.tasks where title = '${title}'`)).length === 1;
const waitFor = async (standby: string) => {
  await look(`alter system set synchronous_standby_names = '${standby}'`);
  await look('select pg_reload_conf()');
};
/** The process that waits for the standby, once there is one. */
const waiting = async (): Promise<number> => {
  const [row] = await look<{ pid: number }>(`select pid from pg_stat_activity where wait_event = 'SyncRep'`);
  return row?.pid ?? sleep(50).then(waiting);
};
let count = 0;
/** Writes until a COMMIT waits: the setting takes its time. */
const writeAndWait = async (): Promise<{ title: string; told: Promise<unknown>; pid: number }> => {
  count += 1;
  const title = `write ${count}`;
  const told = write(title);
  const pid = await Promise.race([waiting(), told]);
  return typeof pid === 'number' ? { title, told, pid } : writeAndWait();
};

t.test('a COMMIT that waits no longer for its standby is no promise', async (t) => {
  t.equal(await write('before'), 'kept');
  await waitFor('nobody');
  for (const end of ['pg_cancel_backend', 'pg_terminate_backend']) {
    const { title, told, pid } = await writeAndWait();
    await look(`select ${end}(${pid})`);
    t.equal(await told, 'unknown', end);
    t.ok(await isThere(title), 'kept here, and nowhere else');
  }
  t.equal(await write('late'), 'unknown', 'who waits for too long');
  await waitFor('');
  t.equal(
    await until(
      () => write('after'),
      (told) => told === 'kept',
    ),
    'kept',
  );
  t.same(database.load, { lent: 0, waiting: 0 });
});
