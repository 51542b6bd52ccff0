import t from 'tap';
import type { Person, Response } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { until, untilIdle } from '../setup/wait.js';

const SIZE = 4;
const service = await startService(t, {}, async ({ url }) => ({
  ...{ url, size: SIZE },
  ...{ prepare: true, readsPerConnection: 8 },
}));

/** One club under load: its acknowledged writes, and the foreign rows that it saw. */
interface Club {
  slug: string;
  id: string;
  manager: Person;
  acknowledged: Map<string, string>;
}

const clubs: Club[] = await Promise.all(
  ['north', 'south'].map(async (slug) => {
    const id = await service.db.makeClub(slug);
    const manager = service.as(`manager-${slug}`, 'Manager', id);
    return { slug, id, manager, acknowledged: new Map() };
  }),
);
const backends = async () =>
  (
    await service.db.queryAsAdmin<{ pid: number; club: string }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'club-management-service'
       order by backend_start`,
    )
  ).map(({ pid }) => pid);

t.test(
  'terminated backends under two active clubs cause no foreign row and lose no acknowledged write',
  async (t) => {
    const statuses = new Map<string, number>();
    const foreign: unknown[] = [];
    const broken: unknown[] = [];
    let kills = 0;
    const count = (kind: string) => statuses.get(kind) ?? 0;
    // Backends are killed until every kind of result has occurred often enough.
    const goesOn = () =>
      kills < 150 || count('write 503') < 1 || count('write 201') <= 50 || count('read 200') <= 50;

    let responses = 0;
    const note = (kind: string, { status, body }: Response) => {
      responses += 1;
      statuses.set(`${kind} ${status}`, (statuses.get(`${kind} ${status}`) ?? 0) + 1);
      if (status >= 400 && status !== 503) {
        broken.push({ kind, status, body });
      }
    };
    const write = async ({ slug, manager, acknowledged }: Club, worker: number) => {
      for (let turn = 0; goesOn(); turn += 1) {
        const title = `${slug}-${worker}-${turn}`;
        const response = await manager.post('/api/tasks', { title });
        note('write', response);
        if (response.status === 201) {
          acknowledged.set(response.body.id, title);
          if (response.body.title !== title) {
            foreign.push(response.body);
          }
        }
      }
    };
    const read = async ({ slug, id, manager, acknowledged }: Club) => {
      while (goesOn()) {
        const list = await manager.get('/api/tasks?limit=20');
        note('read', list);
        const tasks: { id: string; title: string }[] = list.status === 200 ? list.body : [];
        foreign.push(...tasks.filter(({ title }) => !title.startsWith(slug)));
        const known = [...acknowledged.keys()].at(-1);
        if (known !== undefined) {
          const one = await manager.get(`/api/tasks/${known}`);
          note('read', one);
          if (one.status === 200 && (one.body.id !== known || one.body.clubId !== id)) {
            foreign.push(one.body);
          }
        }
      }
    };
    const kill = async () => {
      while (goesOn()) {
        // The oldest ones in turn; a connection that is being opened has a turn, too.
        const [pid] = await backends();
        if (pid !== undefined) {
          await service.db.queryAsAdmin('select pg_terminate_backend($1)', [pid]);
          kills += 1;
        }
        const enough = responses + (kills % 10);
        await until(
          () => responses,
          (count) => count >= enough || !goesOn(),
          { everyMs: 1 },
        );
      }
    };

    const work = clubs.flatMap((club) => [
      write(club, 1),
      write(club, 2),
      write(club, 3),
      read(club),
      read(club),
    ]);
    await Promise.all([...work, kill()]);
    t.comment(`${kills} kills: ${JSON.stringify([...statuses])}`);

    t.same(foreign, []);
    t.same(broken, []);
    t.same(await untilIdle(service.database), { inUse: 0, queued: 0 });
    t.ok((await until(backends, (pids) => pids.length <= SIZE)).length <= SIZE);

    for (const { slug, id, acknowledged } of clubs) {
      const rows = await service.db.queryAsAdmin<{ id: string; title: string }>(
        'select id, title from app.tasks where tenant_id = $1',
        [id],
      );
      const there = new Map(rows.map((row) => [row.id, row.title]));
      t.same(
        [...acknowledged].filter(([key, title]) => there.get(key) !== title),
        [],
        'each acknowledged write is stored',
      );
      t.equal(new Set(there.values()).size, there.size, 'and nothing is written twice');
      t.same(
        [...there.values()].filter((title) => !title.startsWith(slug)),
        [],
      );
    }
  },
);

t.test('afterwards every request succeeds at once', async (t) => {
  for (const { manager } of clubs) {
    for (let turn = 0; turn < 2 * SIZE; turn += 1) {
      t.equal((await manager.get('/api/tasks')).status, 200);
    }
  }
});
