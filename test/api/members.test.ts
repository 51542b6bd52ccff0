import t from 'tap';
import type { Role } from '../../src/roles.js';
import { MISSING } from '../setup/endpoints.js';
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
const southerner = await person('sue', 'Admin', south).memberId();

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
      joinedAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/,
      updatedAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/,
    });
    t.same(Object.keys(body).sort(), [
      'clubId',
      'displayName',
      'email',
      'externalUserId',
      'id',
      'joinedAt',
      'role',
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

t.test('GET /api/members lists the members of this club only, by name', async (t) => {
  const north = await person('sue', 'Admin').get('/api/members');
  const names = north.body.map(({ displayName }: { displayName: string }) => displayName);
  t.same(names, [...names].sort());
  t.ok(names.length >= 5);
  t.notOk(north.body.some(({ id }: { id: string }) => id === southerner));
  const inSouth = await person('sue', 'Admin', south).get('/api/members');
  t.same(
    inSouth.body.map(({ id }: { id: string }) => id),
    [southerner],
  );
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

t.test('a member of another club and one that does not exist are the same 404', async (t) => {
  const admin = person('admin', 'Admin');
  const blank = (answer: { status: number; text: string; body: Record<string, string> }, id: string) => [
    answer.status,
    answer.text.replaceAll(answer.body.requestId as string, '').replaceAll(id, ''),
  ];
  const foreign = await admin.get(`/api/members/${southerner}`);
  const never = await admin.get(`/api/members/${MISSING}`);
  t.match(never, { status: 404, body: { code: 'member_not_found' } });
  t.same(blank(foreign, southerner), blank(never, MISSING));
  t.equal((await person('sue', 'Admin', south).get(`/api/members/${southerner}`)).status, 200);
});

t.test('a member id may be in any letter case; a value that is not a UUID is a 400', async (t) => {
  const admin = person('admin', 'Admin');
  t.equal((await admin.get(`/api/members/${ids.Viewer?.toUpperCase()}`)).body.id, ids.Viewer);
  for (const id of ['viewer', `${ids.Viewer}0`, 'me2']) {
    const answer = await admin.get(`/api/members/${id}`);
    t.match(answer, { status: 400, body: { code: 'invalid_parameter', errors: [{ parameter: 'id' }] } }, id);
  }
});
