import t from 'tap';
import { MISSING } from '../setup/endpoints.js';
import { walk } from '../setup/paging.js';
import type { Person } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest, started } from '../setup/shifts.js';

const MINE = '/api/members/me/data';
const service = await startService(t);
const club = await service.db.makeClub('north');
const admin = service.as('ada', 'Admin', club);
// Ben was a Manager, and is a Viewer now.
const claims = { name: 'Ben Brandt', email: 'ben@example.org' };
const manager = service.as('ben', 'Manager', club, claims);
const viewer = service.as('ben', 'Viewer', club, claims);
const carl = service.as('carl', 'Member', club);
const [id, carlsId] = [await manager.memberId(), await carl.memberId()];

/** Creates something by a request, and returns its path. */
const create = async (person: Person, path: string, body: object, headers = {}) =>
  String((await person.post(path, body, headers)).headers.location);

/** Rows of a list with the description that only the row itself shows. */
async function described(path: string, rows: Record<string, unknown>[]) {
  return Promise.all(
    rows.map(async (row) => ({
      ...row,
      description: (await admin.get(`${path}/${row.id}`)).body.description,
    })),
  );
}

/** Those rows of a list that the member created, for each reader of the list. */
async function createdIn(person: Person, path: string) {
  const rows = await walk(person, path);
  const details = await Promise.all(rows.map(async (row) => (await admin.get(`${path}/${row.id}`)).body));
  return described(
    path,
    rows.filter((_, place) => details[place].createdById === id),
  );
}

t.test('a copy has what the lists have about a member, whole and in their order', async (t) => {
  for (const days of [3, 1, 2]) {
    const times = { startsAt: hoursFromNow(24 * days), endsAt: hoursFromNow(24 * days + 2) };
    const path = await create(
      manager,
      '/api/shifts',
      shiftRequest({ ...times, description: `In ${days} days.` }),
    );
    await (days === 1 ? carl : manager).post(`${path}/signup`);
    await carl.post(`${await create(admin, '/api/shifts', shiftRequest(times))}/signup`);
  }
  for (const person of [admin, manager]) {
    const full = await create(person, '/api/shifts', shiftRequest({ capacity: 1 }));
    await carl.post(`${full}/signup`);
    await admin.post(`${full}/wait`);
    t.match((await manager.post(`${full}/wait`)).body, { position: 2 });
    const past = await create(person, '/api/shifts', shiftRequest(started()));
    for (const memberId of [id, carlsId]) {
      await admin.put(`${past}/attendance/${memberId}`, { status: 'NoShow' });
    }
  }
  for (const assigneeId of [id, carlsId, null]) {
    for (const person of [admin, manager]) {
      await create(person, '/api/tasks', { title: 'Row', description: '“Time”:"…+00:00"', assigneeId });
    }
  }
  const key = { 'idempotency-key': 'a key' };
  const stored = await create(manager, '/api/tasks', { title: 'Stored' }, key);
  await carl.post(`${await create(admin, '/api/shifts', shiftRequest())}/wait`, undefined, key);
  await carl.put('/api/members/me/calendar');
  const { url: _url, ...link } = (await manager.put('/api/members/me/calendar')).body;

  const before = Date.now();
  const copied = await admin.get(`/api/members/${id}/data`);
  t.equal(copied.status, 200);
  const { exportedAt, storedResponses, ...copy } = copied.body;
  t.ok(Date.parse(exportedAt) >= before - 1_000 && Date.parse(exportedAt) <= Date.now() + 1_000);
  const events = (await walk(admin, '/api/events')) as { memberId?: string; actorId?: string }[];
  const waits = await walk(manager, '/api/shifts?waiting=me');
  t.same(copy, {
    member: (await admin.get(`/api/members/${id}`)).body,
    signups: await walk(admin, `/api/signups?memberId=${id}`),
    waits: await Promise.all(
      waits.map(async (shift) => (await admin.get(`/api/shifts/${shift.id}/waits/${id}`)).body),
    ),
    attendance: await walk(admin, `/api/attendance?memberId=${id}`),
    tasksAssigned: await described('/api/tasks', await walk(admin, `/api/tasks?assigneeId=${id}`)),
    tasksCreated: await createdIn(admin, '/api/tasks'),
    shiftsCreated: await createdIn(manager, '/api/shifts'),
    events: events.filter(({ memberId, actorId }) => [memberId, actorId].includes(id)),
    calendarLink: link,
  });
  t.match(storedResponses, [{ location: stored }]);
  for (const [name, rows] of Object.entries({ ...copy, storedResponses })) {
    t.ok(['member', 'calendarLink'].includes(name) || (rows as unknown[]).length > 0, `${name} is not empty`);
  }
  t.ok(
    copy.events.some(({ memberId, actorId }: Record<string, string>) => memberId !== id && actorId === id),
    'events that are only of changes by the member',
  );

  const own = await viewer.get(MINE);
  const ofOwn = (await admin.get(`/api/members/${id.toUpperCase()}/data`)).body;
  t.match(own, {
    status: 200,
    body: { member: { role: 'Viewer', email: claims.email, externalUserId: 'ben' } },
  });
  t.same({ ...own.body, exportedAt: '' }, { ...ofOwn, exportedAt: '' }, 'of a Viewer too, who reads no task');
  for (const { headers } of [copied, own]) {
    t.match(headers, {
      'content-disposition': `attachment; filename="member-${id}.json"`,
      'cache-control': 'no-store',
    });
  }
});

t.test('a copy of a new member is empty, and an Admin copies what is left of an erased one', async (t) => {
  const eva = service.as('eva', 'Member', club, { name: 'Eva Example' });
  const evasId = await eva.memberId();
  const empty = { signups: [], tasksAssigned: [], calendarLink: null, storedResponses: [] };
  t.match((await eva.get(MINE)).body, { ...empty, events: [{ type: 'member.created' }] });
  await eva.put('/api/members/me/calendar');
  await admin.post('/api/tasks', { title: 'Row', assigneeId: evasId });
  await service.db.queryAsAdmin('select app.erase_member($1, $2)', [club, evasId]);
  t.match((await admin.get(`/api/members/${evasId}/data`)).body, {
    member: { displayName: 'Former member', externalUserId: null },
    tasksAssigned: [{ title: 'Row' }],
    calendarLink: null,
    events: [{}, { type: 'task.created' }, { type: 'member.erased' }],
  });
});

t.test('a copy has more rows than a page of a list can have', async (t) => {
  await service.db.queryAsAdmin(
    `insert into app.tasks (tenant_id, id, title, created_by_id) select $1, gen_random_uuid(), 'Row', $2 from generate_series(1, 501)`,
    [club, carlsId],
  );
  t.equal((await carl.get(MINE)).body.tasksCreated.length, 501);
});

t.test('a copy of another member is for Admins of the club', async (t) => {
  const path = `/api/members/${carlsId}/data`;
  for (const role of ['Viewer', 'Member', 'Manager'] as const) {
    const refused = { status: 403, body: { code: 'insufficient_role', requiredRole: 'Admin' } };
    t.match(await service.as('max', role, club).get(path), refused);
  }
  t.match(await admin.get(path), { status: 200, body: { member: { id: carlsId } } });
  const south = service.as('sam', 'Admin', await service.db.makeClub('south'));
  const missing = { status: 404, body: { code: 'member_not_found' } };
  t.match(await south.get(path), missing);
  t.match(await admin.get(`/api/members/${MISSING}/data`), missing);
});
