import t, { type Test } from 'tap';
import { MISSING } from '../setup/endpoints.js';
import { eventsOf, lastSequence } from '../setup/events.js';
import { connectAsRuntime, withoutTimeLimits } from '../setup/runtime.js';
import { type Response, refused, sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { countsOf, shiftRequest, started } from '../setup/shifts.js';
import { until, untilWaitingForLocks } from '../setup/wait.js';

const service = await startService(t, {}, async ({ url }) => ({
  url: withoutTimeLimits(url),
  size: 8,
  prepare: true,
  readsPerConnection: 1,
}));
const { db } = service;
// Two requests that wait for each other end at once.
await db.queryAsAdmin(
  `do $$ begin execute format('alter database %I set deadlock_timeout = ''20ms''', current_database()); end $$`,
);
const north = await db.makeClub('north');
const south = await db.makeClub('south');
const ada = service.as('ada', 'Admin', north);
const adasId = await ada.memberId();
const mara = service.as('mara', 'Manager', north);

const ENDED = refused(403, 'membership_ended');
const LINK = '/api/members/me/calendar';

const setMembership = (id: string, status: string): Promise<Response> =>
  ada.put(`/api/members/${id}/membership`, { status });

const erase = (id: string) => db.queryAsAdmin('select app.erase_member($1, $2)', [north, id]);

let newcomers = 0;

/** A new member of club north, and the requests of an Admin about them. */
async function newcomer(role: 'Member' | 'Admin' = 'Member') {
  newcomers += 1;
  const sub = `newcomer-${newcomers}`;
  const person = service.as(sub, role, north);
  const id = await person.memberId();
  return {
    ...person,
    sub,
    id,
    leave: () => setMembership(id, 'Left'),
    comeBack: () => setMembership(id, 'Active'),
  };
}

async function makeShift(difference: Parameters<typeof shiftRequest>[0] = {}) {
  const request = shiftRequest(difference);
  const { body } = await mara.post('/api/shifts', request);
  const path = `/api/shifts/${body.id}`;
  return { id: body.id as string, path, request, signup: `${path}/signup`, wait: `${path}/wait` };
}

/** A shift whose one place Mara has. */
async function makeFullShift() {
  const shift = await makeShift({ capacity: 1 });
  t.equal((await mara.post(shift.signup)).status, 201);
  return shift;
}

/** The ids of the members who are signed up for a shift, and of those who wait. */
async function peopleOf(path: string): Promise<string[][]> {
  const rows = [(await mara.get(path)).body.signups, (await mara.get(`${path}/waits`)).body];
  return rows.map((list) => list.map((row: { memberId: string }) => row.memberId));
}

t.test('an Admin ends a membership and renews it; the same status changes nothing', async (t) => {
  const ida = (await mara.post('/api/members', { displayName: 'Ida' })).body;
  for (const { id, before } of [
    { id: ida.id, before: ida },
    await newcomer().then(async ({ id }) => ({ id, before: (await ada.get(`/api/members/${id}`)).body })),
  ]) {
    const last = await lastSequence(db, north);
    t.same((await setMembership(id, 'Active')).body, before);
    const left = await setMembership(id, 'Left');
    t.equal(left.status, 200);
    t.match(left.body, { ...before, status: 'Left', leftAt: /Z$/, updatedAt: left.body.leftAt });
    t.same((await setMembership(id, 'Left')).body, left.body);
    t.same((await ada.get(`/api/members/${id}`)).body, left.body);
    const back = await setMembership(id, 'Active');
    t.match(back, { status: 200, body: { ...before, updatedAt: /Z$/ } });
    t.same((await setMembership(id, 'Active')).body, back.body);
    const about = { type: 'member.changed', subject_id: id, member_id: id, actor_id: adasId, fields: [] };
    t.match(await eventsOf(db, north, last), [
      { ...about, changes: { status: { from: 'Active', to: 'Left' } } },
      { ...about, changes: { status: { from: 'Left', to: 'Active' } } },
    ]);
    t.equal((await eventsOf(db, north, last)).length, 2);
  }
});

t.test('an unknown or erased member is a 404, one’s own membership a 409, with any status', async (t) => {
  const erased = await newcomer();
  await erase(erased.id);
  const stranger = await service.as('sam', 'Member', south).memberId();
  for (const status of ['Active', 'Left']) {
    for (const id of [MISSING, stranger, erased.id]) {
      t.match(await setMembership(id, status), refused(404, 'member_not_found'));
    }
    t.match(await setMembership(adasId, status), refused(409, 'own_membership'));
  }
  for (const status of ['Erased', 'left', null]) {
    t.match(
      await ada.put(`/api/members/${adasId}/membership`, { status }),
      refused(400, 'validation_failed'),
    );
  }
});

t.test('who has left is refused by every process, even with a new token, until they are back', async (t) => {
  const person = await newcomer('Admin');
  const other = await startService(t, {}, async () => ({
    url: withoutTimeLimits(db.url),
    size: 2,
    prepare: true,
    readsPerConnection: 8,
  }));
  const elsewhere = other.as(person.sub, 'Admin', north);
  const task = { title: 'Mow' };
  const key = { 'idempotency-key': 'before the end' };
  t.equal((await person.post('/api/tasks', task, key)).status, 201);
  const signup = (await makeShift()).signup;
  t.equal((await person.post(signup, undefined, key)).status, 422);
  t.equal((await person.post(signup, undefined, { 'idempotency-key': 'a signup' })).status, 201);
  t.equal((await elsewhere.get('/api/members/me')).status, 200);
  const before = (await person.leave()).body;

  const renamed = {
    name: 'Another Name',
    email: 'another@example.org',
    iat: Math.floor(Date.now() / 1_000) + 5,
  };
  for (const caller of [
    person,
    elsewhere,
    service.as(person.sub, 'Admin', north, renamed),
    other.as(person.sub, 'Viewer', north, renamed),
  ]) {
    // A read that shares its connection, one that does not, a call and a transaction.
    t.match(await caller.get('/api/members/me'), ENDED);
    t.match(await caller.get('/api/clubs/current'), ENDED);
  }
  for (const caller of [person, elsewhere]) {
    t.match(await caller.get('/api/hours'), ENDED);
    t.match(await caller.post(signup), ENDED);
    t.match(await caller.post('/api/tasks', task), ENDED);
    t.match(await caller.post('/api/tasks', task, key), ENDED, 'a stored response of a transaction');
    t.match(await caller.post(signup, undefined, { 'idempotency-key': 'a signup' }), ENDED, 'and of a call');
    t.match(await caller.put(`/api/members/${person.id}/membership`, { status: 'Active' }), ENDED);
    t.match(await caller.get('/api/tasks?limit=0'), refused(400, 'invalid_parameter'), 'before the database');
  }
  const [mine, foreign] = await Promise.all([
    Promise.all(Array.from({ length: 20 }, () => elsewhere.get('/api/shifts'))),
    Promise.all(Array.from({ length: 20 }, () => other.as('mara', 'Manager', north).get('/api/shifts'))),
  ]);
  t.ok(mine.every(({ status }) => status === 403) && foreign.every(({ status }) => status === 200));
  t.same((await ada.get(`/api/members/${person.id}`)).body, before, 'nothing of the member has changed');
  t.equal((await service.as(person.sub, 'Member', south).get('/api/tasks')).status, 200, 'another club');

  await person.comeBack();
  t.equal((await elsewhere.post('/api/tasks', task)).status, 201);
  t.match(await person.post('/api/tasks', task, key), {
    status: 201,
    headers: { 'idempotent-replayed': 'true' },
  });
});

t.test('app.enter refuses who has left, in raw SQL too', async (t) => {
  const person = await newcomer();
  const session = await connectAsRuntime(t, db);
  const caller = { clubId: north, subject: person.sub, role: 'Member' } as const;
  t.match(await session.run(caller, 'select from app.shifts'), { code: 'ok' });
  await person.leave();
  t.match(await session.run(caller, 'select from app.shifts'), { code: 'ME006' });
  t.match(
    await session.run({ ...caller, clubId: MISSING }, 'select'),
    { code: 'ok' },
    'a missing club is told first',
  );
  await t.rejects(session.client.query(`select app.set_membership($1, 'Active')`, [person.id]), {
    code: 'TN001',
  });
});

t.test('with a membership end the signups and waits at shifts to come, and the calendar link', async (t) => {
  const [leaver, next, third] = [await newcomer(), await newcomer(), await newcomer()];
  const [taken, full, past] = [await makeShift({ capacity: 1 }), await makeFullShift(), await makeShift()];
  const pastFull = await makeFullShift();
  for (const path of [taken.signup, past.signup, full.wait, pastFull.wait]) {
    t.equal((await leaver.post(path)).status, 201);
  }
  for (const person of [next, third]) {
    t.equal((await person.post(taken.wait)).status, 201);
    t.equal((await person.post(full.wait)).status, 201);
  }
  for (const { path, request } of [past, pastFull]) {
    t.equal((await mara.put(path, { ...request, ...started() })).status, 200);
  }
  await mara.put(`${past.path}/attendance/${leaver.id}`, { status: 'Attended', minutes: 60 });
  const task = (await mara.post('/api/tasks', { title: 'Mow', assigneeId: leaver.id })).body;
  const { url } = (await leaver.put(LINK)).body;
  t.equal((await service.send('GET', url)).status, 200);
  const last = await lastSequence(db, north);

  t.equal((await leaver.leave()).status, 200);
  t.same(await peopleOf(taken.path), [[next.id], [third.id]]);
  t.same(await peopleOf(full.path), [[await mara.memberId()], [next.id, third.id]]);
  t.same(await peopleOf(past.path), [[leaver.id], []]);
  t.same((await peopleOf(pastFull.path))[1], [leaver.id]);
  t.match(await service.send('GET', url), refused(404, 'calendar_not_found'));
  t.match(await ada.delete(`/api/members/${leaver.id}/calendar`), refused(404, 'calendar_not_found'));
  t.same((await mara.get(`/api/tasks/${task.id}`)).body, task);
  t.match((await mara.get(`/api/attendance?memberId=${leaver.id}`)).body, [{ minutes: 60 }]);
  t.same(
    (await eventsOf(db, north, last)).map(({ type, subject_id, member_id, actor_id }) => [
      type,
      subject_id,
      member_id,
      actor_id,
    ]),
    [
      ['member.changed', leaver.id, leaver.id, adasId],
      ['wait.deleted', full.id, leaver.id, adasId],
      ['signup.deleted', taken.id, leaver.id, adasId],
      ['wait.deleted', taken.id, next.id, adasId],
      ['signup.created', taken.id, next.id, adasId],
    ],
  );

  const moved = await mara.put(pastFull.path, { ...pastFull.request, capacity: 2 });
  t.match(moved, { status: 200, body: { waitCount: 0, freeSlots: 1 } });
  t.same((await peopleOf(pastFull.path))[1], [], 'a shift that is moved promotes no member who has left');

  await leaver.comeBack();
  t.match(await leaver.get(taken.signup), refused(404, 'signup_not_found'), 'what went stays gone');
  t.match(await leaver.get(full.wait), refused(404, 'wait_not_found'));
  t.match(await leaver.get(LINK), refused(404, 'calendar_not_found'));
  t.match(await leaver.post(taken.wait), { status: 201, body: { position: 2 } });
});

t.test(
  'who has left or was erased gets no task, place or wait, and attendance as far as it goes',
  async (t) => {
    const [left, erased, active] = [await newcomer(), await newcomer(), await newcomer()];
    const [free, full, past, other] = [
      await makeShift(),
      await makeFullShift(),
      await makeShift(),
      await makeShift(),
    ];
    for (const person of [left, erased]) {
      await person.post(past.signup);
    }
    for (const { path, request } of [past, other]) {
      await mara.put(path, { ...request, ...started() });
    }
    const attendanceOf = ({ path }: { path: string }, { id }: { id: string }) => `${path}/attendance/${id}`;
    const present = { status: 'Attended', minutes: 90 };
    t.equal((await mara.put(attendanceOf(past, erased), present)).status, 201);
    const held = [];
    for (const { id } of [left, erased]) {
      held.push((await mara.post('/api/tasks', { title: 'Mow', assigneeId: id })).body);
    }
    const open = (await mara.post('/api/tasks', { title: 'Rake' })).body;
    await left.leave();
    await erase(erased.id);

    for (const [index, { id }] of [left, erased].entries()) {
      const notMember = refused(422, 'assignee_not_member');
      t.match(await mara.post('/api/tasks', { title: 'Sweep', assigneeId: id }), notMember);
      t.match(await mara.patch(`/api/tasks/${open.id}`, { assigneeId: id }), notMember);
      const task = held[index];
      t.same((await mara.patch(`/api/tasks/${task.id}`, { assigneeId: id })).body.version, task.version);
      t.match(await mara.patch(`/api/tasks/${task.id}`, { assigneeId: id, state: 'InProgress' }), {
        status: 200,
      });
      t.match(await mara.patch(`/api/tasks/${task.id}`, { assigneeId: active.id }), { status: 200 });
      t.match(await mara.patch(`/api/tasks/${task.id}`, { assigneeId: id }), notMember);
      for (const path of [free.path, past.path]) {
        t.match(await mara.put(`${path}/signups/${id}`), refused(404, 'member_not_found'));
      }
      t.match(await mara.put(`${full.path}/waits/${id}`), refused(404, 'member_not_found'));
      t.match(await mara.get(`${past.path}/signups/${id}`), { status: 200 }, 'a signup of the past stays');
    }
    const withHours = async () =>
      (await mara.get('/api/hours?limit=500')).body
        .map(({ memberId }: { memberId: string }) => memberId)
        .filter((id: string) => [left.id, erased.id, active.id].includes(id));
    t.same(
      (await withHours()).sort(),
      [erased.id, active.id].sort(),
      'hours of those without any are not listed',
    );
    t.equal((await mara.put(attendanceOf(other, left), present)).status, 201);
    t.match(await mara.put(attendanceOf(other, erased), present), refused(404, 'member_not_found'));
    t.equal((await mara.put(attendanceOf(past, erased), { ...present, minutes: 30 })).status, 200);
    t.same((await withHours()).sort(), [left.id, erased.id, active.id].sort());
  },
);

t.test('no value of a token makes its bearer a member who has left', async (t) => {
  const { id, sub, leave } = await newcomer();
  await leave();
  for (const other of [
    id,
    id.toUpperCase(),
    `left:${id}`,
    `erased:${id}`,
    'null',
    ` ${sub}`,
    sub.toUpperCase(),
  ]) {
    const { status, body } = await service.as(other, 'Member', north).get('/api/members/me');
    t.equal(status, 200, other);
    t.match(body, { status: 'Active', externalUserId: other });
    t.not(body.id, id, other);
  }
});

// Requests under way.

/** Sends requests that wait while the membership of a member ends; returns their responses. */
async function duringTheEnd(t: Test, id: string, send: () => Promise<Response>[]): Promise<Response[]> {
  const session = await connectAsRuntime(t, db);
  await session.begin({ clubId: north, subject: 'ada', role: 'Admin' });
  await session.client.query(`select app.set_membership($1, 'Left')`, [id]);
  const requests = send();
  t.equal(await untilWaitingForLocks(db, requests.length, ...requests), requests.length);
  await session.client.query('commit');
  return Promise.all(requests);
}

t.test(
  'a request that meets the end of the membership is refused after it, and changes nothing',
  async (t) => {
    const [free, full] = [await makeShift(), await makeFullShift()];
    const person = await newcomer();
    for (const response of await duringTheEnd(t, person.id, () => [
      person.post(free.signup),
      person.post(full.wait),
    ])) {
      t.match(response, ENDED);
    }
    const { id } = await newcomer();
    for (const response of await duringTheEnd(t, id, () => [
      mara.put(`${free.path}/signups/${id}`),
      mara.put(`${full.path}/waits/${id}`),
    ])) {
      t.match(response, refused(404, 'member_not_found'));
    }
    t.same(await peopleOf(free.path), [[], []]);
    t.same(await peopleOf(full.path), [[await mara.memberId()], []]);
  },
);

t.test(
  'two Admins who end each other at the same moment have both left, and another Admin renews',
  async (t) => {
    const [one, other] = [await newcomer('Admin'), await newcomer('Admin')];
    const session = await connectAsRuntime(t, db);
    await session.begin({ clubId: north, subject: one.sub, role: 'Admin' });
    await session.client.query(`select app.set_membership($1, 'Left')`, [other.id]);
    t.match(await other.put(`/api/members/${one.id}/membership`, { status: 'Left' }), { status: 200 });
    await session.client.query('commit');
    for (const person of [one, other]) {
      t.match(await person.get('/api/members/me'), ENDED);
      t.equal((await person.comeBack()).status, 200);
      t.equal((await person.get('/api/members/me')).status, 200);
    }
  },
);

t.test(
  'a signup with a key that meets the end stores no response, and a calendar link stays uncreated',
  async (t) => {
    const person = await newcomer();
    const shift = await makeShift();
    const key = { 'idempotency-key': 'during the end' };
    const [signup, link] = await duringTheEnd(t, person.id, () => [
      person.post(shift.signup, undefined, key),
      person.put(LINK),
    ]);
    t.match(signup, ENDED);
    t.match(link, refused(503, 'service_unavailable'));
    t.match(await person.put(LINK), ENDED);
    await person.comeBack();
    t.match(await person.get(LINK), refused(404, 'calendar_not_found'));
    const again = await person.post(shift.signup, undefined, key);
    t.match(again, { status: 201, headers: { 'idempotent-replayed': undefined } });
  },
);

t.test('the end of a membership waits for a request under way, and takes what it has written', async (t) => {
  const person = await newcomer();
  const [free, full] = [await makeShift(), await makeFullShift()];
  const caller = { clubId: north, subject: person.sub, role: 'Member' } as const;
  const sessions = [await connectAsRuntime(t, db), await connectAsRuntime(t, db)] as const;
  for (const [index, statement] of [
    `select app.sign_up('${free.id}')`,
    `with waits as (select app.wait_for_place('${full.id}')), links as (
       insert into app.calendar_links (secret_hash) values (sha256('a secret'))
     ) select from waits`,
  ].entries()) {
    await sessions[index as 0 | 1].begin(caller);
    await sessions[index as 0 | 1].client.query(statement);
  }
  const leaving = person.leave();
  t.equal(await untilWaitingForLocks(db, 1, leaving), 1);
  for (const { client } of sessions) {
    await client.query('commit');
  }
  t.equal((await leaving).status, 200);
  t.same(await peopleOf(free.path), [[], []]);
  t.same((await peopleOf(full.path))[1], []);
  t.same(await db.queryAsAdmin('select from app.calendar_links where member_id = $1', [person.id]), []);
});

const CROWD = 30;
/** The responses to people who sign up, wait and cancel, and to Managers who enter them. */
const ALLOWED =
  /^(20[014]|403 membership_ended|4(04|09|22) (shift_full|shift_not_full|already_\w+|(signup|wait|member)_not_found)|503 service_unavailable)$/;

/**
 * People sign up, wait and cancel, and a Manager enters them, until they are gone. None of them is signed up or waits afterwards.
 *
 * @param end lets a member go: leaves or erases them
 */
async function race(t: Test, end: (id: string) => Promise<unknown>): Promise<void> {
  const shifts = await Promise.all(Array.from({ length: 4 }, () => makeShift({ capacity: 4 })));
  const crowd = await Promise.all(Array.from({ length: CROWD }, () => newcomer()));
  const last = await lastSequence(db, north);
  const unexpected = new Set<string>();
  const note = ({ status, body }: Response) => {
    const response = status < 400 ? String(status) : `${status} ${body.code}`;
    if (!ALLOWED.test(response)) {
      unexpected.add(response);
    }
  };
  await Promise.all(
    crowd.map(async ({ id, post, delete: remove }, index) => {
      let [isOver, responses] = [false, 0];
      const ending = until(
        () => responses,
        (count) => count >= index % 8,
      )
        .then(() => end(id))
        .finally(() => {
          isOver = true;
        });
      for (let round = index; !isOver; round += 1) {
        const { path, signup, wait } = shifts[round % shifts.length] as (typeof shifts)[number];
        const key: Record<string, string> = round % 3 === 0 ? { 'idempotency-key': `${id} ${round}` } : {};
        for (const send of [
          () => post(signup, undefined, key),
          () => post(wait),
          () => mara.put(`${path}/${round % 2 === 0 ? 'signups' : 'waits'}/${id}`),
          () => remove(round % 2 === 0 ? signup : wait),
        ]) {
          note(await send());
          responses += 1;
        }
      }
      await ending;
    }),
  );
  t.same([...unexpected], []);

  const events = await eventsOf(db, north, last);
  const gone = new Set<string | null>();
  const after = events.flatMap(({ type, member_id, changes }) => {
    if (type === 'member.erased' || (changes.status as { to?: string })?.to === 'Left') {
      gone.add(member_id);
    }
    return gone.has(member_id) && ['signup.created', 'wait.created'].includes(type) ? [type] : [];
  });
  t.equal(gone.size, CROWD);
  t.same(after, [], 'no one who is gone is signed up or waits afterwards');
  for (const { id } of shifts) {
    const [counter, rows] = await countsOf(db, id);
    t.equal(counter, rows, 'every place taken is counted');
  }
}

/** The signups and waits of members who have left, and the waits of erased ones, at shifts to come. */
const remaining = () =>
  db.queryAsAdmin(
    `select place.kind, member.display_name
     from (
       select 'signup' as kind, tenant_id, shift_id, member_id from app.shift_signups
       union all
       select 'wait', tenant_id, shift_id, member_id from app.shift_waits
     ) as place
     join app.members as member on (member.tenant_id, member.id) = (place.tenant_id, place.member_id)
     join app.shifts as shift on (shift.tenant_id, shift.id) = (place.tenant_id, place.shift_id)
     where shift.starts_at > now() and (member.left_at is not null or member.erased_at is not null and place.kind = 'wait')`,
  );

t.test('thirty people who leave while they sign up, wait and cancel keep no place and no wait', async (t) => {
  await race(t, async (id) => {
    t.equal((await sendUnderLoad(() => setMembership(id, 'Left'))).status, 200);
  });
  t.same(await remaining(), []);
});

t.test('thirty people who are erased meanwhile get no place and no wait afterwards', async (t) => {
  await race(t, async (id) => {
    for (let isErased = false; !isErased; ) {
      isErased = await erase(id).then(
        () => true,
        (error) => {
          t.match(error.code, /^40(001|P01)$/);
          return false;
        },
      );
    }
  });
  t.same(await remaining(), []);
});
