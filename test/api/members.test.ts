import t from 'tap';
import type { Role } from '../../src/roles.js';
import { MISSING, SHIFT } from '../setup/endpoints.js';
import { refused } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');

const person = (sub: string, role: Role, club = north) =>
  service.as(sub, role, club, { name: `Name of ${sub}`, email: `${sub}@example.org` });
const ids: Record<string, string> = {};
for (const role of ['Viewer', 'Member', 'Manager', 'Admin'] as const) {
  ids[role] = await person(role.toLowerCase(), role).memberId();
}

t.test('GET /api/members/me returns the caller’s complete membership', async (t) => {
  for (const role of ['Viewer', 'Member', 'Manager', 'Admin'] as const) {
    const sub = role.toLowerCase();
    const { status, body } = await person(sub, role).get('/api/members/me');
    t.equal(status, 200);
    t.match(body, {
      id: ids[role],
      clubId: north,
      displayName: `Name of ${sub}`,
      email: `${sub}@example.org`,
      role,
      externalUserId: sub,
      hasLogin: true,
      status: 'Active',
      leftAt: null,
      reference: null,
      joinedAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/,
      updatedAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/,
    });
    t.same(Object.keys(body).sort(), [
      'clubId',
      'displayName',
      'email',
      'externalUserId',
      'hasLogin',
      'id',
      'joinedAt',
      'leftAt',
      'reference',
      'role',
      'status',
      'updatedAt',
    ]);
  }
});

t.test(
  'Managers and Admins see the e-mail of others, Admins their subject; for all others these are null',
  async (t) => {
    for (const [role, seesEmail, seesSubject] of [
      ['Member', false, false],
      ['Manager', true, false],
      ['Admin', true, true],
    ] as const) {
      const caller = person(role.toLowerCase(), role);
      const list = await caller.get('/api/members');
      t.equal(list.status, 200);
      t.equal(list.body.length, 4);
      for (const other of ['Viewer', 'Member', 'Manager', 'Admin'] as const) {
        const sub = other.toLowerCase();
        const own = other === role;
        const one = await caller.get(`/api/members/${ids[other]}`);
        t.match(
          one,
          {
            status: 200,
            body: {
              id: ids[other],
              displayName: `Name of ${sub}`,
              role: other,
              email: own || seesEmail ? `${sub}@example.org` : null,
              externalUserId: own || seesSubject ? sub : null,
            },
          },
          `${other} to ${role}`,
        );
        t.same(
          list.body.find(({ id }: { id: string }) => id === ids[other]),
          one.body,
          'a list shows what the single read shows',
        );
      }
    }
  },
);

t.test('the role of the current token decides what a caller sees of others', async (t) => {
  const path = `/api/members/${ids.Viewer}`;
  t.match((await person('mover', 'Admin').get(path)).body, { email: /@/, externalUserId: 'viewer' });
  t.match((await person('mover', 'Manager').get(path)).body, { email: /@/, externalUserId: null });
  t.match((await person('mover', 'Member').get(path)).body, { email: null, externalUserId: null });
});

t.test('one user is a different member in each club', async (t) => {
  const here = await person('sue', 'Viewer', north).get('/api/members/me');
  const there = await person('sue', 'Admin', south).get('/api/members/me');
  t.not(here.body.id, there.body.id);
  t.match(
    [here.body, there.body],
    [
      { clubId: north, role: 'Viewer', externalUserId: 'sue' },
      { clubId: south, role: 'Admin', externalUserId: 'sue' },
    ],
  );
});

const admin = person('admin', 'Admin');
const manager = person('manager', 'Manager');
const entered = async (fields: Record<string, unknown> = {}) =>
  (await manager.post('/api/members', { displayName: 'Ida', ...fields })).body;
const lastEvent = async (memberId: string) =>
  (await manager.get(`/api/events?memberId=${memberId}&sort=-sequence&limit=1`)).body[0];

t.test('a Manager enters a member without a login, whom all features know', async (t) => {
  const { status, headers, body } = await manager.post('/api/members', {
    displayName: ' Ida Berg ',
    email: 'Ida.Berg@Example.org',
    reference: ' 7 ',
  });
  t.match(
    { status, body },
    {
      status: 201,
      body: {
        clubId: north,
        displayName: 'Ida Berg',
        email: 'ida.berg@example.org',
        role: 'Member',
        externalUserId: null,
        hasLogin: false,
        status: 'Active',
        leftAt: null,
        reference: '7',
      },
    },
  );
  t.equal(headers.location, `/api/members/${body.id}`);
  t.match(await lastEvent(body.id), {
    type: 'member.created',
    actorId: ids.Manager,
    fields: ['displayName', 'email', 'reference'],
  });

  const { body: shift } = await manager.post('/api/shifts', SHIFT);
  t.match(await manager.put(`/api/shifts/${shift.id}/signups/${body.id}`), {
    status: 201,
    body: { memberName: 'Ida Berg' },
  });
  t.match(await manager.post('/api/tasks', { title: 'Mow', assigneeId: body.id }), {
    status: 201,
    body: { state: 'Assigned' },
  });
  const { body: started } = await manager.post('/api/shifts', {
    ...SHIFT,
    startsAt: '2020-01-01T10:00:00Z',
    endsAt: '2020-01-01T12:00:00Z',
  });
  t.match(await manager.put(`/api/shifts/${started.id}/attendance/${body.id}`, { status: 'Attended' }), {
    status: 201,
  });
  t.match(
    (await manager.get('/api/hours')).body.find((one: { memberId: string }) => one.memberId === body.id),
    { minutes: 120 },
  );
});

t.test('what a request leaves out is null, and addresses have one @ with something around it', async (t) => {
  t.match(await entered(), { email: null, reference: null });
  t.match(await entered({ email: null, reference: null }), { email: null, reference: null });
  for (const email of [
    'ida',
    '@example.org',
    'ida@',
    'i d@example.org',
    'i@d@example.org',
    `${'i'.repeat(320)}@e`,
  ]) {
    const invalid = await manager.post('/api/members', { displayName: 'Ida', email });
    t.match(invalid, { status: 400, body: { errors: [{ pointer: '/email' }] } }, email);
  }
});

t.test('a login does not claim a member by the e-mail address, nor by a value of the token', async (t) => {
  const { id } = await entered({ email: 'siblings@example.org', reference: 'claimed' });
  for (const sub of [id, 'claimed', 'null', `erased:${id}`]) {
    const login = service.as(sub, 'Member', north, { email: 'siblings@example.org' });
    t.not(await login.memberId(), id, sub);
  }
});

t.test('a reference is unique in its club, compared exactly', async (t) => {
  const { id } = await entered({ reference: 'A1' });
  t.match(
    await manager.post('/api/members', { displayName: 'Ira', reference: 'A1 ' }),
    refused(409, 'member_reference_taken'),
  );
  const other = await entered({ reference: 'a1' });
  t.match(
    await manager.patch(`/api/members/${other.id}`, { reference: 'A1' }),
    refused(409, 'member_reference_taken'),
  );
  t.equal(
    (await person('sam', 'Manager', south).post('/api/members', { displayName: 'Ida', reference: 'A1' }))
      .status,
    201,
  );
  t.match(await manager.patch(`/api/members/${id}`, { reference: 'A2' }), {
    status: 200,
    body: { reference: 'A2' },
  });
  t.match(await manager.patch(`/api/members/${other.id}`, { reference: 'A1' }), {
    status: 200,
    body: { reference: 'A1' },
  });
});

t.test(
  'an import enters members in its order, and returns those with a known reference unchanged',
  async (t) => {
    const { id: known } = await entered({ displayName: 'Known', reference: 'i2' });
    await admin.patch(`/api/members/${ids.Viewer}`, { reference: 'i4' });
    const rows = ['i3', 'i2', 'i1', 'i4'].map((reference) => ({
      displayName: `New ${reference}`,
      email: `${reference}@Example.org`,
      reference,
    }));
    const first = await manager.post('/api/members/batch', { members: rows });
    t.match(
      { status: first.status, body: first.body },
      {
        status: 201,
        body: [
          { reference: 'i3', displayName: 'New i3', email: 'i3@example.org', hasLogin: false },
          { id: known, displayName: 'Known', email: null },
          { reference: 'i1', displayName: 'New i1' },
          { id: ids.Viewer, displayName: 'Name of viewer', hasLogin: true },
        ],
      },
    );
    t.equal(first.headers.location, '/api/members');
    t.same(
      (await manager.post('/api/members/batch', { members: rows })).body,
      first.body,
      'it can be repeated',
    );

    const twice = await manager.post('/api/members/batch', {
      members: [
        ...rows,
        { displayName: 'Again', reference: ' i3 ' },
        { displayName: 'Fine', reference: 'i5' },
      ],
    });
    t.match(twice, { status: 400, body: { errors: [{ pointer: '/members/4/reference' }] } });
    t.same((await manager.get('/api/members?reference=i5')).body, [], 'all or none');
    const nameless = await manager.post('/api/members/batch', { members: [{ displayName: 'No reference' }] });
    t.match(nameless, { status: 400, body: { errors: [{ pointer: '/members/0/reference' }] } });
    for (const [count, status] of [
      [0, 400],
      [200, 201],
      [201, 400],
    ] as const) {
      const members = Array.from({ length: count }, (_, index) => ({
        displayName: 'Many',
        reference: `many ${index}`,
      }));
      t.equal((await manager.post('/api/members/batch', { members })).status, status, `${count} members`);
    }
  },
);

t.test('imports at once, in any order, end with one member each', async (t) => {
  const members = Array.from({ length: 50 }, (_, index) => ({
    displayName: 'At once',
    reference: `once ${index}`,
  }));
  const results = await Promise.all(
    [members, members.toReversed(), members, members.toReversed()].map((rows) =>
      manager.post('/api/members/batch', { members: rows }),
    ),
  );
  t.same(
    results.map(({ status }) => status),
    [201, 201, 201, 201],
  );
  const idsOf = (rows: { reference: string; id: string }[]) => rows.map(({ id }) => id).sort();
  for (const { body } of results) {
    t.same(idsOf(body), idsOf(results[0]?.body));
  }
});

t.test('PATCH changes what it names: name and e-mail address only without a login', async (t) => {
  const { id } = await entered({ email: 'ida@example.org', reference: 'p1' });
  const path = `/api/members/${id}`;
  t.match(await manager.patch(path, { email: 'New@Example.org' }), {
    status: 200,
    body: { displayName: 'Ida', email: 'new@example.org', reference: 'p1' },
  });
  t.match(await lastEvent(id), {
    type: 'member.changed',
    actorId: ids.Manager,
    changes: {},
    fields: ['email'],
  });
  t.match(await manager.patch(path, { displayName: 'Ida B.', reference: null }), {
    status: 200,
    body: { displayName: 'Ida B.', email: 'new@example.org', reference: null },
  });
  t.match(await lastEvent(id), { fields: ['displayName', 'reference'] });
  const { body: unchanged } = await manager.patch(path, {});
  t.same(
    (await manager.patch(path, { displayName: 'Ida B.' })).body,
    unchanged,
    'the same values change nothing',
  );

  const login = `/api/members/${ids.Member}`;
  for (const patch of [
    { displayName: 'Renamed' },
    { email: null },
    { displayName: 'Renamed', reference: 'p2' },
  ]) {
    t.match(await manager.patch(login, patch), refused(409, 'member_has_login'));
  }
  t.match(await manager.patch(login, { reference: 'p2' }), {
    status: 200,
    body: { displayName: 'Name of member', reference: 'p2' },
  });
  t.match(
    await manager.patch(`/api/members/${MISSING}`, { reference: 'p3' }),
    refused(404, 'member_not_found'),
  );
});

t.test('an Admin deletes a member without a login whom nothing names', async (t) => {
  const { id } = await entered({ reference: 'deleted' });
  const path = `/api/members/${id}`;
  const { body: task } = await manager.post('/api/tasks', { title: 'Mow the lawn', assigneeId: id });
  t.match(await admin.delete(path), refused(409, 'member_in_use'));
  t.match(await admin.get(path), { status: 200, body: { reference: 'deleted' } });
  const key = { 'idempotency-key': 'of a response that names the member' };
  const keyed = () => manager.post('/api/members', { displayName: 'Stored' }, key);
  const { body: stored } = await keyed();
  t.equal((await admin.delete(`/api/tasks/${task.id}`)).status, 204);

  await admin.put(`${path}/membership`, { status: 'Left' });
  t.equal((await admin.delete(path)).status, 204);
  t.match(await admin.get(path), refused(404, 'member_not_found'));
  const event = await lastEvent(id);
  t.match(event, {
    type: 'member.deleted',
    subjectId: id,
    memberId: id,
    actorId: ids.Admin,
    subjectTitle: null,
  });
  t.same(Object.keys(event.changes), ['role']);
  const [deletion] = (await manager.get(`/api/events?subjectId=${task.id}&type=task.deleted`)).body;
  t.match(deletion, { memberId: id, subjectTitle: null }, 'titles of what was about the member are gone');
  t.not((await keyed()).body.id, stored.id, 'stored responses are gone, because any may contain the member');

  t.match(await admin.delete(path), refused(404, 'member_not_found'));
  t.match(await admin.delete(`/api/members/${ids.Viewer}`), refused(409, 'member_has_login'));
  t.equal((await entered({ reference: 'deleted' })).reference, 'deleted', 'its reference can be given again');
});

t.test('an erased member is one without a login, whom nothing changes', async (t) => {
  const { id } = await entered({ email: 'ida@example.org', reference: 'erased' });
  await service.db.queryAsAdmin('select app.erase_member($1, $2)', [north, id]);
  const path = `/api/members/${id}`;
  const erased = {
    displayName: 'Former member',
    email: null,
    role: 'Member',
    externalUserId: null,
    hasLogin: false,
    status: 'Erased',
    leftAt: null,
    reference: null,
  };
  t.match(await admin.get(path), { status: 200, body: erased });
  t.match(await admin.patch(path, { reference: 'again' }), refused(404, 'member_not_found'));
  t.match(await admin.delete(path), refused(404, 'member_not_found'));
  const login = person('erased admin', 'Admin');
  const loginId = await login.memberId();
  await service.db.queryAsAdmin('select app.erase_member($1, $2)', [north, loginId]);
  t.match(await admin.get(`/api/members/${loginId}`), { status: 200, body: erased });
  const listed = async (query: string) =>
    (await admin.get(`/api/members?limit=500&${query}`)).body.map((one: { id: string }) => one.id);
  t.notOk((await listed('')).includes(id));
  t.same(await listed('status=Erased&role=Member'), await listed('status=Erased'));
  t.same(new Set(await listed('status=Erased')), new Set([id, loginId]));
});

t.test('a reference is shown to the member and to Managers, who can look for it', async (t) => {
  const member = person('member', 'Member');
  await manager.patch(`/api/members/${ids.Member}`, { reference: 'shown' });
  const { id } = await entered({ reference: 'hidden' });
  t.match((await member.get('/api/members/me')).body, { reference: 'shown' });
  t.match((await member.get(`/api/members/${id}`)).body, { reference: null });
  t.match((await manager.get(`/api/members/${id}`)).body, { reference: 'hidden' });
  t.match(await manager.get('/api/members?reference=hidden'), { status: 200, body: [{ id }] });
  t.same((await manager.get('/api/members?reference=HIDDEN')).body, []);
  t.match(
    await member.get('/api/members?reference=hidden'),
    refused(403, 'insufficient_role', { requiredRole: 'Manager' }),
  );
});

t.test('the list can be limited to members with a login or without, and to statuses', async (t) => {
  const club = await service.db.makeClub();
  const boss = person('boss', 'Manager', club);
  const bossId = await boss.memberId();
  const { id } = (await boss.post('/api/members', { displayName: 'Ida' })).body;
  const idsOf = async (query: string) =>
    (await boss.get(`/api/members?${query}`)).body.map((one: { id: string }) => one.id);
  t.same(await idsOf('hasLogin=true'), [bossId]);
  t.same(await idsOf('hasLogin=false'), [id]);
  t.same(await idsOf('role=Member'), [id]);
  t.same(await idsOf('status=Left,Erased'), []);
  t.same(await idsOf('status=Active,Erased'), [id, bossId]);
  t.match(await boss.get('/api/members?status=Gone'), { status: 400 });
});
