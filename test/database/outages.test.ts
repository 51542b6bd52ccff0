import t from 'tap';
import { startService, withTimeLimits } from '../setup/service.js';

// Operators' actions on a database, by mistake or on purpose, while the service runs: each response is correct or a 503.
const service = await startService(t, {}, withTimeLimits);
const { db } = service;
const anna = service.as('anna', 'Manager', await db.makeClub('north'));
const database = new URL(db.url).pathname.slice(1);
const made = await anna.post('/api/tasks', { title: 'Before' });

/** Settings apply to new sessions only, so the sessions are terminated. */
const END = `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'club_api' and datname = '${database}'`;
const ofDatabase = (setting: string) => [
  `alter role club_api in database ${database} set ${setting}`,
  `alter role club_api in database ${database} reset ${setting.split(' ', 1)[0]}`,
];
const raising = (sqlstate: string) => [
  `create function public.fault() returns trigger language plpgsql as $$ begin raise exception using errcode = '${sqlstate}'; end $$;
   create trigger fault before insert on app.tasks for each row execute function public.fault()`,
  'drop trigger fault on app.tasks; drop function public.fault',
];

/** The SQL of a fault and its repair; in between reads, or writes, or both, are 503. */
const FAULTS: [fault: string, [plant: string, repair: string], reads: number, writes: number][] = [
  ['connections are forbidden', [`alter database ${database} connection limit 0`, `alter database ${database} connection limit -1`], 503, 503],
  ['the right to connect is revoked', [`revoke connect on database ${database} from club_api`, `grant connect on database ${database} to club_api`], 503, 503],
  ['every statement runs out of time', ofDatabase("statement_timeout = '1ms'") as [string, string], 503, 503],
  ['the right to the schema is revoked', ['revoke usage on schema app from club_api', 'grant usage on schema app to club_api'], 503, 503],
  ['the right to the table is revoked', ['revoke select on app.tasks from club_api', 'grant select on app.tasks to club_api'], 503, 503],
  ['the right to enter a club is revoked', ['revoke execute on function app.enter from club_api', 'grant execute on function app.enter to club_api'], 503, 503],
  ['row-level security is switched off for queries', ofDatabase('row_security = off') as [string, string], 503, 503],
  ['a table is renamed', ['alter table app.tasks rename to jobs', 'alter table app.jobs rename to tasks'], 503, 503],
  ['a column is renamed', ['alter table app.tasks rename title to name', 'alter table app.tasks rename name to title'], 503, 503],
  ['a function is renamed', ['alter function app.enter rename to go_in', 'alter function app.go_in rename to enter'], 503, 503],
  ['the disk is full', raising('53100') as [string, string], 200, 503],
  ['transaction ids have run out', raising('54000') as [string, string], 200, 503],
  ['a publication needs a replica identity', raising('55000') as [string, string], 200, 503],
  ['a column becomes a generated column', ['alter table app.tasks rename title to old; alter table app.tasks alter old drop not null, add title text generated always as (old) stored', 'alter table app.tasks drop title; alter table app.tasks rename old to title; alter table app.tasks alter title set not null'], 200, 503],
  ['a rule replaces inserts into the table', ['create rule fault as on insert to app.tasks do instead nothing', 'drop rule fault on app.tasks'], 200, 503],
  ['the data is corrupt', raising('XX001') as [string, string], 200, 503],
  ['an operator cancels statements', raising('57014') as [string, string], 200, 503],
  ['dates have another format', ofDatabase("datestyle = 'German, DMY'") as [string, string], 200, 201],
  ['the client encoding is another one', ofDatabase("client_encoding = 'LATIN1'") as [string, string], 200, 201],
  ['the search path is another one', ofDatabase('search_path = pg_catalog') as [string, string], 200, 201],
  ['backslashes are escapes in strings', ofDatabase('standard_conforming_strings = off') as [string, string], 200, 201],
  ['transactions are serializable', ofDatabase("default_transaction_isolation = 'serializable'") as [string, string], 200, 201],
  ['transactions are read-only by default', ofDatabase('default_transaction_read_only = on') as [string, string], 200, 201],
]; // biome-ignore format: a fault a line

for (const [fault, [plant, repair], reads, writes] of FAULTS) {
  t.test(`when ${fault}, no request is a 500, and all succeed after the repair`, async (t) => {
    await db.queryAsAdmin(plant);
    await db.queryAsAdmin(END);
    // The first request may still use a terminated session.
    await anna.get('/api/clubs/current');
    const title = 'Größe \\ 東京';
    const read = await anna.get(`/api/tasks/${made.body.id}`);
    const write = await anna.post('/api/tasks', { title, dueAt: '2030-02-03T04:05:06Z' });
    await db.queryAsAdmin(repair);
    await db.queryAsAdmin(END);
    await anna.get('/api/clubs/current');
    t.same([read.status, write.status], [reads, writes]);
    for (const { status, headers } of [read, write]) {
      t.ok(status !== 503 || headers['retry-after'] === '1');
    }
    if (read.status === 200) {
      t.same(read.body, made.body);
    }
    if (write.status === 201) {
      t.match(write.body, { title, dueAt: '2030-02-03T04:05:06Z' });
    }
    t.equal((await anna.get(`/api/tasks/${made.body.id}`)).status, 200);
    t.equal((await anna.post('/api/tasks', { title })).status, 201);
  });
}

t.test('where the login is read-only by default, calls get 503, and transactions succeed', async (t) => {
  const [set, reset] = ofDatabase('default_transaction_read_only = on') as [string, string];
  const { body: shift } = await anna.post('/api/shifts', {
    title: 'Bar',
    startsAt: '2099-06-01T18:00:00Z',
    endsAt: '2099-06-01T22:00:00Z',
    capacity: 1,
  });
  const call = () => anna.post(`/api/shifts/${shift.id}/signup`);
  await db.queryAsAdmin(set);
  await db.queryAsAdmin(END);
  await anna.get('/api/clubs/current');
  t.match(await call(), { status: 503, body: { code: 'service_unavailable' } });
  const patch = () => anna.patch(`/api/tasks/${made.body.id}`, { description: 'Two.' });
  t.match(await patch(), { status: 503, body: { code: 'service_unavailable' } });
  t.equal((await anna.post('/api/tasks', { title: 'Order oars' })).status, 201);
  await db.queryAsAdmin(reset);
  await db.queryAsAdmin(END);
  await anna.get('/api/clubs/current');
  t.equal((await call()).status, 201);
  t.equal((await patch()).status, 200);
});
