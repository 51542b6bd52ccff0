import t from 'tap';
import { startService } from '../setup/service.js';
import { shiftRequest, started } from '../setup/shifts.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const missing = '99999999-9999-4999-8999-999999999999';
const manager = service.as('mara', 'Manager', north);
const anna = service.as('anna', 'Member', north);
const bert = service.as('bert', 'Member', north);
const cleo = service.as('cleo', 'Member', north);

async function makeShift(difference: Parameters<typeof shiftRequest>[0] = {}, creator = manager) {
  const { id } = (await creator.post('/api/shifts', shiftRequest(difference))).body;
  return { id: id as string, path: `/api/shifts/${id}`, signup: `/api/shifts/${id}/signup` };
}

/** Moves the start of a shift into the past, as a Manager may. */
async function start({ path }: { path: string }, capacity: number) {
  await manager.put(path, shiftRequest({ ...started(), capacity }));
}

t.test(
  'a signup can be read at its Location, by its member, as in the response that created it',
  async (t) => {
    const admin = service.as('reader-admin', 'Admin', north);
    const ben = service.as('reader', 'Member', north);
    const made = await admin.post('/api/shifts', shiftRequest());
    const path = `/api/shifts/${made.body.id}/signup`;
    t.match(await ben.get(path), { status: 404, body: { code: 'signup_not_found' } });
    const signedUp = await ben.post(path);
    t.equal(signedUp.headers.location, path);
    const read = await ben.get(path);
    t.equal(read.status, 200);
    t.equal(read.text, signedUp.text, 'the same text');
    t.match(
      await admin.get(path),
      { status: 404, body: { code: 'signup_not_found' } },
      'not visible to another member',
    );
    await ben.delete(path);
    t.match(await ben.get(path), { status: 404, body: { code: 'signup_not_found' } });
    const keyed = await ben.post(path, undefined, { 'idempotency-key': 'of the reader' });
    t.equal((await ben.get(path)).text, keyed.text, 'also as app.sign_up_once writes it');
    t.match(await ben.get(path.replace(made.body.id, missing)), {
      status: 404,
      body: { code: 'shift_not_found' },
    });
  },
);

t.test('signing up returns the signup and its Location', async (t) => {
  const { id, path, signup } = await makeShift();
  const now = async () =>
    (await service.db.queryAsAdmin<{ at: Date }>('select clock_timestamp() as at'))[0]?.at;
  const before = await now();
  const response = await anna.post(signup);
  const after = await now();
  t.equal(response.status, 201);
  t.equal(response.headers.location, signup);
  t.same(Object.keys(response.body).sort(), [
    'createdAt',
    'createdById',
    'id',
    'memberId',
    'memberName',
    'promotedAt',
    'shiftId',
  ]);
  t.match(response.body, { shiftId: id, memberId: await anna.memberId(), memberName: 'anna' });
  t.match(response.body.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/);
  const createdAt = Date.parse(response.body.createdAt);
  t.ok(createdAt >= Number(before) && createdAt <= Number(after));
  t.match((await anna.get(path)).body, { isSignedUp: true, signupCount: 1, signups: [response.body] });

  const other = await makeShift();
  const shouted = await anna.post(`/api/shifts/${other.id.toUpperCase()}/signup`);
  t.equal(shouted.headers.location, other.signup);
});

const json = { 'content-type': 'application/json' };
const bodies: [title: string, status: number, body?: string | undefined, headers?: Record<string, string>][] =
  [
    ['no body', 201],
    ['no body, called JSON', 201, undefined, json],
    ['an empty body', 201, ''],
    ['an empty body, called JSON', 201, '', json],
    ['an empty body, called JSON in UTF-8', 201, '', { 'content-type': 'application/json; charset=utf-8' }],
    ['{}', 201, '{}', json],
    ['{} of no type', 201, '{}'],
    [' { } with a charset', 201, ' { } ', { 'content-type': 'application/json; charset=utf-8' }],
    ['a field', 400, '{"memberId":"99999999-9999-4999-8999-999999999999"}', json],
    ['null', 400, 'null', json],
    ['a list', 400, '[]', json],
    ['text', 400, '""', json],
    ['broken JSON', 400, '{', json],
    ['a form', 415, 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }],
  ];

t.test('signing up takes no body or an empty object, with or without a type, and nothing else', async (t) => {
  const authorization = `Bearer ${service.token({ sub: 'anna', clubs: { [north]: 'Member' } })}`;
  for (const [title, status, payload, headers] of bodies) {
    const { path, signup } = await makeShift();
    const response = await service.app.inject({
      method: 'POST',
      url: signup,
      headers: { authorization, 'x-tenant-id': north, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    t.equal(response.statusCode, status, title);
    t.equal((await anna.get(path)).body.signupCount, status === 201 ? 1 : 0, title);
  }
});

t.test('a refused signup has the first reason of 404, past, signed up already, full', async (t) => {
  const shift = await makeShift({ capacity: 1 });
  const foreign = await makeShift({}, service.as('sam', 'Manager', south));
  for (const id of [missing, foreign.id]) {
    const response = await anna.post(`/api/shifts/${id}/signup`);
    t.match(response, { status: 404, body: { code: 'shift_not_found' } });
  }
  t.equal((await anna.post(shift.signup)).status, 201);
  t.match(await bert.post(shift.signup), { status: 409, body: { code: 'shift_full' } });
  // Full as well, and signed up already.
  t.match(await anna.post(shift.signup), { status: 409, body: { code: 'already_signed_up' } });
  await start(shift, 1);
  // Full as well, for one of them signed up already, and in the past.
  for (const caller of [anna, bert]) {
    t.match(await caller.post(shift.signup), { status: 422, body: { code: 'shift_in_past' } });
  }
  const empty = await makeShift(started());
  t.match(await anna.post(empty.signup), { status: 422, body: { code: 'shift_in_past' } });
  t.equal((await anna.get(shift.path)).body.signupCount, 1);
  t.equal((await anna.get(empty.path)).body.signupCount, 0);
});

t.test('a member is signed up at most once, even if there is room', async (t) => {
  const { path, signup } = await makeShift({ capacity: 5 });
  t.equal((await anna.post(signup)).status, 201);
  t.match(await anna.post(signup), { status: 409, body: { code: 'already_signed_up' } });
  t.match((await anna.get(path)).body, { signupCount: 1, freeSlots: 4 });
});

t.test('cancelling frees the caller’s place, and no other', async (t) => {
  const { path, signup } = await makeShift({ capacity: 2 });
  const first = await anna.post(signup);
  await bert.post(signup);
  const response = await anna.delete(signup);
  t.equal(response.status, 204);
  t.equal(response.text, '');
  t.match((await anna.get(path)).body, {
    isSignedUp: false,
    signupCount: 1,
    freeSlots: 1,
    signups: [{ memberName: 'bert' }],
  });
  t.equal((await cleo.post(signup)).status, 201);
  t.match(await anna.post(signup), { status: 409, body: { code: 'shift_full' } });
  await cleo.delete(signup);
  const second = await anna.post(signup);
  t.equal(second.status, 201);
  t.not(second.body.id, first.body.id);
});

t.test('a refused cancellation has the first reason of 404, past, not signed up', async (t) => {
  const shift = await makeShift();
  const foreign = await makeShift({}, service.as('sam', 'Manager', south));
  for (const id of [missing, foreign.id]) {
    const response = await anna.delete(`/api/shifts/${id}/signup`);
    t.match(response, { status: 404, body: { code: 'shift_not_found' } });
  }
  await anna.post(shift.signup);
  t.match(await bert.delete(shift.signup), { status: 404, body: { code: 'signup_not_found' } });
  await start(shift, 2);
  for (const caller of [anna, bert]) {
    t.match(await caller.delete(shift.signup), { status: 422, body: { code: 'shift_in_past' } });
  }
  t.match((await anna.get(shift.path)).body, { isSignedUp: true, signupCount: 1 });
});

t.test('signing up and cancelling do not change version, ETag or updatedAt of the shift', async (t) => {
  const { path, signup } = await makeShift();
  const before = await manager.get(path);
  for (const act of [() => anna.post(signup), () => bert.post(signup), () => anna.delete(signup)]) {
    t.ok((await act()).status < 300);
    const { body, headers } = await manager.get(path);
    t.equal(body.version, before.body.version);
    t.equal(body.updatedAt, before.body.updatedAt);
    t.equal(headers.etag, before.headers.etag);
  }
  // So a client that read the shift before the signups can still change it.
  t.equal((await manager.put(path, shiftRequest(), { 'if-match': '"1"' })).status, 200);
});

t.test('memberId is the member’s id, even if a token’s subject looks like an id', async (t) => {
  const annasId = await anna.memberId();
  // The subject of this user is Anna's member id.
  const namesake = service.as(annasId, 'Member', north, { name: 'Namesake' });
  const { path, signup } = await makeShift({ capacity: 5 });
  const response = await namesake.post(signup);
  t.match(response, { status: 201, body: { memberId: await namesake.memberId(), memberName: 'Namesake' } });
  t.not(response.body.memberId, annasId);
  t.equal((await anna.get(path)).body.isSignedUp, false);
  t.match(await anna.delete(signup), { status: 404, body: { code: 'signup_not_found' } });

  const annas = (await anna.post(signup)).body;
  t.equal(annas.memberId, annasId);
  t.same(
    await service.db.queryAsAdmin(
      `select member.external_user_id as sub from app.shift_signups as signup
       join app.members as member on member.id = signup.member_id where signup.id = $1`,
      [annas.id],
    ),
    [{ sub: 'anna' }],
  );
});

t.test('the same user is a different member in another club', async (t) => {
  const there = service.as('anna', 'Member', south);
  const foreign = await makeShift({}, service.as('sam', 'Manager', south));
  const response = await there.post(foreign.signup);
  t.match(response, { status: 201, body: { memberId: await there.memberId() } });
  t.not(response.body.memberId, await anna.memberId());
});
