import { randomBytes } from 'node:crypto';
import t from 'tap';
import { SHIFT } from '../../setup/endpoints.js';
import { startService } from '../../setup/service.js';
import { type Probe, startClock } from './clock.js';
import { apart, rank } from './rank.js';
import { attack, isWhole } from './tally.js';

/** Of each kind, after as many warm-up requests. Only relative times count, so a busy machine is allowed to be slow. */
const SAMPLES = isWhole ? 5_000 : 100;
const WARM = isWhole ? 300 : 30;
// Without limits: one of them counts the requests of a link.
const service = await startService(t, { rateLimitPerMinute: 0 });
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const west = await service.db.makeClub('west');
const admin = { north: service.as('anna', 'Manager', north), south: service.as('sam', 'Manager', south) };

const ids = { task: [] as string[], shift: [] as string[], member: [] as string[], event: [] as string[] };
for (let count = 0; count < 20; count += 1) {
  ids.task.push((await admin.south.post('/api/tasks', { title: 'Mow' })).body.id);
  ids.shift.push((await admin.south.post('/api/shifts', SHIFT)).body.id);
  ids.member.push(await service.as(`guest-${count}`, 'Member', south).memberId());
}
ids.event = (await admin.south.get('/api/events?limit=20')).body.map(({ id }: { id: string }) => id);
const calendars: string[] = [];
for (let count = 0; count < 20; count += 1) {
  const { url } = (await service.as(`guest-${count}`, 'Member', south).put('/api/members/me/calendar')).body;
  calendars.push(url.split('/').at(-1));
}
const own = (await admin.north.post('/api/tasks', { title: 'Mow' })).body.id;
const anna = await admin.north.memberId();
const authorization = `Bearer ${service.token({ sub: 'anna', name: 'anna', clubs: { [north]: 'Manager' } })}`;
const measure = await startClock(t, service, { authorization, club: north, warm: WARM });

const probes: Probe[] = [
  { title: 'GET a task', method: 'GET', ids: ids.task, path: (id) => `/api/tasks/${id}`, code: 'task_not_found' },
  { title: 'GET a shift', method: 'GET', ids: ids.shift, path: (id) => `/api/shifts/${id}`, code: 'shift_not_found' },
  { title: 'GET a member', method: 'GET', ids: ids.member, path: (id) => `/api/members/${id}`, code: 'member_not_found' },
  { title: 'GET the tasks of a member', method: 'GET', ids: ids.member, path: (id) => `/api/tasks?assigneeId=${id}`, code: '' },
  { title: 'GET what is after an event', method: 'GET', ids: ids.event, path: (id) => `/api/events?after=${id}`, code: 'events_forgotten' },
  { title: 'GET the events of a task', method: 'GET', ids: ids.task, path: (id) => `/api/events?subjectId=${id}`, code: '' },
  { title: 'GET the changes of a member', method: 'GET', ids: ids.member, path: (id) => `/api/events?actorId=${id}`, code: '' },
  {
    title: 'PUT a shift',
    method: 'PUT',
    ids: ids.shift,
    path: (id) => `/api/shifts/${id}`,
    body: () => SHIFT,
    code: 'shift_not_found',
  },
  {
    title: 'PATCH an assignee',
    method: 'PATCH',
    ids: ids.member,
    path: () => `/api/tasks/${own}`,
    body: (assigneeId) => ({ assigneeId }),
    code: 'assignee_not_member',
  },
  {
    title: 'sign up',
    method: 'POST',
    ids: ids.shift,
    path: (id) => `/api/shifts/${id}/signup`,
    body: () => ({}),
    code: 'shift_not_found',
  },
  { title: 'GET a signup', method: 'GET', ids: ids.shift, path: (id) => `/api/shifts/${id}/signup`, code: 'shift_not_found' },
  { title: 'cancel a signup', method: 'DELETE', ids: ids.shift, path: (id) => `/api/shifts/${id}/signup`, code: 'shift_not_found' },
  {
    title: 'GET a calendar',
    method: 'GET',
    ids: calendars,
    missing: calendars.map(() => `${randomBytes(32).toString('base64url')}.ics`),
    path: (file) => `/calendars/${north}/${file}`,
    code: 'calendar_not_found',
  },
  { title: 'name a club of a calendar', method: 'GET', ids: [north, west], path: (id) => `/calendars/${id}/${calendars[0]}`, code: 'calendar_not_found' },
  {
    title: 'name a club',
    method: 'GET',
    ids: [south, west],
    path: () => '/api/clubs/current',
    tenant: (id) => id,
    code: 'tenant_forbidden',
  },
]; // biome-ignore format: a probe each

t.test('the rank test gives 0.5 for equal samples, and the known values for others', async (t) => {
  // The textbook example of the Mann–Whitney test, a race: in 11 of 36 pairs the hare is behind.
  const race = [...'THHHHHTTTTTH'].map((runner, place) => ({ runner, place }));
  const places = (wanted: string) => race.filter(({ runner }) => runner === wanted).map(({ place }) => place);
  t.equal(rank(places('H'), places('T')).auc, 11 / 36);
  t.equal(rank([1, 2, 3], [1, 2, 3]).auc, 0.5);
  t.equal(rank([4, 5], [1, 2, 3]).auc, 1);
  t.equal(rank([1, 2, 3], [4, 5]).auc, 0);
  t.equal(rank([1, 1], [1, 2]).auc, 0.25);
  // n = m = 5,000 without ties: √((n + m + 1) / (12 · n · m)).
  const [odd, even] = [1, 0].map((rest) => Array.from({ length: 5_000 }, (_, at) => 2 * at + rest));
  t.ok(Math.abs(rank(odd ?? [], even ?? []).deviation - 0.005774) < 1e-6);
});

t.test('the time of an error does not reveal whether an id of another club exists', (t) =>
  attack(t, 'timing', 2 * SAMPLES * probes.length, async (tally) => {
    for (const probe of probes) {
      const compare = async () => {
        const { there, missing } = await measure(probe, SAMPLES, (code, status) => {
          tally.tried += 1;
          if (code !== probe.code) {
            (status >= 500 ? tally.serverErrors : tally.succeeded).push(`${probe.title}: ${status} ${code}`);
          }
        });
        const found = apart(there, missing);
        t.comment(`${probe.title}: ${found.summary}`);
        return found;
      };
      const { by, summary } = await compare();
      // A difference in the code repeats in the same direction; a difference by the machine does not.
      if (by !== 0 && (await compare()).by * by > 0) {
        tally.leaks.push(`${probe.title}: ${summary}`);
      }
    }
  }),
);

t.test(
  'the measurement finds real differences: readable rows, and a delay of a twentieth of the time',
  async (t) => {
    // As many as fit on a page: the time of a few cannot be measured on a busy machine.
    for (let count = 0; count < 200; count += 1) {
      await admin.north.post('/api/tasks', { title: 'Mow', assigneeId: anna });
    }
    const path = (id: string) => `/api/tasks?limit=200&assigneeId=${id}`;
    const probe: Probe = { title: '', method: 'GET', ids: [anna], path, code: '' };
    // A hundred samples are too few for such a small difference.
    const samples = Math.max(SAMPLES, 500);
    let { there, missing } = await measure(probe, samples, () => {});
    let read = apart(there, missing);
    t.comment(`own tasks: ${read.summary}`);
    // A busy machine can hide the difference in one measurement.
    for (let more = 0; read.by <= 0 && more < 4; more += 1) {
      ({ there, missing } = await measure(probe, samples, () => {}));
      read = apart(there, missing);
      t.comment(`own tasks, again: ${read.summary}`);
    }
    t.ok(read.by > 0, `own tasks and unknown ones: ${read.summary}`);
    const median = [...missing].sort((one, other) => one - other)[samples / 2] as number;
    const delay = isWhole ? median / 20 : median;
    const [even, odd] = [0, 1].map((rest) => missing.filter((_, at) => at % 2 === rest)) as [
      number[],
      number[],
    ];
    t.equal(apart(even, odd).by, 0, 'two halves of the same times are not distinguishable');
    const late = apart(even.map((ns) => ns + delay), odd); // biome-ignore format: one thing
    t.ok(late.by > 0, `${Math.round(delay / 1_000)} µs of ${Math.round(median / 1_000)}: ${late.summary}`);
  },
);
