import t from 'tap';
import type { Role } from '../../src/roles.js';
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
