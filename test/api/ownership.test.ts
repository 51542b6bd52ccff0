import t from 'tap';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const admin = service.as('anna', 'Admin', north);
const max = service.as('max', 'Member', north);
const ownId = await admin.memberId();
const otherId = await max.memberId();

/** Fields that the server decides, with values that an attacker may want; also names from other systems. */
const values: Record<string, unknown> = {
  id: '11111111-1111-4111-8111-111111111111',
  clubId: south,
  tenantId: south,
  club_id: south,
  tenant_id: south,
  createdById: otherId,
  created_by: otherId,
  createdAt: '2001-01-01T00:00:00Z',
  updatedAt: '2001-01-01T00:00:00Z',
  completedAt: '2001-01-01T00:00:00Z',
  signupCount: 0,
  signup_count: 0,
  freeSlots: 99,
  isSignedUp: true,
  signups: [{ memberId: otherId }],
  memberId: otherId,
  memberName: 'Max',
  assigneeName: 'Max',
  allowedTransitions: ['Done'],
  externalUserId: 'max',
  role: 'Admin',
  email: 'max@example.org',
  displayName: 'Max',
  joinedAt: '2001-01-01T00:00:00Z',
  shiftId: '11111111-1111-4111-8111-111111111111',
  toString: 'x',
  hasOwnProperty: true,
  prototype: {},
  $ref: '#',
};

/** Written as text: a JavaScript object cannot have all of these names. */
const members = [
  ...Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)] as const),
  ['__proto__', '{"role":"Admin","isAdmin":true}'] as const,
  ['constructor', '{"prototype":{"isAdmin":true}}'] as const,
];

const task = (await admin.post('/api/tasks', { title: 'Mow', assigneeId: ownId })).body;
const shift = (await admin.post('/api/shifts', shiftRequest())).body;
await max.post(`/api/shifts/${shift.id}/signup`);

const only = (...names: string[]) =>
  names.map((name) => [name, JSON.stringify({ state: 'Done' }[name] ?? 7)] as const);
const bodies = [
  ['create a task', 'post', '/api/tasks', { title: 'Mow' }, only('state', 'version', 'capacity')],
  ['edit a task', 'patch', `/api/tasks/${task.id}`, { title: 'Sweep' }, only('capacity')],
  ['create a shift', 'post', '/api/shifts', shiftRequest(), only('state', 'version', 'assigneeId')],
  ['replace a shift', 'put', `/api/shifts/${shift.id}`, shiftRequest({ title: 'Door' }), only('state')],
  ['sign up', 'post', `/api/shifts/${shift.id}/signup`, {}, only('state', 'version', 'title')],
] as const;

/** Everything that is stored, read as an administrator. */
async function stored(): Promise<unknown[]> {
  const rows = [];
  for (const table of ['clubs', 'members', 'tasks', 'shifts', 'shift_signups']) {
    rows.push(await service.db.queryAsAdmin(`select * from app.${table} order by id`));
  }
  return rows;
}

const refusal = ({ status, body }: Response) =>
  [status, body?.code, ...(body?.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)].join(' ');

for (const [what, method, path, base, more] of bodies) {
  t.test(`to ${what} accepts no field that the server decides, and an error changes nothing`, async (t) => {
    const before = await stored();
    const wrong: unknown[] = [];
    const inner = JSON.stringify(base).slice(1, -1);
    for (const [name, value] of [...members, ...more]) {
      // First and last, for parsers that take either; null, for code that checks the value first.
      for (const member of [`"${name}":${value}`, `"${name}":null`]) {
        const texts = inner === '' ? [`{${member}}`] : [`{${inner},${member}}`, `{${member},${inner}}`];
        for (const text of texts) {
          const said = refusal(await admin[method](path, text));
          if (said !== `400 validation_failed /${name}`) {
            wrong.push({ text, said });
          }
        }
      }
    }
    const all = `{${[inner, ...members.map(([name, value]) => `"${name}":${value}`)].filter(Boolean).join()}}`;
    const pointers = refusal(await admin[method](path, all))
      .split(' ')
      .slice(2)
      .sort();
    t.same(pointers, members.map(([name]) => `/${name}`).sort());
    t.same(wrong, []);
    t.same(await stored(), before);
  });
}

t.test('no request changes Object.prototype', async (t) => {
  t.notOk('isAdmin' in {});
  t.equal(refusal(await max.delete(`/api/tasks/${task.id}`)), '403 insufficient_role');
});

t.test('the token alone identifies the caller; the query string cannot', async (t) => {
  const before = await stored();
  const wrong: unknown[] = [];
  for (const name of ['clubId', 'tenantId', 'tenant_id', 'memberId', 'role', 'X-Tenant-Id', 'access_token']) {
    for (const path of [
      '/api/tasks',
      '/api/shifts',
      '/api/members',
      `/api/tasks/${task.id}`,
      '/api/members/me',
    ]) {
      const answer = await max.get(`${path}?${name}=${south}`);
      if (answer.status !== 400 || answer.body.errors?.[0]?.parameter !== name) {
        wrong.push({ path, name, said: answer.text });
      }
    }
  }
  t.same(wrong, []);
  t.same(await stored(), before);
});

t.test('a field that the caller decides is accepted', async (t) => {
  // Without this the errors above could come from a body that is always invalid.
  t.equal(
    (await admin.patch(`/api/tasks/${task.id}`, { title: 'Sweep', version: task.version })).status,
    200,
  );
  t.equal((await admin.put(`/api/shifts/${shift.id}`, shiftRequest({ title: 'Door' }))).status, 200);
  t.equal((await admin.post(`/api/shifts/${shift.id}/signup`, {})).status, 201);
});
