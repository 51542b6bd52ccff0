import t, { type Test } from 'tap';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest, started } from '../setup/shifts.js';

const service = await startService(t);
const north = await service.db.makeClub('north');

const admin = service.as('ada', 'Admin', north);
const manager = service.as('mara', 'Manager', north);
const anna = service.as('anna', 'Member', north);
const bert = service.as('bert', 'Member', north);
const viewer = service.as('vera', 'Viewer', north);

const listKeys =
  'batchId cancelUntil capacity endsAt freeSlots id isSignedUp isWaiting location signupClosesAt signupCount signupOpensAt startsAt title version waitCount';
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
  const response = await manager.post('/api/shifts', request);
  t.equal(response.status, 201);
  t.equal(response.headers.location, `/api/shifts/${response.body.id}`);
  t.equal(response.headers.etag, '"1"');
  t.same(Object.keys(response.body).sort(), detailKeys.split(' ').sort());
  const { id, createdAt, updatedAt, endsAt, ...rest } = response.body;
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
    waitCount: 0,
    isWaiting: false,
    signupOpensAt: null,
    signupClosesAt: null,
    cancelUntil: null,
    signups: [],
    createdById: await manager.memberId(),
    batchId: null,
    version: 1,
  });
  t.equal(Date.parse(endsAt), Date.parse('2031-06-02T00:00:00Z'));
  for (const time of [endsAt, createdAt, updatedAt]) {
    t.match(time, utc);
  }
  t.same((await manager.get(response.headers.location as string)).body, response.body);
  t.same((await manager.get(`/api/shifts/${id.toUpperCase()}`)).body, response.body);
});

/** Sends each period for a new and for an existing shift: a valid one is accepted, another one refused at its end. */
async function checkPeriods(
  t: Test,
  periods: [startsAt: string, endsAt: string, isValid: boolean][],
): Promise<void> {
  const { id } = await makeShift();
  for (const [startsAt, endsAt, isValid] of periods) {
    const request = shiftRequest({ startsAt, endsAt });
    for (const { status, body } of [
      await manager.post('/api/shifts', request),
      await manager.put(`/api/shifts/${id}`, request),
    ]) {
      const pointers = body.errors?.map(({ pointer }: { pointer: string }) => pointer);
      t.equal(status < 300, isValid, `${startsAt} ${endsAt}`);
      t.same(pointers, isValid ? undefined : ['/endsAt'], `${startsAt} ${endsAt}`);
    }
  }
}

t.test('a shift ends after it starts, to the microsecond', async (t) => {
  const start = '2031-03-01T10:00:00.999999Z';
  await checkPeriods(t, [
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000001Z', true],
    ['2199-12-31T23:59:59Z', '2199-12-31T23:59:59.999999Z', true],
    [start, '2031-03-01T10:00:01Z', true],
    [start, '2031-03-01T12:00:01+02:00', true],
    [start, '2031-03-02T09:00:00Z', true],
    [start, start, false],
    // The seventh digit is cut, so this is the same time.
    [start, '2031-03-01T10:00:00.9999999Z', false],
    [start, '2031-03-01T10:00:00.999998Z', false],
    [start, '2031-03-01T11:00:00.999998+01:00', false],
    [start, '2031-02-28T10:00:00Z', false],
  ]);
});

t.test('a shift ends at most 31 days after it starts, to the microsecond', async (t) => {
  // March has 31 days.
  await checkPeriods(t, [
    ['2031-03-01T10:00:00Z', '2031-04-01T10:00:00Z', true],
    ['2031-03-01T10:00:00Z', '2031-04-01T10:00:00.000001Z', false],
    ['2031-03-01T10:00:00.000500Z', '2031-04-01T10:00:00.000500Z', true],
    ['2031-03-01T10:00:00.000500Z', '2031-04-01T10:00:00.000501Z', false],
    ['2031-03-01T10:00:00.123456Z', '2031-04-01T10:00:00.1234569Z', true],
    ['2031-03-01T10:00:00.123456Z', '2031-04-01T10:00:00.124Z', false],
    ['2031-03-01T10:00:00Z', '2031-04-01T12:00:00+02:00', true],
    ['2031-03-01T10:00:00Z', '2031-04-01T10:00:00-00:01', false],
  ]);
});

t.test('an invalid period is reported together with the other field errors', async (t) => {
  const { startsAt } = shiftRequest();
  const request = shiftRequest({ startsAt, endsAt: startsAt, capacity: 0 });
  const { status, body } = await manager.post('/api/shifts', request);
  const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer).sort();
  t.same([status, pointers], [400, ['/capacity', '/endsAt']]);
});

t.test('a shift may start, and even end, in the past', async (t) => {
  for (const times of [started(), { startsAt: hoursFromNow(-9), endsAt: hoursFromNow(-8) }]) {
    const response = await manager.post('/api/shifts', shiftRequest(times));
    t.equal(response.status, 201);
    t.equal(Date.parse(response.body.startsAt), Date.parse(times.startsAt));
    t.equal(Date.parse(response.body.endsAt), Date.parse(times.endsAt));
  }
});

t.test('a Viewer sees a shift in the list unchanged, without its details', async (t) => {
  const shift = await makeShift();
  const { body } = await viewer.get('/api/shifts');
  t.strictSame(
    body.find(({ id }: { id: string }) => id === shift.id),
    Object.fromEntries(Object.entries(shift).filter(([name]) => listKeys.split(' ').includes(name))),
  );
});

t.test('signups are shown to everybody in the club, in the order of signing up', async (t) => {
  const shift = await makeShift({ capacity: 5 });
  const path = `/api/shifts/${shift.id}`;
  const made = [];
  for (const member of [bert, admin, anna]) {
    made.push((await member.post(`${path}/signup`)).body);
  }
  const response = await viewer.get(path);
  t.same(response.body.signups, made);
  t.same(
    response.body.signups.map((signup: { memberName: string }) => signup.memberName),
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
  const response = await admin.delete(`/api/shifts/${id}`);
  t.equal(response.status, 204);
  t.equal(response.text, '');
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
