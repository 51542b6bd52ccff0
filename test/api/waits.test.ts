import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { MISSING } from '../setup/endpoints.js';
import { walk } from '../setup/paging.js';
import { type Person, type Response, refused } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest, started } from '../setup/shifts.js';

const service = await startService(t);
const { db } = service;
const north = await db.makeClub('north');
const south = await db.makeClub('south');
const admin = service.as('ada', 'Admin', north);
const mara = service.as('mara', 'Manager', north);
const [anna, bert, cleo, dora] = ['anna', 'bert', 'cleo', 'dora'].map((name) =>
  service.as(name, 'Member', north),
) as [Person, Person, Person, Person];
const vera = service.as('vera', 'Viewer', north);
const people = { anna, bert, cleo, dora, vera, mara, ada: admin };
const ids = new Map<Person, string>();
const names = new Map<string | null, string>();
for (const [name, person] of Object.entries(people)) {
  const id = await person.memberId();
  ids.set(person, id);
  names.set(id, name);
}
const idOf = (person: Person) => ids.get(person) as string;
const strangersId = await service.as('sam', 'Member', south).memberId();

async function makeShift(difference: Parameters<typeof shiftRequest>[0] = {}) {
  const request = shiftRequest({ capacity: 1, ...difference });
  const { body } = await mara.post('/api/shifts', request);
  const path = `/api/shifts/${body.id}`;
  return {
    id: body.id as string,
    request,
    path,
    signup: `${path}/signup`,
    wait: `${path}/wait`,
    signupOf: (person: Person) => `${path}/signups/${idOf(person)}`,
    waitOf: (person: Person) => `${path}/waits/${idOf(person)}`,
    /** Who is signed up, in the order of signing up, and who waits, in the order of the queue. */
    async people(): Promise<string[][]> {
      const { body: shift } = await mara.get(path);
      const { body: waits } = await mara.get(`${path}/waits`);
      const rows = [shift.signups, waits] as { memberName: string }[][];
      t.same([shift.signupCount, shift.waitCount], [rows[0]?.length, rows[1]?.length], 'the counters');
      return rows.map((list) => list.map(({ memberName }) => memberName));
    },
  };
}
type Shift = Awaited<ReturnType<typeof makeShift>>;

/** A shift that Anna has, and for which Bert and Cleo wait, in this order. */
async function makeQueue(difference: Parameters<typeof shiftRequest>[0] = {}): Promise<Shift> {
  const shift = await makeShift(difference);
  t.equal((await anna.post(shift.signup)).status, 201);
  t.equal((await bert.post(shift.wait)).status, 201);
  t.equal((await cleo.post(shift.wait)).status, 201);
  return shift;
}

const eventsOf = async ({ id }: { id: string }, from = 0) =>
  (await admin.get(`/api/events?subjectId=${id}&limit=500`)).body
    .slice(from)
    .map(({ type, memberId, actorId }: { type: string; memberId: string | null; actorId: string | null }) => [
      type,
      names.get(memberId),
      names.get(actorId),
    ]);

t.test('a Member waits for a place in a full shift, and reads the wait at its Location', async (t) => {
  const shift = await makeShift();
  await anna.post(shift.signup);
  const made = await bert.post(shift.wait.replace(shift.id, shift.id.toUpperCase()));
  t.equal(made.status, 201);
  t.equal(made.headers.location, shift.wait);
  const { id, createdAt, ...rest } = made.body;
  t.same(rest, {
    shiftId: shift.id,
    memberId: idOf(bert),
    memberName: 'bert',
    position: 1,
    createdById: idOf(bert),
  });
  t.match(createdAt, /Z$/);
  t.equal((await bert.get(shift.wait)).text, made.text);
  t.equal((await mara.get(shift.waitOf(bert))).text, made.text);
  t.match(await cleo.post(shift.wait, {}), { status: 201, body: { position: 2 } });
  t.match(await dora.get(shift.wait), refused(404, 'wait_not_found'));
  for (const [person, isWaiting] of [
    [bert, true],
    [anna, false],
    [vera, false],
  ] as const) {
    const seen = { waitCount: 2, isWaiting, version: 1 };
    t.match((await person.get(shift.path)).body, seen);
    const { body: rows } = await person.get('/api/shifts?limit=500');
    t.match(
      rows.find((row: { id: string }) => row.id === shift.id),
      seen,
    );
    const { body: waiting } = await person.get('/api/shifts?waiting=me&limit=500');
    t.equal(
      waiting.some((row: { id: string }) => row.id === shift.id),
      isWaiting,
    );
  }
  t.equal((await bert.delete(shift.wait)).status, 204);
  t.match(await bert.delete(shift.wait), refused(404, 'wait_not_found'));
  t.match(await cleo.get(shift.wait), { status: 200, body: { position: 1 } });
  t.match(await bert.post(shift.wait), { status: 201, body: { position: 2 } }, 'who comes back is the last');
});

t.test('a wait with an Idempotency-Key is created once', async (t) => {
  const shift = await makeShift();
  await anna.post(shift.signup);
  const key = { 'idempotency-key': shift.id };
  const made = await bert.post(shift.wait, undefined, key);
  const again = await bert.post(shift.wait, undefined, key);
  t.same([made.status, again.status], [201, 201]);
  t.equal(again.headers['idempotent-replayed'], 'true');
  t.equal(again.text, made.text);
});

t.test('a wait is refused with the first reason', async (t) => {
  const opensAt = hoursFromNow(1);
  const closed = { signupClosesAt: hoursFromNow(-1) };
  const free = await makeShift();
  const shift = await makeQueue();
  const missing = `/api/shifts/${MISSING}`;
  for (const [send, expected] of [
    [() => bert.post(`${missing}/wait`), refused(404, 'shift_not_found')],
    [() => bert.get(`${missing}/wait`), refused(404, 'shift_not_found')],
    [() => bert.delete(`${missing}/wait`), refused(404, 'shift_not_found')],
    [() => mara.get(`${missing}/waits`), refused(404, 'shift_not_found')],
    [() => mara.put(`${missing}/waits/${MISSING}`), refused(404, 'shift_not_found')],
    [() => mara.get(`${missing}/waits/${MISSING}`), refused(404, 'shift_not_found')],
    [() => mara.delete(`${missing}/waits/${MISSING}`), refused(404, 'shift_not_found')],
    [() => mara.put(`${shift.path}/waits/${MISSING}`), refused(404, 'member_not_found')],
    [() => mara.put(`${shift.path}/waits/${strangersId}`), refused(404, 'member_not_found')],
    [() => mara.get(`${shift.path}/waits/${strangersId}`), refused(404, 'wait_not_found')],
    [() => anna.post(shift.wait), refused(409, 'already_signed_up')],
    [
      () => mara.put(shift.waitOf(anna)),
      refused(409, 'already_signed_up', { detail: /^The member is signed up/ }),
    ],
    [() => bert.post(shift.wait), refused(409, 'already_waiting')],
    [() => bert.post(free.wait), refused(409, 'shift_not_full')],
    [() => mara.put(free.waitOf(bert)), refused(409, 'shift_not_full')],
    [() => vera.post(shift.wait), refused(403, 'insufficient_role')],
    [() => anna.put(shift.waitOf(dora)), refused(403, 'insufficient_role')],
    [() => anna.get(`${shift.path}/waits`), refused(403, 'insufficient_role')],
    [() => dora.post(shift.signup), refused(409, 'shift_full', { waitCount: 2 })],
    [() => bert.post(shift.signup), refused(409, 'shift_full', { waitCount: 2 })],
    [() => mara.put(shift.signupOf(dora)), refused(409, 'shift_full', { waitCount: 2 })],
    [() => bert.get('/api/shifts?waiting=you'), refused(400, 'invalid_parameter')],
  ] as const) {
    t.match(await (send as () => Promise<Response>)(), expected);
  }
  for (const [difference, expected] of [
    [{ signupOpensAt: opensAt }, refused(422, 'signup_not_open')],
    [closed, refused(422, 'signup_closed')],
  ] as const) {
    // Nobody signs up themself, so the Manager enters Anna.
    const limited = await makeShift(difference);
    await mara.put(limited.signupOf(anna));
    t.match(await bert.post(limited.wait), expected);
    t.match(await anna.post(limited.wait), expected, 'before already_signed_up');
    t.match(await mara.put(limited.waitOf(bert)), { status: 201 }, 'the roster is not bound by the window');
    t.match(await mara.put(limited.waitOf(bert)), { status: 200 });
    t.match(await bert.delete(limited.wait), { status: 204 });
  }
  const past = await makeQueue();
  await mara.put(past.path, { ...past.request, ...started() });
  for (const response of [
    await dora.post(past.wait),
    await bert.delete(past.wait),
    await mara.put(past.waitOf(dora)),
    await mara.delete(past.waitOf(bert)),
    await dora.delete(past.wait),
  ]) {
    t.match(response, refused(422, 'shift_in_past'));
  }
  t.match(await mara.put(past.waitOf(bert)), { status: 200, body: { position: 1 } });
  t.match(await mara.put(`${past.path}/waits/${MISSING}`), refused(404, 'member_not_found'));
  t.same(await past.people(), [['anna'], ['bert', 'cleo']], 'waits can be read after the start');
});

t.test('a Manager lets any member wait, with 201 and its Location, and ends the wait', async (t) => {
  const shift = await makeQueue();
  const made = await mara.put(shift.waitOf(vera));
  t.match(made, { status: 201, body: { memberName: 'vera', position: 3, createdById: idOf(mara) } });
  t.equal(made.headers.location, shift.waitOf(vera));
  const again = await mara.put(shift.waitOf(vera), {});
  t.equal(again.status, 200);
  t.equal(again.text, made.text);
  t.match((await vera.get(shift.path)).body, { isWaiting: true, waitCount: 3 });
  t.match((await vera.get('/api/shifts?waiting=me')).body, [{ id: shift.id }]);
  t.equal((await mara.delete(shift.waitOf(bert))).status, 204);
  t.match(await mara.delete(shift.waitOf(bert)), refused(404, 'wait_not_found'));
  t.same(await shift.people(), [['anna'], ['cleo', 'vera']]);
});

/** Runs SQL as a superuser in the context of the club, as an operator repairs data. */
const repair = (sql: string, values: unknown[] = []) =>
  withClient(db.adminUrl, async (client) => {
    await client.query('begin');
    await client.query(`select set_config('app.tenant_id', $1, true)`, [north]);
    await client.query(sql, values);
    await client.query('commit');
  });

t.test('every way out of a shift gives the place to who is next, in the same statement', async (t) => {
  for (const [name, leave, actor] of [
    ['a cancellation', ({ signup }: Shift) => anna.delete(signup), 'anna'],
    ['a removal', ({ signupOf }: Shift) => mara.delete(signupOf(anna)), 'mara'],
    ['SQL', ({ id }: Shift) => repair('delete from app.shift_signups where shift_id = $1', [id]), undefined],
    [
      'SQL that makes it a signup for another shift',
      async ({ id }: Shift) => {
        const other = await makeShift();
        await repair('update app.shift_signups set shift_id = $2 where shift_id = $1', [id, other.id]);
        t.same(await other.people(), [['anna'], []]);
      },
      undefined,
    ],
  ] as const) {
    const shift = await makeQueue();
    await leave(shift);
    t.same(await shift.people(), [['bert'], ['cleo']], name);
    const { body } = await bert.get(shift.signup);
    t.match(body, { promotedAt: /Z$/, createdById: idOf(bert) }, name);
    t.equal(body.promotedAt, body.createdAt);
    t.match(await bert.get(shift.wait), refused(404, 'wait_not_found'), name);
    const events = await eventsOf(shift, 4);
    t.same(
      events,
      [
        ['signup.deleted', 'anna', actor],
        ['wait.deleted', 'bert', actor],
        ['signup.created', 'bert', actor],
      ],
      name,
    );
    t.match((await mara.get(shift.path)).body, { version: 1 });
  }
});

t.test(
  'a raised capacity gives the places in the order of the queue, and the response shows it',
  async (t) => {
    const shift = await makeQueue();
    await mara.put(shift.waitOf(vera));
    await dora.post(shift.wait);
    const raised = await mara.put(shift.path, { ...shift.request, capacity: 4 });
    t.match(raised, { status: 200, body: { signupCount: 4, freeSlots: 0, waitCount: 1, version: 2 } });
    t.match(
      raised.body.signups.map((one: { memberName: string }) => one.memberName),
      ['anna', 'bert', 'cleo', 'vera'],
    );
    const times = raised.body.signups.slice(1).map((one: { promotedAt: string }) => one.promotedAt);
    // Padded, because trailing zeros are left out.
    const padded = times.map((time: string) => time.replace('Z', '').padEnd(26, '0'));
    t.same(padded, [...new Set(padded)].sort(), 'each later than the one before');
    t.equal(raised.body.signups[3].createdById, idOf(mara), 'of the wait');
    t.equal(raised.body.signups[0].promotedAt, null);
    t.same((await mara.get(shift.path)).body, raised.body);
    t.same(await eventsOf(shift, 6), [
      ['shift.changed', undefined, 'mara'],
      ...['bert', 'cleo', 'vera'].flatMap((name) => [
        ['wait.deleted', name, 'mara'],
        ['signup.created', name, 'mara'],
      ]),
    ]);
    const { body: events } = await admin.get(`/api/events?subjectId=${shift.id}&limit=500`);
    const changes = (type: string) =>
      events
        .filter((one: { type: string }) => one.type === type)
        .map((one: { changes: object }) => one.changes);
    t.same(changes('signup.created'), [
      {},
      ...times.map((to: string) => ({ promotedAt: { from: null, to } })),
    ]);
    await bert.delete(shift.signup);
    t.same((await admin.get(`/api/events?subjectId=${shift.id}&type=signup.deleted`)).body[0].changes, {});
    t.same(await shift.people(), [['anna', 'cleo', 'vera', 'dora'], []]);
    await mara.put(shift.path, { ...shift.request, capacity: 9 });
    t.same(await shift.people(), [['anna', 'cleo', 'vera', 'dora'], []], 'no more places than people');
  },
);

t.test('from the limit of cancelling on, nobody is signed up unasked', async (t) => {
  const shift = await makeQueue();
  const past = { ...shift.request, cancelUntil: hoursFromNow(-1) };
  await mara.put(shift.path, past);
  t.match(await anna.delete(shift.signup), refused(422, 'cancel_too_late'));
  t.equal((await mara.delete(shift.signupOf(anna))).status, 204);
  t.same(await shift.people(), [[], ['bert', 'cleo']]);
  t.match(await dora.post(shift.signup), { status: 201, body: { promotedAt: null } }, 'who asks first');
  await mara.delete(shift.signupOf(dora));
  t.match(await cleo.post(shift.signup), { status: 201, body: { promotedAt: null } }, 'waiting or not');
  t.same(await shift.people(), [['cleo'], ['bert']], 'and does not wait any more');
  t.same((await eventsOf(shift)).slice(-2), [
    ['wait.deleted', 'cleo', 'cleo'],
    ['signup.created', 'cleo', 'cleo'],
  ]);
  await mara.delete(shift.signupOf(cleo));
  const opened = await mara.put(shift.path, { ...shift.request, cancelUntil: hoursFromNow(1) });
  t.match(
    opened.body,
    { signupCount: 1, waitCount: 0, signups: [{ memberName: 'bert' }] },
    'it begins again',
  );
});

t.test('a Manager enters somebody who waits once nobody is promoted any more', async (t) => {
  const shift = await makeQueue({ cancelUntil: hoursFromNow(1) });
  await mara.put(shift.path, { ...shift.request, capacity: 1, cancelUntil: hoursFromNow(-1) });
  await mara.delete(shift.signupOf(anna));
  t.match(await mara.put(shift.signupOf(cleo)), {
    status: 201,
    body: { promotedAt: null, createdById: idOf(mara) },
  });
  t.same(await shift.people(), [['cleo'], ['bert']]);
});

t.test('promotion does not depend on the window of signing up', async (t) => {
  const shift = await makeQueue();
  await mara.put(shift.path, { ...shift.request, signupClosesAt: hoursFromNow(-1) });
  t.equal((await anna.delete(shift.signup)).status, 204);
  t.same(await shift.people(), [['bert'], ['cleo']]);
});

t.test('a wait in SQL beside a free place gets it, and one of somebody signed up is refused', async (t) => {
  const insert = `insert into app.shift_waits (tenant_id, shift_id, member_id, created_by_id) values ('${north}', $1, $2, null)`;
  const free = await makeShift();
  await repair(insert, [free.id, idOf(bert)]);
  t.same(await free.people(), [['bert'], []]);
  t.same(
    (await eventsOf(free, 1)).map(([type]: string[]) => type),
    ['wait.created', 'wait.deleted', 'signup.created'],
  );
  const two = await makeShift({ capacity: 2 });
  await repair(
    `insert into app.shift_waits (tenant_id, shift_id, member_id, created_by_id)
     select '${north}', $1, id, null from unnest($2::uuid[]) as id`,
    [two.id, [idOf(bert), idOf(cleo), idOf(anna)]],
  );
  t.same(await two.people(), [['bert', 'cleo'], ['anna']]);
  await t.rejects(repair(insert, [free.id, idOf(bert)]), { code: 'SH003' });
  await t.rejects(repair(insert, [MISSING, idOf(bert)]), { code: '23503' });
  t.same(await free.people(), [['bert'], []]);
});

t.test('500 members can wait, and all get places at once', async (t) => {
  const clubId = await db.makeClub();
  const boss = service.as('boss', 'Manager', clubId);
  const bossId = await boss.memberId();
  const { body: shift } = await boss.post('/api/shifts', shiftRequest({ capacity: 1 }));
  const path = `/api/shifts/${shift.id}`;
  await boss.post(`${path}/signup`);
  const { rows } = await withClient(db.adminUrl, async (client) => {
    await client.query('begin');
    await client.query(`select set_config('app.tenant_id', $1, true)`, [clubId]);
    const made = await client.query<{ id: string }>(
      `insert into app.members (tenant_id, id, external_user_id, display_name, role)
       select $1, app.new_id(), 'person ' || number, 'Person ' || number, 'Member' from generate_series(1, 501) as number returning id`,
      [clubId],
    );
    await client.query(
      `insert into app.shift_waits (tenant_id, id, shift_id, member_id, created_by_id, created_at)
       select $1, app.new_id(), $2, id, null, now() - interval '1 hour' + number * interval '1 second'
       from unnest($3::uuid[]) with ordinality as person (id, number) where number <= 499`,
      [clubId, shift.id, made.rows.map(({ id }) => id)],
    );
    await client.query('commit');
    return made;
  });
  const [nextId, lastId] = rows.slice(-2).map(({ id }) => id);
  t.match(await boss.put(`${path}/waits/${nextId}`), { status: 201, body: { position: 500 } });
  t.match(await boss.put(`${path}/waits/${lastId}`), refused(409, 'wait_list_full'));
  t.match(await service.as('late', 'Member', clubId).post(`${path}/wait`), refused(409, 'wait_list_full'));
  t.equal((await boss.get(`${path}/waits?limit=500`)).body.length, 500);
  const raised = await boss.put(path, shiftRequest({ capacity: 501 }));
  t.match(raised, { status: 200, body: { signupCount: 501, waitCount: 0 } });
  t.same(
    raised.body.signups.slice(1, -1).map((one: { memberId: string }) => one.memberId),
    rows.slice(0, 499).map(({ id }) => id),
    'in the order of the queue',
  );
  t.equal(raised.body.signups[0].memberId, bossId);
});

t.test('the list of waits is in the order of the queue, in pages, though positions move', async (t) => {
  const shift = await makeQueue();
  await dora.post(shift.wait);
  await mara.put(shift.waitOf(vera));
  const namesOf = (rows: { memberName: string }[]) => rows.map(({ memberName }) => memberName);
  const whole = await mara.get(`${shift.path}/waits`);
  t.same(namesOf(whole.body), ['bert', 'cleo', 'dora', 'vera']);
  t.same(
    whole.body.map((one: { position: number }) => one.position),
    [1, 2, 3, 4],
  );
  t.same(namesOf((await mara.get(`${shift.path}/waits?sort=-position`)).body), [
    'vera',
    'dora',
    'cleo',
    'bert',
  ]);
  for (const sort of ['position', '-position']) {
    const pages = await walk(mara, `${shift.path}/waits?limit=1&sort=${sort}`);
    t.same(namesOf(pages as never), namesOf((await mara.get(`${shift.path}/waits?sort=${sort}`)).body), sort);
  }
  const first = await mara.get(`${shift.path}/waits?limit=2`);
  await anna.delete(shift.signup);
  const [, next] = /<([^>]+)>/.exec(String(first.headers.link)) as unknown as [string, string];
  const second = await mara.get(next);
  t.same(
    namesOf([...first.body, ...second.body]),
    ['bert', 'cleo', 'dora', 'vera'],
    'none twice, none skipped',
  );
  t.same(
    second.body.map((one: { position: number }) => one.position),
    [2, 3],
  );
});

t.test(
  'a deletion of the shift deletes its waits; a Manager may not take back a batch for which somebody waits',
  async (t) => {
    const shift = await makeQueue();
    t.equal((await admin.delete(shift.path)).status, 204);
    t.same(await db.queryAsAdmin('select from app.shift_waits where shift_id = $1', [shift.id]), []);
    t.same(await eventsOf(shift, 4), [
      ['shift.deleted', undefined, 'ada'],
      ['signup.deleted', 'anna', 'ada'],
      ['wait.deleted', 'bert', 'ada'],
      ['wait.deleted', 'cleo', 'ada'],
    ]);
    const { body: batch } = await mara.post('/api/shifts/batch', {
      shifts: [shiftRequest({ capacity: 1 }), shiftRequest({ capacity: 1 })],
    });
    const [{ id, batchId }] = batch;
    await anna.post(`/api/shifts/${id}/signup`);
    await bert.post(`/api/shifts/${id}/wait`);
    // After the limit of cancelling a shift can have a wait and no signup.
    await mara.put(`/api/shifts/${id}`, shiftRequest({ capacity: 1, cancelUntil: hoursFromNow(-1) }));
    await mara.delete(`/api/shifts/${id}/signups/${idOf(anna)}`);
    t.match((await mara.get(`/api/shifts/${id}`)).body, { signupCount: 0, waitCount: 1 });
    t.match(await mara.delete(`/api/shifts?batchId=${batchId}`), refused(403, 'insufficient_role'));
    await mara.delete(`/api/shifts/${id}/waits/${idOf(bert)}`);
    t.equal((await mara.delete(`/api/shifts?batchId=${batchId}`)).status, 204);
  },
);

t.test('erasing a member ends their waits', async (t) => {
  const shift = await makeQueue();
  const other = await makeShift();
  await anna.post(other.signup);
  const eva = service.as('eva', 'Member', north);
  const evasId = await eva.memberId();
  await eva.post(shift.wait);
  await eva.post(other.wait);
  await db.queryAsAdmin('select app.erase_member($1, $2)', [north, evasId]);
  t.same(await shift.people(), [['anna'], ['bert', 'cleo']]);
  t.same(await other.people(), [['anna'], []]);
  const { body: events } = await admin.get(`/api/events?memberId=${evasId}`);
  t.match(events.slice(-3), [
    { type: 'wait.deleted', actorId: null },
    { type: 'wait.deleted', actorId: null },
    { type: 'member.erased', actorId: null },
  ]);
});

t.test('a transaction with an old snapshot is refused instead of overlooking a wait', async (t) => {
  const shift = await makeQueue();
  await withClient(db.adminUrl, async (client) => {
    await client.query('begin isolation level repeatable read');
    await client.query(`select set_config('app.tenant_id', $1, true)`, [north]);
    await client.query('select count(*) from app.shift_waits');
    await dora.post(shift.wait);
    await t.rejects(client.query('delete from app.shift_signups where shift_id = $1', [shift.id]), {
      code: '40001',
    });
    await client.query('rollback');
  });
  t.same(await shift.people(), [['anna'], ['bert', 'cleo', 'dora']]);
});

t.test('a club with waits is removed whole', async (t) => {
  const clubId = await db.makeClub();
  const boss = service.as('boss of a club that ends', 'Manager', clubId);
  const member = service.as('member of a club that ends', 'Member', clubId);
  const { body: shift } = await boss.post('/api/shifts', shiftRequest({ capacity: 1 }));
  await boss.post(`/api/shifts/${shift.id}/signup`);
  t.equal((await member.post(`/api/shifts/${shift.id}/wait`)).status, 201);
  await db.queryAsAdmin('select app.close_club($1)', [clubId]);
  await db.queryAsAdmin('select app.forget_club($1)', [clubId]);
  for (const table of ['shift_waits', 'shift_signups', 'events', 'shifts']) {
    t.same(await db.queryAsAdmin(`select from app.${table} where tenant_id = $1`, [clubId]), [], table);
  }
});
