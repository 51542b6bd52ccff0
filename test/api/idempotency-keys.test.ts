import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { endpoints, makeClubFor, SHIFT } from '../setup/endpoints.js';
import { connectAsRuntime } from '../setup/runtime.js';
import { type Response, sendLinesTo } from '../setup/send.js';
import { startService, withTimeLimits } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';

const service = await startService(t, {}, withTimeLimits);
const { db } = service;
const north = await db.makeClub('north');
const south = await db.makeClub('south');
const mara = service.as('mara', 'Manager', north);
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

t.test('a key is 1 to 255 visible characters, once', async (t) => {
  const authorization = `Bearer ${service.token({ sub: 'mara', clubs: { [north]: 'Manager' } })}`;
  const send = (value: string | string[]) =>
    service.send('POST', '/api/tasks', {
      headers: { authorization, 'x-tenant-id': north, 'idempotency-key': value },
      body: { title: 'Keyed' },
    });
  for (const key of ['k', '"quoted"', 'with blanks inside', 'x'.repeat(255), '~!@#$%^&*()']) {
    t.equal((await send(key)).status, 201, key);
  }
  for (const key of ['', 'x'.repeat(256), 'caf\u00e9']) {
    t.match(await send(key), { status: 400, body: { code: 'idempotency_key_invalid' } }, JSON.stringify(key));
  }
  for (const path of ['/api/shifts', `${await makeShift()}/signup`]) {
    const body = path === '/api/shifts' ? shiftRequest() : undefined;
    const answer = await mara.post(path, body, withKey('x'.repeat(256)));
    t.match(answer, { status: 400, body: { code: 'idempotency_key_invalid' } }, path);
  }
  const list = await mara.get('/api/tasks?limit=1', withKey('x'.repeat(256)));
  t.equal(list.status, 200, 'an operation that creates nothing ignores the header');
});

t.test('every POST takes keys: replayed, refused for another request, in progress', async (t) => {
  const posts = endpoints.filter(({ method }) => method === 'POST');
  t.ok(posts.length >= 4);
  for (const endpoint of posts) {
    const { clubId, url: path, body } = await makeClubFor(service, endpoint);
    const admin = service.as('admin', 'Admin', clubId);
    const memberId = await admin.memberId();
    const refused = await admin.post(path, body, withKey('x'.repeat(256)));
    t.match(refused, { status: 400, body: { code: 'idempotency_key_invalid' } }, path);
    const made = await admin.post(path, body, withKey(`key of ${path}`));
    t.ok(made.status < 300, `${path}: its handler creates with \`reply.create\` or \`reply.createByCall\``);
    const again = await admin.post(path, body, withKey(`key of ${path}`));
    t.same([seen(again), again.headers['idempotent-replayed']], [seen(made), 'true'], path);
    const [list, row] = path === '/api/tasks' ? ['/api/shifts', SHIFT] : ['/api/tasks', { title: 'Mow' }];
    await admin.post(list, row, withKey(`other of ${path}`));
    const other = await admin.post(path, body, withKey(`other of ${path}`));
    t.match(other, { status: 422, body: { code: 'idempotency_key_reused' } }, path);
    await withClient(db.adminUrl, async (session) => {
      await session.query('begin');
      await session.query(
        `insert into app.idempotency_keys (tenant_id, member_id, key, request) values ($1, $2, $3, sha256(''))`,
        [clubId, memberId, `busy ${path}`],
      );
      const waited = await admin.post(path, body, withKey(`busy ${path}`));
      t.match(waited, { status: 409, body: { code: 'idempotency_in_progress' } }, path);
      await session.query('rollback');
    });
  }
});

t.test('the order of the members of a body does not change the request', async (t) => {
  const dueAt = '2031-01-01T00:00:00Z';
  const made = await mara.post('/api/tasks', { title: 'Rake', dueAt }, withKey('order'));
  const again = await mara.post('/api/tasks', { dueAt, title: 'Rake' }, withKey('order'));
  t.same([seen(again), again.headers['idempotent-replayed']], [seen(made), 'true']);
  const other = await mara.post('/api/tasks', { dueAt, title: 'Mow' }, withKey('order'));
  t.match(other, { status: 422, body: { code: 'idempotency_key_reused' } });
});

const age = (interval: string) =>
  db.queryAsAdmin('update app.idempotency_keys set created_at = now() - $1::interval', [interval]);

t.test('a key is free again after 24 hours', async (t) => {
  const headers = withKey('yesterday');
  const first = await mara.post('/api/tasks', { title: 'Daily' }, headers);
  await age('23 hours 59 minutes');
  t.same(seen(await mara.post('/api/tasks', { title: 'Daily' }, headers)), seen(first));
  await age('24 hours 1 minute');
  const second = await mara.post('/api/tasks', { title: 'Daily' }, headers);
  t.equal(second.status, 201);
  t.not(second.body.id, first.body.id);
});

t.test('the service deletes the expired responses of all clubs, and no other', async (t) => {
  const { expiredResponses } = service;
  const count = async () =>
    (await db.queryAsAdmin<{ count: number }>('select count(*)::int from app.idempotency_keys'))[0]
      ?.count as number;
  await service.as('mara', 'Manager', south).post('/api/tasks', { title: 'Else' }, withKey('of the south'));
  await age('23 hours 59 minutes');
  const fresh = await count();
  await expiredResponses.run();
  t.equal(await count(), fresh);
  t.ok(expiredResponses.storedBytes > 0);

  const memberId = await mara.memberId();
  await db.queryAsAdmin(
    `insert into app.idempotency_keys (tenant_id, member_id, key, request, created_at)
     select $1, $2, 'old ' || number, sha256(''), now() - interval '25 hours' from generate_series(1, 2500) as number`,
    [north, memberId],
  );
  const before = expiredResponses.deleted;
  await withClient(db.adminUrl, async (session) => {
    await session.query(`begin; select from app.idempotency_keys where key = 'old 7' for update`);
    await expiredResponses.run();
    t.equal(await count(), fresh + 1, 'a row that is locked is passed over');
    await session.query('rollback');
  });
  await expiredResponses.run();
  t.equal(await count(), fresh);
  t.equal(expiredResponses.deleted - before, 2500);

  await age('24 hours 1 minute');
  await expiredResponses.run();
  t.equal(await count(), 0, 'of every club');
});

t.test('what deletes expired responses reaches no other row, and changes none', async (t) => {
  await mara.post('/api/tasks', { title: 'Fresh' }, withKey('fresh'));
  await withClient(db.migrationUrl, async (session) => {
    await session.query('set role club_expiry');
    t.same((await session.query('select key from app.idempotency_keys')).rows, []);
    t.equal((await session.query('delete from app.idempotency_keys')).rowCount, 0);
    await age('25 hours');
    await t.rejects(session.query('update app.idempotency_keys set status = 200'), { code: '42501' });
    for (const table of ['app.tasks', 'app.members', 'app.clubs']) {
      await t.rejects(session.query(`select from ${table}`), { code: '42501' }, table);
    }
  });
});

t.test('a stored response is not replaced, not even by its caller with SQL', async (t) => {
  const { inside, client } = await connectAsRuntime(t, db);
  const keep = (status: number) =>
    client.query(`select app.keep_answer('once', $1, '/', null, '{}')`, [status]);
  const caller = { clubId: north, subject: 'mara', role: 'Manager' as const };
  await mara.memberId();
  await inside(caller, async () => {
    await client.query(`select app.claim_key('once', sha256(''))`);
    await keep(201);
  });
  await inside(caller, () => keep(200));
  t.same(await db.queryAsAdmin(`select status from app.idempotency_keys where key = 'once'`), [
    { status: 201 },
  ]);
});

t.test(
  'erasing a member deletes the stored responses of the club, which may contain their data, and of no other club',
  async (t) => {
    const benId = await ben.memberId();
    const shift = await makeShift();
    await ben.post(`${shift}/signup`, undefined, withKey('of ben'));
    await mara.post('/api/tasks', { title: 'For Ben', assigneeId: benId }, withKey('about ben'));
    await service.as('mara', 'Manager', south).post('/api/tasks', { title: 'Else' }, withKey('about nobody'));
    await withClient(db.migrationUrl, async (operator) => {
      await operator.query('set role club_owner');
      await operator.query('select app.erase_member($1, $2)', [north, benId]);
    });
    t.same(await db.queryAsAdmin('select from app.idempotency_keys where tenant_id = $1', [north]), []);
    t.same(await db.queryAsAdmin(`select key from app.idempotency_keys where key ~ 'ben|nobody'`), [
      { key: 'about nobody' },
    ]);
  },
);

t.test('a repeated Idempotency-Key header is refused, even with the same key', async (t) => {
  const sendLines = await sendLinesTo(service.app);
  const authorization = `Bearer ${service.token({ sub: 'mara', clubs: { [north]: 'Manager' } })}`;
  const before = await count('tasks');
  for (const keys of [
    ['one', 'two'],
    ['same', 'same'],
    ['same', ''],
  ]) {
    const lines = keys.map((key): [string, string] => ['idempotency-key', key]);
    const answer = await sendLines(
      'POST',
      '/api/tasks',
      [
        ['authorization', authorization],
        ['x-tenant-id', north],
        ['content-type', 'application/json'],
        ...lines,
      ],
      '{"title":"Twice"}',
    );
    t.match(answer, { status: 400, body: { code: 'idempotency_key_invalid' } }, keys.join());
  }
  t.equal(await count('tasks'), before);
});
