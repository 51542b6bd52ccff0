import t from 'tap';
import { findPgBouncer, startPooler } from '../setup/pooler.js';
import { startProxy, type TestProxy } from '../setup/proxy.js';
import { startService } from '../setup/service.js';
import { countsOf, shiftRequest, tally } from '../setup/shifts.js';
import { until } from '../setup/wait.js';

const SERVER_CONNECTIONS = 2;
const SIZE = 6;
const CALLERS = 10;
const CAPACITY = 7;
const program = await findPgBouncer();
const skip = program === undefined && 'PgBouncer is missing; install pgbouncer';

t.test(
  'behind PgBouncer in transaction mode, clubs that share connections get only their own results and rows',
  { skip },
  async (t) => {
    const service = await startService(t, {}, async (db) => ({
      url: await startPooler(t, program as string, db.url, SERVER_CONNECTIONS),
      size: SIZE,
      prepare: false,
      readsPerConnection: 8,
    }));
    const clubs = await Promise.all(
      ['north', 'south'].map(async (name) => {
        const id = await service.db.makeClub(name);
        const manager = service.as(`manager of ${name}`, 'Manager', id);
        const { body: shift } = await manager.post('/api/shifts', shiftRequest({ capacity: CAPACITY }));
        return { name, id, manager, shiftId: shift.id as string };
      }),
    );

    const wrong: unknown[] = [];
    const expect = (what: string, seen: unknown, wanted: unknown) => {
      if (JSON.stringify(seen) !== JSON.stringify(wanted)) {
        wrong.push({ what, seen, wanted });
      }
    };
    // The callers are new to their club, so their first requests also write a member.
    const rushes = clubs.map(({ name, id, shiftId }, index) => {
      const foreign = clubs[1 - index]?.shiftId;
      return Promise.all(
        Array.from({ length: CALLERS }, async (_, turn) => {
          const title = `${name} ${turn}`;
          const caller = service.as(title, 'Manager', id);
          const me = (await caller.get('/api/members/me')).body;
          expect(`${title} is themselves`, me?.displayName, title);
          const made = await caller.post('/api/tasks', { title, assigneeId: me?.id });
          expect(`${title} writes`, [made.status, made.body?.title], [201, title]);
          const [read, listed, stranger, refused, signup] = await Promise.all([
            caller.get(`/api/tasks/${made.body?.id}`),
            caller.get('/api/tasks?limit=100'),
            caller.post(`/api/shifts/${foreign}/signup`),
            // Fails inside its transaction, which must not affect the next one on that connection.
            caller.patch(`/api/tasks/${made.body?.id}`, { state: 'Done' }),
            caller.post(`/api/shifts/${shiftId}/signup`),
          ]);
          expect(
            `${title} reads`,
            [read.status, read.body?.assigneeName, read.body?.title],
            [200, title, title],
          );
          const tasks: { title: string }[] = listed.status === 200 ? listed.body : [];
          const titles = tasks.map((task) => task.title);
          expect(`${title} lists`, [listed.status, titles.includes(title)], [200, true]);
          expect(
            `${title} lists no foreign row`,
            titles.filter((other) => !other.startsWith(name)),
            [],
          );
          expect(`${title} abroad`, [stranger.status, stranger.body?.code], [404, 'shift_not_found']);
          expect(`${title} skips steps`, refused.status, 422);
          return signup;
        }),
      );
    });
    const signups = await Promise.all(rushes);

    t.same(wrong, []);
    for (const [index, { name, id, manager, shiftId }] of clubs.entries()) {
      t.same(tally(signups[index] ?? []), { 201: CAPACITY, '409 shift_full': CALLERS - CAPACITY }, name);
      t.same(await countsOf(service.db, shiftId), [CAPACITY, CAPACITY]);
      const { body } = await manager.get(`/api/shifts/${shiftId}`);
      t.same([body.signupCount, body.signups.length], [CAPACITY, CAPACITY]);
      const kept = await service.db.queryAsAdmin<{ title: string }>(
        'select title from app.tasks where tenant_id = $1',
        [id],
      );
      t.same(
        kept.map(({ title }) => title).sort(),
        Array.from({ length: CALLERS }, (_, turn) => `${name} ${turn}`).sort(),
        'each acknowledged task is stored once',
      );
    }
    const [used] = await service.db.queryAsAdmin(
      `select count(*)::int as connections from pg_stat_activity
       where datname = current_database() and application_name = 'club-management-service'`,
    );
    t.same(used, { connections: SERVER_CONNECTIONS }, `${SIZE} connections shared ${SERVER_CONNECTIONS}`);
  },
);

t.test(
  'behind PgBouncer, requests get 503 while PostgreSQL is away, and succeed afterwards',
  { skip },
  async (t) => {
    let server: TestProxy | undefined;
    const service = await startService(t, {}, async (db) => {
      server = await startProxy(t, db.url);
      const url = await startPooler(t, program as string, server.url, SERVER_CONNECTIONS);
      return { url, size: SIZE, prepare: false, readsPerConnection: 8 };
    });
    const anna = service.as('anna', 'Manager', await service.db.makeClub());
    const read = async () => (await anna.get('/api/tasks')).status;
    t.equal(await read(), 200);
    await server?.stop();
    for (let request = 0; request < 5; request += 1) {
      t.equal(await read(), 503);
    }
    await server?.start();
    t.equal(await until(read, (status) => status === 200), 200);
  },
);
