import t from 'tap';
import { provisionClub } from '../../src/deploy/provision-club.js';
import { nextOf, walk } from '../setup/paging.js';
import type { Person, Response } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';

// biome-ignore lint/suspicious/noExplicitAny: three lists with rows of three shapes
type Row = any;

const service = await startService(t);
const club = await service.db.makeClub('north');
const anna = service.as('anna', 'Admin', club, { name: 'Anna 50% O' });
const ben = service.as('ben', 'Member', club, { name: 'ben 50_o', email: 'anna@example.org' });
const [annaId, benId] = [await anna.memberId(), await ben.memberId()];
await service.as('fay', 'Manager', club, { name: 'Ämilie' }).memberId();
await service.as('dora-anna', 'Viewer', club, { name: 'Ämilie' }).memberId();

const titles = ['Mow me', 'mow 50% of', 'MOW 50_OF', 'Bar', 'Bar', 'Same Äpfel', 'äpfel'];
const due = ['2031-01-01T00:00:00Z', '2031-01-01T00:00:00.000001Z', '2031-01-02T00:00:00Z', null];
const [ten, noon, two] = ['2031-05-01T10:00:00Z', '2031-05-01T12:00:00Z', '2031-05-01T14:00:00Z'] as const;
for (const [index, title] of titles.entries()) {
  for (const assigneeId of [null, annaId, benId]) {
    const { body } = await anna.post('/api/tasks', { title, dueAt: due[index % 4], assigneeId });
    if (assigneeId !== null && index % 3 === 0) {
      await anna.patch(`/api/tasks/${body.id}`, { state: 'InProgress' });
    }
  }
  for (const period of [`${ten} ${noon}`, `${noon} ${two}`, `${ten} ${two}`]) {
    const [startsAt, endsAt] = period.split(' ');
    const { body } = await anna.post('/api/shifts', { title, startsAt, endsAt, capacity: 2 });
    for (const person of [anna, ben].slice(0, index % 3)) {
      await person.post(`/api/shifts/${body.id}/signup`);
    }
  }
}

/** A value of a filter, and the rows that match it. */
type Choice = [value: string | undefined, holds: (row: Row) => boolean];
const any: Choice = [undefined, () => true];
const all = (field: string, ...parts: string[]): Choice[] => [
  any,
  ...parts.map((part): Choice => [part, (row) => row[field].toLowerCase().includes(part.toLowerCase())]),
];
const micros = (time: string | null) =>
  time?.replace(/(\.\d+)?Z$/, (_, fraction = '.') => `${fraction.padEnd(7, '0')}Z`) ?? '9';
/** Rows before (-1) or after (1) a time, in several notations. */
const bound = (sign: 1 | -1, field: string, time: string, written = time): Choice => [
  written,
  (row) => row[field] !== null && micros(row[field]).localeCompare(micros(time)) === sign,
];

/** The combinations of filters whose answer is not the matching part of the whole list. */
async function mistaken(person: Person, path: string, filters: Record<string, Choice[]>) {
  let combinations = [{ query: 'limit=500', rows: (await person.get(`${path}?limit=500`)).body as Row[] }];
  for (const [name, choices] of Object.entries(filters)) {
    combinations = combinations.flatMap(({ query, rows }) =>
      choices.map(([value, holds]) => ({
        query: value === undefined ? query : `${query}&${name}=${encodeURIComponent(value)}`,
        rows: rows.filter(holds),
      })),
    );
  }
  const wrong: string[] = [];
  for (const { query, rows } of combinations) {
    const { status, body } = await person.get(`${path}?${query}`);
    wrong.push(...(status === 200 && JSON.stringify(body) === JSON.stringify(rows) ? [] : [query]));
  }
  return wrong;
}

t.test('filters of tasks combine: state, assignee, time range, title', async (t) => {
  const of = (shown: string, id: string | null): Choice => [shown, (row) => row.assigneeId === id];
  const wrong = await mistaken(ben, '/api/tasks', {
    state: [any, ['InProgress,Assigned', (row) => row.state !== 'Open'], ['Done', () => false]],
    assigneeId: [any, of('me', benId), of('none', null), of(annaId.toUpperCase(), annaId), of(club, club)],
    dueBefore: [any, bound(-1, 'dueAt', '2031-01-02T00:00:00Z', '2031-01-02T02:00:00+02:00')],
    dueAfter: [any, bound(1, 'dueAt', '2031-01-01T00:00:00Z')],
    q: all('title', 'moW', '50%', '0_o', 'ÄP'),
  });
  t.same(wrong, []);
});

t.test('filters of shifts combine: overlap, own signups, free places, title', async (t) => {
  const [justBefore, justAfter] = ['2031-05-01T11:59:59.999999Z', '2031-05-01T12:00:00.000001Z'];
  const filters = {
    from: [any, bound(1, 'endsAt', noon, '2031-05-01T13:00:00+01:00'), bound(1, 'endsAt', justBefore)],
    to: [any, bound(-1, 'startsAt', noon), bound(-1, 'startsAt', justAfter)],
    signedUp: [any, ['me', (row) => row.isSignedUp] as Choice],
    hasFreeSlots: [any, ['true', (row) => row.freeSlots > 0] as Choice],
    q: all('title', 'bAr', '50%', '0_o', 'äP'),
  };
  t.same(await mistaken(ben, '/api/shifts', filters), []);
  const window = (to: string) => anna.get(`/api/shifts?from=${noon}&to=${encodeURIComponent(to)}`);
  t.match(await window('2031-05-01T14:00:00+02:00'), { status: 200, body: { length: 7 } }, 'a moment');
  t.match(await window('2031-05-01T12:30:00+02:00'), { status: 400, body: { code: 'invalid_parameter' } });
  const { errors } = (await anna.get('/api/shifts?from=2031-01-02T00:00:00Z&to=2031-01-01T00:00:00Z&limit=0'))
    .body;
  t.same(
    errors.map(({ parameter }: { parameter: string }) => parameter).sort(),
    ['limit', 'to'],
    'all faults at once',
  );
});

t.test('filters of members combine; q searches the display name only', async (t) => {
  const role = ['Viewer', 'Admin'].map((name): Choice => [name, (row) => row.role === name]);
  const q = all('displayName', 'aNNa', '50%', '0_O', 'äMI', 'example', '_');
  t.same(await mistaken(anna, '/api/members', { role: [any, ...role], q }), []);
});

t.test('every list in every order, also with equal keys, is the same for every page size', async (t) => {
  // As after an import: many rows with one time, which the service itself rarely makes.
  for (const column of ['tasks set created_at', 'shifts set created_at', 'members set joined_at']) {
    await service.db.queryAsAdmin(`update app.${column} = '2026-01-01'`);
  }
  const sorts = ['tasks createdAt', 'tasks updatedAt', 'tasks dueAt', 'tasks title', 'shifts startsAt'];
  sorts.push('shifts title', 'shifts createdAt', 'members displayName', 'members joinedAt');
  for (const [list = '', sort = ''] of sorts.map((words) => words.split(' '))) {
    const { body: rising } = await anna.get(`/api/${list}?sort=${sort}`);
    const isTime = sort.endsWith('At');
    const keys = rising.map((row: Row) => (isTime ? micros(row[sort]) : row[sort]));
    t.same(keys, [...keys].sort(isTime ? undefined : new Intl.Collator('und').compare), `${list} by ${sort}`);
    for (const [by, whole] of Object.entries({ [sort]: rising, [`-${sort}`]: [...rising].reverse() })) {
      for (const limit of [1, 2, 5, 500]) {
        const rows = await walk(anna, `/api/${list}?sort=${by}&limit=${limit}`);
        t.same(rows, whole, `${list} by ${by}, ${limit} at a time`);
      }
    }
  }
});

t.test('a cursor is valid for its list, club, order and filters, and with “me” for its caller', async (t) => {
  const away = service.as('anna', 'Admin', await service.db.makeClub('south'));
  const cases: [from: string, person: Person, to: string, says?: string][] = [
    ['tasks?q=o&sort=-createdAt', ben, 'tasks?q=o', '200'],
    ['members?q=m', ben, 'members?q=m&limit=3', '200'],
    ['shifts?q=me', ben, 'shifts?q=me', '200'],
    ['tasks?assigneeId=me', ben, 'tasks?assigneeId=me'],
    ['shifts?signedUp=me', ben, 'shifts?signedUp=me'],
    ['shifts?sort=title', anna, 'tasks?sort=title'],
    ['shifts?sort=title', anna, 'shifts?sort=-title'],
    ['shifts?sort=title', anna, 'shifts?sort=title&hasFreeSlots=true'],
    ['members?sort=joinedAt', away, 'members?sort=joinedAt'],
  ];
  for (const [from, person, to, says = '400 invalid_cursor'] of cases) {
    const link = nextOf(await anna.get(`/api/${from}&limit=1`));
    const cursor = /cursor=([^&]+)/.exec(link ?? '')?.[1];
    t.ok(cursor, from);
    const { status, body } = await person.get(`/api/${to}&cursor=${cursor}`);
    t.equal([status, body.code].join(' ').trim(), says, `${from} to ${to}`);
  }
});

t.test('clubs are sorted by name, in natural language order', async (t) => {
  const clubs: Record<string, string> = {};
  for (const [slug, name] of Object.entries({ z: 'Zebra', ae: 'Äpfel', b: 'Banana', a: 'apple' })) {
    clubs[await provisionClub(service.db.migrationUrl, { name, slug, timeZone: 'Asia/Tokyo' })] = 'Viewer';
  }
  const authorization = `Bearer ${service.token({ sub: 'anna', clubs })}`;
  const { body } = await service.send('GET', '/api/clubs/me', { headers: { authorization } });
  t.equal(body.map(({ name }: Row) => name).join(), 'Äpfel,apple,Banana,Zebra');
});

t.test('an error of the domain has exactly the members of the contract', async (t) => {
  const make = async (path: string, body: unknown) => `${path}/${(await anna.post(path, body)).body.id}`;
  const task = await make('/api/tasks', { title: 'Held', assigneeId: annaId });
  const full = await make('/api/shifts', shiftRequest({ capacity: 1 }));
  await anna.post(`${full}/signup`);
  const stale = { ...shiftRequest(), version: 7 };
  const common = ['code', 'detail', 'instance', 'requestId', 'status', 'title', 'type'];
  const step = ['allowedTransitions', 'currentState', 'requestedState'];
  for (const [answer, code, ...more] of [
    [await ben.patch(task, { state: 'Done' }), 'invalid_task_transition', ...step],
    [await ben.patch(task, { version: 7 }), 'task_version_conflict', 'currentVersion'],
    [await ben.patch(task, { state: 'Assigned' }), 'task_already_assigned'],
    [await anna.patch(task, { assigneeId: club }), 'assignee_not_member'],
    [await anna.put(full, stale), 'shift_version_conflict', 'currentVersion'],
    [await ben.post(`${full}/signup`), 'shift_full'],
    [await anna.post(`${full}/signup`), 'already_signed_up'],
  ] as [Response, string, ...string[]][]) {
    t.equal(answer.body.code, code);
    t.same(Object.keys(answer.body).sort(), [...common, ...more].sort(), code);
  }
  const members = ({ body }: Response) => body.errors.map((fault: Row) => Object.keys(fault).sort().join());
  t.same(members(await ben.get('/api/tasks?limit=0')), ['code,detail,parameter']);
  t.same(members(await ben.patch(task, { title: 5 })), ['code,detail,pointer']);
});

t.test('health ignores the token; with a database older than the code it is not ready', async (t) => {
  const headers = { authorization: 'Bearer nonsense', 'x-tenant-id': 'nonsense' };
  await runAudit(service.app);
  for (const path of ['/livez', '/readyz', '/openapi.json', '/docs']) {
    t.equal((await service.send('GET', path, { headers })).status, 200, path);
  }
  await service.db.queryAsAdmin('delete from deploy.releases');
  t.match(await service.send('GET', '/readyz'), {
    status: 503,
    body: { code: 'service_unavailable' },
    headers: { 'retry-after': /^[1-9]/ },
  });
});
