import t from 'tap';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest, started, withoutRequest } from '../setup/shifts.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const missing = '99999999-9999-4999-8999-999999999999';

const admin = service.as('ada', 'Admin', north);
const manager = service.as('mara', 'Manager', north);
const anna = service.as('anna', 'Member', north);
const bert = service.as('bert', 'Member', north);
const viewer = service.as('vera', 'Viewer', north);
const stranger = service.as('sam', 'Admin', south);

const listKeys = 'capacity endsAt freeSlots id isSignedUp location signupCount startsAt title version';
const detailKeys = `${listKeys} clubId createdAt createdById description signups updatedAt`;
const utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;

async function makeShift(difference: Parameters<typeof shiftRequest>[0] = {}) {
  return (await manager.post('/api/shifts', shiftRequest(difference))).body;
}

t.test('a Manager creates a shift and gets it back complete', async (t) => {
  const request = {
    title: '  Summer party  ',
    startsAt: '2031-06-01T20:00:00.1234567+02:00',
    endsAt: '2031-06-01T23:00:00-01:00',
    capacity: 3,
    location: 'Club house',
    description: 'Bring\n\ta friend.',
  };
  const answer = await manager.post('/api/shifts', request);
  t.equal(answer.status, 201);
  t.equal(answer.headers.location, `/api/shifts/${answer.body.id}`);
  t.equal(answer.headers.etag, '"1"');
  t.same(Object.keys(answer.body).sort(), detailKeys.split(' ').sort());
  const { id, createdAt, updatedAt, endsAt, ...rest } = answer.body;
  t.same(rest, {
    title: 'Summer party',
    startsAt: '2031-06-01T18:00:00.123456Z',
    capacity: 3,
    location: 'Club house',
    description: 'Bring\n\ta friend.',
    clubId: north,
    signupCount: 0,
    freeSlots: 3,
    isSignedUp: false,
    signups: [],
    createdById: await manager.memberId(),
    version: 1,
  });
  t.equal(Date.parse(endsAt), Date.parse('2031-06-02T00:00:00Z'));
  for (const time of [endsAt, createdAt, updatedAt]) {
    t.match(time, utc);
  }
  t.same((await manager.get(answer.headers.location as string)).body, answer.body);
  t.same((await manager.get(`/api/shifts/${id.toUpperCase()}`)).body, answer.body);
});

t.test('a shift may start, and even end, in the past', async (t) => {
  for (const times of [started(), { startsAt: hoursFromNow(-9), endsAt: hoursFromNow(-8) }]) {
    const answer = await manager.post('/api/shifts', shiftRequest(times));
    t.equal(answer.status, 201);
    t.equal(Date.parse(answer.body.startsAt), Date.parse(times.startsAt));
    t.equal(Date.parse(answer.body.endsAt), Date.parse(times.endsAt));
  }
});

t.test('the list has the shifts of this club only, the earliest first', async (t) => {
  await stranger.post('/api/shifts', shiftRequest({ title: 'Elsewhere' }));
  const club = await service.db.makeClub();
  const [owner, reader] = [service.as('olga', 'Manager', club), service.as('vera', 'Viewer', club)];
  t.same((await reader.get('/api/shifts')).body, []);
  for (const hours of [30, -30, 10, 20]) {
    const startsAt = hoursFromNow(hours);
    await owner.post('/api/shifts', shiftRequest({ title: `${hours}`, startsAt, endsAt: hoursFromNow(31) }));
  }
  const answer = await reader.get('/api/shifts');
  t.equal(answer.status, 200);
  t.same(
    answer.body.map((shift: { title: string }) => shift.title),
    ['-30', '10', '20', '30'],
  );
  for (const shift of answer.body) {
    t.equal(Object.keys(shift).sort().join(' '), listKeys);
    t.match(shift, { version: 1, capacity: 2, freeSlots: 2, signupCount: 0, isSignedUp: false });
    t.match(shift.startsAt, utc);
  }
});

t.test('signups are shown to everybody in the club, in the order of signing up', async (t) => {
  const shift = await makeShift({ capacity: 5 });
  const path = `/api/shifts/${shift.id}`;
  const made = [];
  for (const member of [bert, admin, anna]) {
    made.push((await member.post(`${path}/signup`)).body);
  }
  const answer = await viewer.get(path);
  t.same(answer.body.signups, made);
  t.same(
    answer.body.signups.map((signup: { memberName: string }) => signup.memberName),
    ['bert', 'ada', 'anna'],
  );
});

t.test('freeSlots and signupCount are the same for all, isSignedUp is about the caller', async (t) => {
  const { id } = await makeShift({ capacity: 2 });
  await anna.post(`/api/shifts/${id}/signup`);
  for (const [reader, isSignedUp] of [
    [anna, true],
    [bert, false],
    [viewer, false],
  ] as const) {
    const expected = { capacity: 2, signupCount: 1, freeSlots: 1, isSignedUp };
    t.match((await reader.get(`/api/shifts/${id}`)).body, expected);
    const { body } = await reader.get('/api/shifts');
    t.match(
      body.find((shift: { id: string }) => shift.id === id),
      expected,
    );
  }
});

t.test('an Admin deletes a shift with its signups; a second deletion is a 404', async (t) => {
  const { id } = await makeShift();
  const kept = await makeShift();
  for (const shift of [id, kept.id]) {
    await anna.post(`/api/shifts/${shift}/signup`);
    await bert.post(`/api/shifts/${shift}/signup`);
  }
  const answer = await admin.delete(`/api/shifts/${id}`);
  t.equal(answer.status, 204);
  t.equal(answer.text, '');
  for (const again of [await admin.delete(`/api/shifts/${id}`), await admin.get(`/api/shifts/${id}`)]) {
    t.match(again, { status: 404, body: { code: 'shift_not_found' } });
  }
  t.same(
    await service.db.queryAsAdmin(
      'select shift_id, count(*)::int from app.shift_signups where shift_id in ($1, $2) group by shift_id',
      [id, kept.id],
    ),
    [{ shift_id: kept.id, count: 2 }],
  );
});

const onOne: [method: 'get' | 'put' | 'delete' | 'post', path: (id: string) => string][] = [
  ['get', (id) => `/api/shifts/${id}`],
  ['put', (id) => `/api/shifts/${id}`],
  ['delete', (id) => `/api/shifts/${id}`],
  ['post', (id) => `/api/shifts/${id}/signup`],
  ['delete', (id) => `/api/shifts/${id}/signup`],
];

t.test('a shift of another club is answered like a missing one, and nothing is created', async (t) => {
  const { id } = await makeShift();
  await anna.post(`/api/shifts/${id}/signup`);
  const before = await admin.get(`/api/shifts/${id}`);
  for (const [method, path] of onOne) {
    const body = method === 'put' ? shiftRequest() : undefined;
    const foreign = await stranger[method](path(id), body as never);
    const never = await stranger[method](path(missing), body as never);
    t.match(foreign, { status: 404, body: { code: 'shift_not_found' } }, `${method} ${path('')}`);
    t.same(withoutRequest(foreign), withoutRequest(never), `${method} ${path('')}`);
  }
  t.same((await admin.get(`/api/shifts/${id}`)).body, before.body);
  t.same(await service.db.queryAsAdmin('select from app.shifts where id = $1', [missing]), []);
});

t.test('an id that is not a UUID is refused before any lookup', async (t) => {
  for (const [method, path] of onOne) {
    for (const id of ['1', 'null', `${missing}0`, `urn:uuid:${missing}`]) {
      const answer = await admin[method](path(id), (method === 'put' ? shiftRequest() : undefined) as never);
      t.match(answer, { status: 400, body: { code: 'invalid_parameter', errors: [{ parameter: 'id' }] } });
    }
  }
});

t.test('Viewers read, Members sign up, Managers write, Admins delete, and no role does more', async (t) => {
  const { id } = await makeShift({ capacity: 9 });
  const path = `/api/shifts/${id}`;
  t.equal((await viewer.get(path)).status, 200);
  for (const [answer, requiredRole, yourRole] of [
    [await viewer.post(`${path}/signup`), 'Member', 'Viewer'],
    [await viewer.delete(`${path}/signup`), 'Member', 'Viewer'],
    [await anna.post('/api/shifts', shiftRequest()), 'Manager', 'Member'],
    [await anna.put(path, shiftRequest()), 'Manager', 'Member'],
    [await manager.delete(path), 'Admin', 'Manager'],
  ] as const) {
    t.match(answer, { status: 403, body: { code: 'insufficient_role', requiredRole, yourRole } });
  }
  t.equal((await manager.post(`${path}/signup`)).status, 201);
  t.equal((await admin.put(path, shiftRequest({ capacity: 8 }))).status, 200);
  t.equal((await admin.delete(path)).status, 204);
});
