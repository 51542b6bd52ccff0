import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import t from 'tap';
import { provisionClub } from '../../src/clubs/provision.js';
import { inClub } from '../../src/database/context.js';
import { Database } from '../../src/database/database.js';
import { Unavailable } from '../../src/database/failures.js';
import { sql } from '../../src/database/sql.js';
import { startVictim } from '../chaos/postgres.js';
import { callerOf } from '../setup/caller.js';

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
  await sleep(200);
};
const untilItWaits = async (howOften = 100): Promise<number | undefined> => {
  const [waiting] = await look<{ pid: number }>(
    `select pid from pg_stat_activity where wait_event = 'SyncRep'`,
  );
  if (waiting !== undefined || howOften === 0) {
    return waiting?.pid;
  }
  await sleep(50);
  return untilItWaits(howOften - 1);
};

t.test('a COMMIT that waits no longer for its standby is no promise', async (t) => {
  t.equal(await write('before'), 'kept');
  await waitFor('nobody');
  for (const end of ['pg_cancel_backend', 'pg_terminate_backend']) {
    const told = write(end);
    await look(`select ${end}(${await untilItWaits()})`);
    t.equal(await told, 'unknown', end);
    t.ok(await isThere(end), 'kept here, and nowhere else');
  }
  t.equal(await write('late'), 'unknown', 'who waits for too long');
  await waitFor('');
  t.equal(await write('after'), 'kept');
  t.same(database.load, { lent: 0, waiting: 0 });
});
