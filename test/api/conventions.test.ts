import t from 'tap';
import { endpoints, MISSING, pathOf } from '../setup/endpoints.js';
import { nextOf, walk } from '../setup/paging.js';
import { sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest, withoutRequest } from '../setup/shifts.js';

const service = await startService(t);
const sendLines = await sendLinesTo(service.app);
const club = await service.db.makeClub('north');
const other = await service.db.makeClub('south');
const anna = service.as('anna', 'Admin', club);
const bearer = async (clubs: unknown, sub = 'anna') => `Bearer ${service.token({ sub, clubs })}`;
const lines = [
  ['authorization', await bearer({ [club]: 'Admin' })],
  ['x-tenant-id', club],
] as [string, string][];

type Row = Record<string, unknown>;
const idsOf = (rows: Row[]): unknown[] => rows.map(({ id }) => id);

/** Every value in an answer, with its name. */
function named(value: unknown, name = ''): [string, unknown][] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, part]) => named(part, Array.isArray(value) ? name : key))
    : [[name, value]];
}

t.test('every property of a DTO is always present, null when unknown, and in camelCase', async (t) => {
  const { body: document } = await service.send('GET', '/openapi.json');
  const schemas = Object.entries<{ properties: Row; required: string[] }>(document.components.schemas);
  for (const [name, { properties, required }] of schemas.filter(([name]) => name.endsWith('Dto'))) {
    t.same([...required].sort(), Object.keys(properties).sort(), name);
    t.ok(
      required.every((key) => /^[a-z]+([A-Z][a-z]+)*$/.test(key)),
      name,
    );
  }
  const nulls = { assigneeId: null, description: null, dueAt: null };
  const { body: task } = await anna.post('/api/tasks', { title: 'Bare', ...nulls });
  t.match(task, { ...nulls, assigneeName: null, completedAt: null, state: 'Open' });
  t.match((await anna.post('/api/shifts', shiftRequest())).body, { location: null, description: null });
});

t.test('every id is a UUID and every time is UTC with at most six digits, in every answer', async (t) => {
  const due = { dueAt: '2031-05-01T18:00:00.123456789+02:00', assigneeId: await anna.memberId() };
  const { body: task } = await anna.post('/api/tasks', { title: 'Due', ...due });
  const { body: shift } = await anna.post('/api/shifts', shiftRequest());
  await anna.post(`/api/shifts/${shift.id}/signup`);
  const paths = ['tasks', 'shifts', 'members', 'clubs/me', 'clubs/current'];
  paths.push(`tasks/${task.id}`, `shifts/${shift.id}`);
  const answers = await Promise.all(paths.map((path) => anna.get(`/api/${path}`)));
  const values = named(answers.map(({ body }) => body)).filter(([, value]) => value !== null);
  const times = values.filter(([key]) => key.endsWith('At'));
  const ids = values.filter(([key]) => /^id$|Id$/.test(key) && key !== 'externalUserId');
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  t.ok(times.every(([, time]) => isTime.test(String(time))));
  t.ok(ids.every(([, id]) => isId.test(String(id))));
  const seen = new Set([...times, ...ids].map(([key]) => key));
  for (const key of ['assigneeId', 'createdById', 'dueAt', 'endsAt', 'joinedAt', 'memberId', 'updatedAt']) {
    t.ok(seen.has(key), key);
  }
});

t.test('a time in a query string follows the same rules as one in a body', async (t) => {
  const good = ['2031-05-01T18:00:00Z', '2031-05-01T18:00:00.1234567%2B02:00', '1970-01-01T00:00:00Z'];
  const bad = ['2031-05-01T18:00:00', '2016-12-31T23:59:60Z', '1969-12-31T23:59:59Z', '2200-01-01T00:00:00Z'];
  // An unencoded plus sign is a space.
  bad.push('2031-05-01', '2031-02-29T00:00:00Z', '2031-05-01T18:00:00+02:00', '');
  for (const filter of ['tasks?dueBefore', 'tasks?dueAfter', 'shifts?from', 'shifts?to']) {
    const said = async (time: string) => (await anna.get(`/api/${filter}=${time}`)).body.code ?? 200;
    t.same(await Promise.all(good.map(said)), [200, 200, 200], filter);
    t.same(await Promise.all(bad.map(said)), Array(bad.length).fill('invalid_parameter'), filter);
  }
});

const lists: Record<string, string[]> = {
  tasks: ['createdAt', 'updatedAt', 'dueAt', 'title'],
  shifts: ['startsAt', 'title', 'createdAt'],
  members: ['displayName', 'joinedAt'],
};

t.test('each list pages in each order, while rows are added and the cursor’s row is deleted', async (t) => {
  const make = async (index: number): Promise<void> => {
    const title = ['b', 'A', 'a', 'ä', 'a'][index % 5] as string;
    await pia.post('/api/tasks', { title });
    await pia.post('/api/shifts', shiftRequest({ title }));
    await service.as(`${title} ${index}`, 'Member', other).memberId();
  };
  const pia = service.as('pia', 'Admin', other);
  let made = 0;
  while (made < 6) {
    await make(made++);
  }
  for (const [list, sorts] of Object.entries(lists)) {
    for (const sort of sorts.flatMap((key) => [key, `-${key}`])) {
      const path = `/api/${list}?sort=${sort}`;
      const before = idsOf((await pia.get(`${path}&limit=500`)).body);
      t.same(idsOf(await walk(pia, `${path}&limit=1`)), before, path);
      const first = await pia.get(`${path}&limit=3`);
      await make(made++);
      if (list !== 'members') {
        t.equal((await pia.delete(`/api/${list}/${first.body[2].id}`)).status, 204);
      }
      const seen = idsOf([...first.body, ...(await walk(pia, nextOf(first)))]);
      t.equal(new Set(seen).size, seen.length, `${path}: no row twice`);
      t.equal(new Set([...seen, ...before]).size, seen.length, `${path}: no row skipped`);
    }
    const unlike = ['+5', '%2B5', '%205', '5%20', '5%0a', '5.0', '1e2', '0x10', '1_0', '٥', 'true', 'null'];
    for (const limit of ['0', '501', '-1', '1.5', 'x', '', '1&limit=1', '9'.repeat(400), ...unlike]) {
      const { status, body } = await pia.get(`/api/${list}?limit=${limit}`);
      t.match([status, body.code, body.errors?.[0]?.parameter], [400, 'invalid_parameter', 'limit'], limit);
    }
  }
});

t.test('the link to the next page keeps the filters', async (t) => {
  const assigneeId = await anna.memberId();
  await anna.post('/api/tasks', { title: 'Mine', assigneeId });
  await anna.post('/api/tasks', { title: 'Mine', assigneeId });
  const link = nextOf(await anna.get('/api/tasks?assigneeId=me&q=Mine&limit=1')) as string;
  t.match(link, /assigneeId=me&q=Mine&limit=1&cursor=[\w-]+$/);
  t.equal((await anna.get(link)).body.length, 1);
});

t.test('a deletion is a 204 without a body; a second deletion is a 404, before 412', async (t) => {
  for (const [list, body] of Object.entries({ tasks: { title: 'Gone' }, shifts: shiftRequest() })) {
    const path = `/api/${list}/${(await anna.post(`/api/${list}`, body)).body.id}`;
    const gone = await sendLines('DELETE', path, [...lines, ['content-type', 'application/json']]);
    t.same([gone.status, gone.text, gone.headers['content-type']], [204, '', undefined], list);
    t.equal((await anna.delete(path, { 'if-match': '"9"' })).status, 404, list);
  }
});

t.test('HEAD has the length and headers of GET, also for the documentation', async (t) => {
  const paths = endpoints.filter(({ method }) => method === 'GET').map(pathOf);
  const task = await anna.post('/api/tasks', { title: 'Mow' });
  const own = ['/livez', '/readyz', '/openapi.json', '/docs', '/api/tasks?limit=1', '/api/nothing'];
  own.push(`/api/tasks/${task.body.id}`, '/api/tasks/nonsense', '/api/tasks?limit=0');
  for (const path of [...paths, ...own]) {
    const [get, head] = [await sendLines('GET', path, lines), await sendLines('HEAD', path, lines)];
    const { 'content-length': length = get.headers['content-length'] } = head.headers;
    t.same([head.status, head.text, head.headers.link], [get.status, '', get.headers.link], path);
    // Every request id has the same length.
    t.equal(length, get.headers['content-length'], path);
    t.same(
      [head.headers['content-type'], head.headers.etag],
      [get.headers['content-type'], get.headers.etag],
      path,
    );
    for (const { headers } of [get, head]) {
      t.match(headers, { 'cache-control': /private.*no-cache/, vary: /Authorization.*X-Tenant-Id/i }, path);
      t.match(headers, { 'x-request-id': /^[0-9a-f-]{36}$/ }, path);
    }
  }
});

t.test('a search is trimmed, then has at most a hundred code points', async (t) => {
  for (const list of Object.keys(lists)) {
    const said = async (q: string) => (await anna.get(`/api/${list}?q=${encodeURIComponent(q)}`)).status;
    t.same([await said(` ${'🎾'.repeat(100)} `), await said('🎾'.repeat(101))], [200, 400], list);
  }
});

t.test(
  'a club without a role and a missing club are the same 403, after the checks of the message',
  async (t) => {
    const [known, lost] = [await bearer({ [club]: 'Admin' }), await bearer({ [MISSING]: 'Admin' }, 'lost')];
    for (const endpoint of endpoints.filter(({ path }) => path !== '/api/clubs/me')) {
      const ask = (authorization: string, id: string, query = '') =>
        service.send(endpoint.method, pathOf(endpoint) + query, {
          headers: { authorization, 'x-tenant-id': id },
          body: endpoint.body,
        });
      const [foreign, missing] = [await ask(known, other), await ask(known, MISSING)];
      const gone = await ask(lost, MISSING);
      const what = `${endpoint.method} ${endpoint.path}`;
      t.match(foreign, { status: 403, body: { code: 'tenant_forbidden' } }, what);
      t.same([withoutRequest(missing), withoutRequest(gone)], Array(2).fill(withoutRequest(foreign)), what);
      t.equal((await ask(lost, MISSING, '?nonsense=1')).body.code, 'invalid_parameter', what);
      t.equal((await ask(known, other, '?nonsense=1')).body.code, 'tenant_forbidden', what);
    }
  },
);

t.test('a clubs claim of another shape gives no role', async (t) => {
  const shapes = [undefined, null, 'Admin', [club], [{ [club]: 'Admin' }], { [club]: ['Admin'] }];
  for (const clubs of [...shapes, { [club]: 'admin' }]) {
    const headers = { authorization: await bearer(clubs), 'x-tenant-id': club };
    const answer = await service.send('GET', '/api/clubs/current', { headers });
    t.match(answer, { status: 403, body: { code: 'tenant_forbidden' } }, JSON.stringify(clubs));
  }
});
