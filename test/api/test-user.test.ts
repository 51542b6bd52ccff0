import t from 'tap';
import { ConfigurationError, readServerConfig } from '../../src/config.js';
import { withClient } from '../../src/deploy/client.js';
import { nextOf } from '../setup/paging.js';
import { refused } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const service = await startService(t, { testUserHeader: true });
const plain = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const ben = await service.as('ben', 'Member', north).memberId();
const southerner = await service.as('sue', 'Member', south).memberId();
const stranger = '99999999-9999-4999-8999-999999999999';
const acting = (as: string) => ({ 'x-test-userid': as });

t.test('with X-Test-UserId the caller acts as that member of the club', async (t) => {
  const anna = service.as('anna', 'Manager', north);
  for (const value of [ben, ben.toUpperCase()]) {
    const myself = await anna.get('/api/members/me', acting(value));
    t.match(myself, { status: 200, body: { id: ben, externalUserId: 'ben' } });
  }
  const shift = await anna.post('/api/shifts', {
    title: 'Bar',
    startsAt: '2100-01-01T10:00:00Z',
    endsAt: '2100-01-01T12:00:00Z',
    capacity: 5,
  });
  const signup = await anna.post(`/api/shifts/${shift.body.id}/signup`, undefined, acting(ben));
  t.match(signup, { status: 201, body: { memberId: ben } });
  const { body: events } = await anna.get(`/api/events?subjectId=${shift.body.id}&type=signup.created`);
  t.match(events, [{ actorId: ben, memberId: ben }]);
  const own = await anna.get(`/api/shifts/${shift.body.id}`);
  t.equal(own.body.isSignedUp, false, 'the next request is for the caller again');
});

t.test('the token is still needed, and still gives the role', async (t) => {
  const refused = await service.as('viewer', 'Viewer', north).get('/api/tasks', acting(ben));
  t.match(refused, { status: 403, body: { code: 'insufficient_role', yourRole: 'Viewer' } });
  const allowed = await service.as('admin', 'Admin', north).post('/api/tasks', { title: 'Mow' }, acting(ben));
  t.match(allowed, { status: 201, body: { createdById: ben } });
  const anonymous = await service.send('GET', '/api/members/me', {
    headers: { ...acting(ben), 'x-tenant-id': north },
  });
  t.match(anonymous, { status: 401, body: { code: 'unauthenticated' } });
});

t.test('a caller who acts as another member does not become a member, and changes none', async (t) => {
  const before = await service.db.queryAsAdmin('select * from app.members order by id');
  const guest = service.as('guest', 'Admin', north, { name: 'Guest', email: 'guest@example.org' });
  t.equal((await guest.get('/api/members/me', acting(ben))).status, 200);
  t.equal((await guest.post('/api/tasks', { title: 'Mow' }, acting(ben))).status, 201);
  t.same(await service.db.queryAsAdmin('select * from app.members order by id'), before);
});

t.test(
  'of callers and members in the header, the membership of the member in the header counts',
  async (t) => {
    const admin = service.as('ada', 'Admin', north);
    const caller = service.as('carl', 'Member', north);
    const ids = {
      caller: await caller.memberId(),
      other: await service.as('otto', 'Member', north).memberId(),
    };
    const setMembership = (id: string, status: string, headers = {}) =>
      admin.put(`/api/members/${id}/membership`, { status }, headers);
    const refused = (code: string) => ({ body: { code } });
    t.equal((await setMembership(ids.caller, 'Left')).status, 200);
    t.match(await caller.get('/api/members/me'), refused('membership_ended'));
    t.equal((await caller.get('/api/members/me', acting(ids.other))).status, 200);
    t.equal((await setMembership(ids.other, 'Left')).status, 200);
    t.match(await caller.get('/api/members/me', acting(ids.other)), refused('membership_ended'));
    t.match(await admin.get('/api/members/me', acting(ids.other)), refused('membership_ended'));
    t.match(await setMembership(ben, 'Left', acting(ben)), refused('own_membership'));
  },
);

t.test('a cursor of “me” is valid for the member in the header, whoever sends it', async (t) => {
  const anna = service.as('anna', 'Manager', north);
  const other = await service.as('olga', 'Member', north).memberId();
  for (const title of ['Mow', 'Rake']) {
    await anna.post('/api/tasks', { title, assigneeId: ben });
  }
  const first = await anna.get('/api/tasks?assigneeId=me&limit=1', acting(ben));
  const next = nextOf(first) ?? 'a second page';
  const sender = service.as('sara', 'Manager', north);
  for (const [person, value] of [
    [anna, ben],
    [anna, ben.toUpperCase()],
    [sender, ben],
  ] as const) {
    t.match(await person.get(next, acting(value)), { status: 200, body: [{ assigneeId: ben }] }, value);
  }
  const refused = { status: 400, body: { code: 'invalid_cursor' } };
  t.match(await anna.get(next, acting(other)), refused, 'another member');
  t.match(await anna.get(next), refused, 'the caller');
});

t.test('a member who is deleted while a request is sent for them gets a 503, and then the 403', async (t) => {
  const admin = service.as('admin', 'Admin', north);
  const { id } = (await admin.post('/api/members', { displayName: 'Ida' })).body;
  const shift = (await admin.post('/api/shifts', shiftRequest())).body;
  const signUp = () => admin.post(`/api/shifts/${shift.id}/signup`, undefined, acting(id));
  const deleted = await withClient(service.db.adminUrl, async (holder) => {
    await holder.query('begin');
    await holder.query('select from app.shifts where id = $1 for update', [shift.id]);
    const signup = signUp();
    await untilWaitingForLocks(service.db, 1, signup);
    t.equal((await admin.delete(`/api/members/${id}`)).status, 204);
    await holder.query('rollback');
    return signup;
  });
  t.match(deleted, refused(503, 'service_unavailable'));
  t.match(await signUp(), refused(403, 'tenant_forbidden'));
});

t.test('a value that is not a UUID is a 400', async (t) => {
  const anna = service.as('anna', 'Manager', north);
  for (const value of ['', 'ben', `{${ben}}`, `${ben},${ben}`, ben.slice(1), `urn:uuid:${ben}`]) {
    const answer = await anna.get('/api/members/me', acting(value));
    t.match(answer, { status: 400, body: { code: 'test_user_invalid' } }, value);
  }
});

t.test('a member of another club and an unknown id are the same 403', async (t) => {
  const anna = service.as('anna', 'Manager', north);
  for (const value of [southerner, stranger, north]) {
    for (const answer of [
      await anna.get('/api/members/me', acting(value)),
      await anna.post('/api/tasks', { title: 'Mow' }, acting(value)),
    ]) {
      t.match(answer, { status: 403, body: { code: 'tenant_forbidden', detail: /^X-Test-UserId/ } }, value);
    }
  }
});

t.test('the header is checked after the role and before the message', async (t) => {
  const viewer = service.as('viewer', 'Viewer', north);
  const anna = service.as('anna', 'Manager', north);
  const code = async (answer: ReturnType<typeof anna.post>) => (await answer).body.code;
  t.equal(await code(viewer.post('/api/tasks', {}, acting('ben'))), 'insufficient_role');
  t.equal(await code(anna.post('/api/tasks', {}, acting('ben'))), 'test_user_invalid');
  t.equal(await code(anna.post('/api/tasks', {}, acting(ben))), 'validation_failed');
});

t.test(
  'its error is in the document and has a page while the header is enabled, and only then',
  async (t) => {
    for (const [{ send }, isThere] of [
      [service, true],
      [plain, false],
    ] as const) {
      const { body: document } = await send('GET', '/openapi.json');
      const { enum: codes } = document.components.schemas.Problem.properties.code;
      t.equal(codes.includes('test_user_invalid'), isThere);
      t.equal((await send('GET', '/problems/test_user_invalid')).status, isThere ? 200 : 404);
      t.equal((await send('GET', '/problems')).text.includes('test_user_invalid'), isThere);
    }
  },
);

t.test('when disabled, the header is ignored, with any value', async (t) => {
  const club = await plain.db.makeClub('north');
  const other = await plain.as('ben', 'Member', club).memberId();
  const anna = plain.as('anna', 'Manager', club);
  for (const value of [other, stranger, 'nonsense', '']) {
    const myself = await anna.get('/api/members/me', acting(value));
    t.match(myself, { status: 200, body: { externalUserId: 'anna' } }, value);
  }
});

t.test('the header is disabled by default, and production refuses to start with it', async (t) => {
  const environment = { DATABASE_URL: 'postgres://localhost/club', AUTH_ISSUER: 'https://id.example.org' };
  const read = (more: NodeJS.ProcessEnv) => readServerConfig({}, { ...environment, ...more });
  t.equal(read({}).testUserHeader, false);
  t.equal(read({ NODE_ENV: 'test', TEST_USER_HEADER: 'on' }).testUserHeader, true);
  for (const production of [{}, { NODE_ENV: 'production' }]) {
    t.throws(() => read({ ...production, TEST_USER_HEADER: 'on' }), ConfigurationError);
  }
});
