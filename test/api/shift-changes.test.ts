import t from 'tap';
import { startService } from '../setup/service.js';
import type { shiftRequest } from '../setup/shifts.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const manager = service.as('mara', 'Manager', north);
const admin = service.as('ada', 'Admin', north);
const members = ['anna', 'bert', 'cleo'].map((name) => service.as(name, 'Member', north));
const missing = '99999999-9999-4999-8999-999999999999';

const full = {
  title: 'Bar',
  startsAt: '2031-06-01T18:00:00.123456Z',
  endsAt: '2031-06-01T20:00:00.5Z',
  capacity: 4,
  location: 'Club house',
  description: 'Bring a friend.',
};

async function makeShift(difference: Parameters<typeof shiftRequest>[0] = {}) {
  const shift = (await manager.post('/api/shifts', { ...full, ...difference })).body;
  return { shift, path: `/api/shifts/${shift.id}` };
}

async function signUpMembers(path: string) {
  for (const member of members) {
    await member.post(`${path}/signup`);
  }
}

t.test('PUT replaces every field, and a missing optional field becomes null', async (t) => {
  const { shift, path } = await makeShift();
  const request = {
    title: 'Kitchen',
    startsAt: '2032-06-01T18:00:00.000001Z',
    endsAt: '2032-06-01T19:00:00.000002Z',
    capacity: 7,
  };
  const response = await manager.put(path, request);
  t.equal(response.status, 200);
  t.equal(response.headers.etag, '"2"');
  const changed = { ...request, location: null, description: null, freeSlots: 7, version: 2 };
  t.same(response.body, { ...shift, ...changed, updatedAt: response.body.updatedAt });
  t.ok(response.body.updatedAt > shift.updatedAt);
  t.same((await manager.get(path)).body, response.body);
});

t.test('a change of any field, even to null, makes a new version', async (t) => {
  const { path } = await makeShift();
  let version = 1;
  for (const change of [
    { title: 'Kitchen' },
    { startsAt: '2031-06-01T18:00:00.123457Z' },
    { endsAt: '2031-06-01T20:00:00.500001Z' },
    { capacity: 5 },
    { location: null },
    { description: null },
    { signupOpensAt: '2031-05-01T18:00:00Z' },
    { signupClosesAt: '2031-06-01T18:00:00.123456Z' },
    { cancelUntil: '2031-05-01T18:00:00Z' },
  ]) {
    await manager.put(path, full);
    version = (await manager.get(path)).body.version;
    const response = await manager.put(path, { ...full, ...change });
    t.match(response, { status: 200, body: { ...change, version: version + 1 } }, JSON.stringify(change));
  }
});

t.test('a PUT with equal values, in any notation, keeps the version', async (t) => {
  const { shift, path } = await makeShift();
  for (const request of [
    full,
    { ...full, version: 1 },
    { ...full, title: ' Bar ', startsAt: '2031-06-01T20:00:00.1234569+02:00' },
  ]) {
    const response = await manager.put(path, request);
    t.equal(response.status, 200);
    t.equal(response.headers.etag, '"1"');
    t.same(response.body, shift);
  }
});

t.test('PUT never creates a shift', async (t) => {
  for (const headers of [{}, { 'if-match': '*' }, { 'if-match': '"1"' }]) {
    const response = await manager.put(`/api/shifts/${missing}`, { ...full, version: 1 }, headers);
    t.match(response, { status: 404, body: { code: 'shift_not_found' } });
  }
  t.equal((await manager.get(`/api/shifts/${missing}`)).status, 404);
});

t.test('every response with a shift has its version as ETag, and If-None-Match is ignored', async (t) => {
  const { path } = await makeShift();
  await manager.put(path, { ...full, title: 'Kitchen' });
  for (const response of [
    await manager.get(path),
    await manager.get(path, { 'if-none-match': '"2"' }),
    await manager.put(path, { ...full, title: 'Kitchen' }),
  ]) {
    t.match(response, { status: 200, body: { version: 2 } });
    t.equal(response.headers.etag, '"2"');
  }
});

t.test('a version in the body must be the current one', async (t) => {
  const { path } = await makeShift();
  t.equal((await manager.put(path, { ...full, title: 'Two', version: 1 })).status, 200);
  for (const version of [1, 3]) {
    // The check applies even if nothing would change.
    for (const title of ['Two', 'Three']) {
      const refused = await manager.put(path, { ...full, title, version });
      t.match(refused, { status: 409, body: { code: 'shift_version_conflict', currentVersion: 2 } });
    }
  }
  t.match((await manager.get(path)).body, { title: 'Two', version: 2 });
});

const matching: [ifMatch: string, matches: boolean][] = [
  ['*', true],
  ['"2"', true],
  ['"1", "2"', true],
  ['"2","1"', true],
  [' "7" ,  W/"1" , "2" ', true],
  ['"1"', false],
  ['"3"', false],
  ['"1", "3"', false],
  ['"22"', false],
  ['W/"2"', true],
  ['"1", W/"2"', true],
  ['W/"3"', false],
  ['w/"2"', false],
];

for (const [ifMatch, matches] of matching) {
  const verb = matches ? 'lets PUT and DELETE pass' : 'stops PUT and DELETE';
  t.test(`If-Match: ${ifMatch} ${verb} where the version is 2`, async (t) => {
    const { path } = await makeShift();
    const second = (await manager.put(path, { ...full, title: 'Two' })).body;
    const headers = { 'if-match': ifMatch };
    const responses = [
      // Changes nothing, so the version is still 2 for the second request.
      await manager.put(path, { ...full, title: 'Two' }, headers),
      await admin.delete(path, headers),
    ];
    if (matches) {
      t.match(responses, [{ status: 200, body: second }, { status: 204 }]);
      t.equal((await admin.get(path)).status, 404);
    } else {
      t.match(responses, Array(2).fill({ status: 412, body: { code: 'precondition_failed' } }));
      t.same((await admin.get(path)).body, second);
    }
  });
}

t.test('a PUT is checked in this order: body, 404, If-Match, version, signups', async (t) => {
  const { path } = await makeShift();
  await signUpMembers(path);
  const wrong = { ...full, capacity: 2, version: 9 };
  const stale = { 'if-match': '"9"' };
  const nowhere = `/api/shifts/${missing}`;
  for (const [response, status, code] of [
    [await manager.put(nowhere, { ...wrong, capacity: 0 }, stale), 400, 'validation_failed'],
    [await manager.put(nowhere, wrong, stale), 404, 'shift_not_found'],
    [await manager.put(path, wrong, stale), 412, 'precondition_failed'],
    [await manager.put(path, wrong, { 'if-match': '"1"' }), 409, 'shift_version_conflict'],
    [await manager.put(path, { ...wrong, version: 1 }), 409, 'capacity_below_signups'],
    [await admin.delete(nowhere, stale), 404, 'shift_not_found'],
  ] as const) {
    t.match(response, { status, body: { code } });
  }
});

t.test('the capacity can be lowered to the number of signups and no further', async (t) => {
  const { path } = await makeShift();
  await signUpMembers(path);
  for (const capacity of [2, 1]) {
    const refused = await manager.put(path, { ...full, title: 'Kitchen', capacity });
    t.match(refused, { status: 409, body: { code: 'capacity_below_signups', signupCount: 3 } });
    t.match((await manager.get(path)).body, { title: 'Bar', capacity: 4, version: 1 });
  }
  const response = await manager.put(path, { ...full, capacity: 3 });
  t.match(response, { status: 200, body: { capacity: 3, signupCount: 3, freeSlots: 0, version: 2 } });
  t.equal(response.body.signups.length, 3);
});
