import { randomUUID } from 'node:crypto';
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { type Response, sendUnderLoad } from '../setup/send.js';
import { startService, withTimeLimits } from '../setup/service.js';
import { shiftRequest, tally } from '../setup/shifts.js';

const service = await startService(t, {}, withTimeLimits);
const { db } = service;
const north = await db.makeClub('north');
const south = await db.makeClub('south');
const mara = service.as('mara', 'Manager', north);
const anna = service.as('anna', 'Member', north);
const ben = service.as('ben', 'Member', north);

const withKey = (key: string) => ({ 'idempotency-key': key });
/** A response without the parts that differ for each request. */
const seen = ({ status, text, headers }: Response) => ({
  status,
  text,
  location: headers.location,
  etag: headers.etag,
});
const count = async (table: string) =>
  (await db.queryAsAdmin(`select count(*)::int from app.${table}`))[0]?.count;
const makeShift = async (difference = {}) =>
  `/api/shifts/${(await mara.post('/api/shifts', shiftRequest(difference))).body.id}`;

t.test('a repeated request with the same key gets the first response, and creates nothing', async (t) => {
  const shift = await makeShift();
  const requests = [
    { table: 'tasks', person: mara, path: '/api/tasks', body: { title: 'Mow “the” lawn\n' } },
    { table: 'shifts', person: mara, path: '/api/shifts', body: shiftRequest() },
    { table: 'shift_signups', person: anna, path: `${shift}/signup`, body: undefined },
  ];
  for (const { table, person, path, body } of requests) {
    const headers = withKey(randomUUID());
    const before = await count(table);
    const first = await person.post(path, body, headers);
    t.equal(first.status, 201, path);
    t.notOk(first.headers['idempotent-replayed'], 'the first answer is not a replay');
    for (let time = 2; time <= 3; time += 1) {
      const again = await person.post(path, body, headers);
      t.same(seen(again), seen(first));
      t.equal(again.headers['idempotent-replayed'], 'true');
      t.equal(again.headers['content-type'], first.headers['content-type']);
    }
    t.equal(await count(table), before + 1);
    const without = await person.post(path, body);
    t.notOk(without.headers['idempotent-replayed'], 'without the key it is a new request');
  }
});

t.test('a stored response stays unchanged, even after the created row is changed or deleted', async (t) => {
  const headers = withKey('gone since');
  const first = await mara.post('/api/tasks', { title: 'Rake' }, headers);
  await mara.patch(String(first.headers.location), { title: 'Rake twice' });
  t.equal((await service.as('dora', 'Admin', north).delete(String(first.headers.location))).status, 204);
  t.same(seen(await mara.post('/api/tasks', { title: 'Rake' }, headers)), seen(first));
});

t.test('the case of an id in the path does not matter to a key', async (t) => {
  const shift = await makeShift();
  const headers = withKey('one signup');
  const first = await mara.post(`${shift}/signup`, undefined, headers);
  const again = await mara.post(
    `${shift.toUpperCase().replace('/API/SHIFTS', '/api/shifts')}/signup`,
    {},
    headers,
  );
  t.match(again, { status: 201, text: first.text, headers: { 'idempotent-replayed': 'true' } });
});

t.test('a key that is reused with another request is refused, and creates nothing', async (t) => {
  const headers = withKey('one request');
  await mara.post('/api/tasks', { title: 'Sweep' }, headers);
  const [tasks, shifts] = [await count('tasks'), await count('shifts')];
  for (const [path, body] of [
    ['/api/tasks', { title: 'Sweep again' }],
    ['/api/tasks', { title: 'Sweep', description: null }],
    ['/api/shifts', shiftRequest()],
    [`${await makeShift()}/signup`, undefined],
  ] as const) {
    const response = await mara.post(path, body, headers);
    t.match(response, { status: 422, body: { code: 'idempotency_key_reused' } }, path);
  }
  t.same([await count('tasks'), await count('shifts')], [tasks, shifts + 1]);
});

t.test('a key belongs to one member in one club', async (t) => {
  const headers = withKey('the same words');
  const body = { title: 'Paint' };
  const responses = [
    await mara.post('/api/tasks', body, headers),
    await service.as('nora', 'Manager', north).post('/api/tasks', body, headers),
    await service.as('mara', 'Manager', south).post('/api/tasks', body, headers),
  ];
  t.same(
    responses.map(({ status, headers }) => [status, headers['idempotent-replayed']]),
    Array(3).fill([201, undefined]),
  );
  t.equal(new Set(responses.map((response) => response.body.id)).size, 3);
});

t.test('an error is not stored: the request can be sent again when its cause is gone', async (t) => {
  const shift = await makeShift({ capacity: 1 });
  const headers = withKey('when there is room');
  await ben.post(`${shift}/signup`);
  t.match(await anna.post(`${shift}/signup`, undefined, headers), {
    status: 409,
    body: { code: 'shift_full' },
  });
  t.match(await anna.post('/api/tasks', { title: 'Not hers' }, headers), { status: 403 });
  await ben.delete(`${shift}/signup`);
  const made = await anna.post(`${shift}/signup`, undefined, headers);
  t.match(made, { status: 201 });
  t.same(seen(await anna.post(`${shift}/signup`, undefined, headers)), seen(made));
});

t.test('of many concurrent requests with one key one is executed, and all get its response', async (t) => {
  const headers = withKey(randomUUID());
  const before = await count('tasks');
  const responses = await Promise.all(
    Array.from({ length: 20 }, () =>
      sendUnderLoad(() => mara.post('/api/tasks', { title: 'Once' }, headers)),
    ),
  );
  t.same(tally(responses), { 201: 20 });
  t.equal(new Set(responses.map(({ text }) => text)).size, 1);
  t.equal(responses.filter((response) => response.headers['idempotent-replayed'] === undefined).length, 1);
  t.equal(await count('tasks'), before + 1);
});

t.test('a request whose key is still in progress gets an error when its wait times out', async (t) => {
  const memberId = await mara.memberId();
  const requests: [path: string, body: unknown][] = [
    ['/api/tasks', { title: 'Later' }],
    ['/api/shifts', shiftRequest()],
    [`${await makeShift()}/signup`, undefined],
  ];
  await withClient(db.adminUrl, async (other) => {
    await other.query('begin');
    for (const [path] of requests) {
      await other.query(
        `insert into app.idempotency_keys (tenant_id, member_id, key, request) values ($1, $2, $3, sha256(''))`,
        [north, memberId, path],
      );
    }
    const responses = await Promise.all(requests.map(([path, body]) => mara.post(path, body, withKey(path))));
    for (const response of responses) {
      t.match(response, { status: 409, body: { code: 'idempotency_in_progress' } });
    }
    await other.query('rollback');
  });
  for (const [path, body] of requests) {
    t.equal((await mara.post(path, body, withKey(path))).status, 201, path);
  }
});
