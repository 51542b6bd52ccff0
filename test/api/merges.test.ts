import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { MISSING } from '../setup/endpoints.js';
import { type Response, refused } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest, started } from '../setup/shifts.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const service = await startService(t, { testUserHeader: true });
const { db } = service;
const north = await db.makeClub('north');
const admin = service.as('ada', 'Admin', north);
const mara = service.as('mara', 'Manager', north);
const anna = service.as('anna', 'Member', north);
const [adaId, maraId] = [await admin.memberId(), await mara.memberId()];
const into = await anna.memberId();
const strangersId = await service.as('sam', 'Member', await db.makeClub('south')).memberId();

const enter = async (fields: object = {}): Promise<string> =>
  (await mara.post('/api/members', { displayName: 'Ida', ...fields })).body.id;
const merge = (id: string, target = into, headers = {}) =>
  admin.post(`/api/members/${id}/merge`, { into: target }, headers);
const makeShift = async (difference: Parameters<typeof shiftRequest>[0] = {}) =>
  `/api/shifts/${(await mara.post('/api/shifts', shiftRequest({ capacity: 1, ...difference }))).body.id}`;
const record = (shift: string, memberId: string, status = 'Attended') =>
  mara.put(`${shift}/attendance/${memberId}`, { status });

/** A shift for which these members are signed up, and these wait. */
async function shiftOf(signedUp: string[], waiting: string[] = []): Promise<string> {
  const shift = await makeShift({ capacity: signedUp.length });
  for (const [list, ids] of [
    ['signups', signedUp],
    ['waits', waiting],
  ] as const) {
    for (const id of ids) {
      t.equal((await mara.put(`${shift}/${list}/${id}`)).status, 201);
    }
  }
  return shift;
}
/** Who is signed up and who waits for a shift, whose counters are compared. */
async function peopleOf(shift: string): Promise<string[][]> {
  const { body } = await mara.get(shift);
  const rows = [body.signups, (await mara.get(`${shift}/waits`)).body] as { memberId: string }[][];
  t.same([body.signupCount, body.waitCount], [rows[0]?.length, rows[1]?.length], 'the counters');
  return rows.map((list) => list.map(({ memberId }) => memberId));
}

/** The columns that refer to a member, without those whose comment says that they prevent a merge. */
const references = await db.queryAsAdmin<{ table: string; column: string }>(
  `select conrelid::regclass::text as table, attname as column
   from pg_constraint join pg_attribute on attrelid = conrelid and attnum = conkey[2]
   where contype = 'f' and confrelid = 'app.members'::regclass
     and coalesce(col_description(attrelid, attnum), '') not like '%prevents a merge%'
   order by 1, 2`,
);

/** The rows of each table that name a member, as they are stored. */
async function rowsNaming(id: string): Promise<Record<string, Record<string, unknown>[]>> {
  const rows: Record<string, Record<string, unknown>[]> = {};
  for (const table of new Set(references.map((one) => one.table))) {
    const columns = references.filter((one) => one.table === table).map(({ column }) => column);
    const found = await db.queryAsAdmin<{ row: Record<string, unknown> }>(
      `select to_jsonb(t) as row from ${table} as t where $1 in (${columns.join(', ')}) order by to_jsonb(t) ->> 'id'`,
      [id],
    );
    rows[table] = found.map(({ row }) => row);
  }
  return rows;
}
/** What a member without a login has only by X-Test-UserId, and what is deleted with them. */
const DELETED = ['app.calendar_links', 'app.idempotency_keys'];

/** The events of a piece of work, in order. */
async function eventsOf(work: () => Promise<unknown>) {
  const [last] = (await admin.get('/api/events?sort=-sequence&limit=1')).body;
  await work();
  return (await admin.get(`/api/events?after=${last.id}&limit=500`)).body as Record<string, unknown>[];
}

t.test(
  'what names the member names the other one afterwards; only versions and the updatedAt of tasks go on',
  async (t) => {
    const id = await enter();
    const target = await enter();
    const other = await enter();
    await shiftOf([id]);
    const full = await shiftOf([other], [id, await enter()]);
    const past = await makeShift(started());
    await record(past, id);
    for (const steps of [0, 1, 2, 3]) {
      const { body: task } = await mara.post('/api/tasks', { title: `Of ${steps} steps`, assigneeId: id });
      for (const state of ['InProgress', 'Review', 'Done'].slice(0, steps)) {
        await mara.patch(`/api/tasks/${task.id}`, { state });
      }
    }
    // What the member created: with X-Test-UserId, because it cannot log in.
    const acting = { 'x-test-userid': id };
    const own = await mara.post('/api/shifts', shiftRequest({ capacity: 1 }), acting);
    await mara.put(`/api/shifts/${own.body.id}/signups/${other}`, {}, acting);
    await mara.put(`${full}/waits/${maraId}`, {}, acting);
    await mara.put(`${past}/attendance/${other}`, { status: 'NoShow' }, acting);
    await mara.post('/api/tasks', { title: 'Unassigned' }, acting);
    await mara.post('/api/tasks', { title: 'Of both', assigneeId: id }, acting);

    const before = await rowsNaming(id);
    for (const { table, column } of references.filter((one) => !DELETED.includes(one.table))) {
      t.ok(
        before[table]?.some((row) => row[column] === id),
        `name a member in ${table}.${column} here and let app.merge_members move it, or say in its comment that it prevents a merge`,
      );
    }
    t.match(await merge(id, target), { status: 200, body: { id: target, displayName: 'Ida' } });

    const after = await rowsNaming(target);
    const renamed = JSON.parse(JSON.stringify(before).replaceAll(id, target)) as typeof before;
    const tasks = after['app.tasks'] ?? [];
    for (const table of ['app.attendance', 'app.tasks']) {
      renamed[table] = (renamed[table] ?? []).map((row, index) => ({
        ...row,
        version: Number(row.version) + 1,
        ...(table === 'app.tasks' && { updated_at: tasks[index]?.updated_at }),
      }));
    }
    t.same(after, renamed);
    for (const [index, { updated_at: time }] of (before['app.tasks'] ?? []).entries()) {
      t.ok(String(time) < String(tasks[index]?.updated_at), 'a task has a later updatedAt');
    }
    t.match(await admin.get(`/api/members/${id}`), refused(404, 'member_not_found'));
    t.match(await admin.get(`/api/hours?memberId=${target}`), { body: [{ shifts: 1, minutes: 120 }] });
  },
);

t.test('the reference moves where the other member has none', async (t) => {
  for (const [reference, own, expected] of [
    ['m1', null, 'm1'],
    ['m2', 'm3', 'm3'],
    [null, 'm4', 'm4'],
    [null, null, null],
  ]) {
    const target = await enter({ reference: own });
    t.match(await merge(await enter({ reference }), target), {
      status: 200,
      body: { id: target, reference: expected },
    });
  }
  t.ok(await enter({ reference: 'm2' }), 'one that does not move is free again');
});

t.test('a merge is refused in this order, and then changes nothing', async (t) => {
  const path = (id: string) => `/api/members/${id}/merge`;
  const [id, left, erased] = [await enter(), await enter(), await enter()];
  await db.queryAsAdmin('update app.members set left_at = now() where id = $1', [left]);
  await db.queryAsAdmin('update app.members set erased_at = now() where id = $1', [erased]);
  const shifts: (string | undefined)[] = [];
  for (const hour of [3, 1, 2]) {
    const shift = await makeShift({
      startsAt: `2020-01-0${hour}T10:00:00Z`,
      endsAt: `2020-01-0${hour}T11:00:00Z`,
    });
    for (const memberId of [id, into, left]) {
      await record(shift, memberId);
    }
    shifts[hour] = shift.split('/').at(-1);
  }
  const shift = await shiftOf([id]);

  const events = await eventsOf(async () => {
    for (const unknown of [MISSING, strangersId, erased]) {
      t.match(await merge(unknown, MISSING), refused(404, 'member_not_found'));
    }
    t.match(await merge(into, MISSING), refused(409, 'member_has_login'));
    for (const target of [MISSING, strangersId, id, left, erased]) {
      t.match(await merge(id, target), refused(422, 'merge_target_invalid'));
    }
    const conflict = refused(409, 'attendance_conflict', { shiftIds: shifts.slice(1) });
    t.match(await merge(id.toUpperCase(), into), conflict);
    t.match(
      await mara.post(path(id), { into }),
      refused(403, 'insufficient_role', { requiredRole: 'Admin' }),
    );
  });
  t.same(events, []);
  t.same(await peopleOf(shift), [[id], []]);

  for (const shiftId of shifts.slice(1)) {
    await mara.delete(`/api/shifts/${shiftId}/attendance/${id}`);
  }
  t.equal(
    (await merge(id.toUpperCase(), into.toUpperCase())).status,
    200,
    'a record of one of them is no conflict',
  );
  t.match(await merge(id), refused(404, 'member_not_found'));
  t.match(await merge(left, adaId), { status: 200, body: { id: adaId } }, 'who has left can be merged');
});

t.test('of two signups that of the other member stays, and who is next gets the freed place', async (t) => {
  const [id, next] = [await enter(), await enter()];
  const shift = await shiftOf([id, into], [next]);
  const signup = (await mara.get(`${shift}/signups/${into}`)).text;
  await merge(id);
  t.same(await peopleOf(shift), [[into, next], []]);
  t.equal((await mara.get(`${shift}/signups/${into}`)).text, signup);
});

t.test('a signup stays rather than a wait, and the earlier of two waits', async (t) => {
  const [id, other, third] = [await enter(), await enter(), await enter()];
  const full = await shiftOf([id], [other, into, third]);
  const signedUp = await shiftOf([into], [other, id, third]);
  const earlier = await shiftOf([third], [id, other, into]);
  const later = await shiftOf([third], [into, other, id]);
  const [signup] = (await rowsNaming(id))['app.shift_signups'] as { id: string }[];
  const wait = await mara.get(`${earlier}/waits/${id}`);
  await merge(id);
  t.same(await peopleOf(full), [[into], [other, third]]);
  t.same(await peopleOf(signedUp), [[into], [other, third]]);
  t.same(await peopleOf(earlier), [[third], [into, other]]);
  t.same(await peopleOf(later), [[third], [into, other]]);
  t.equal((await mara.get(`${full}/signups/${into}`)).body.id, signup?.id);
  t.match((await mara.get(`${earlier}/waits/${into}`)).body, {
    id: wait.body.id,
    createdAt: wait.body.createdAt,
  });
});

t.test('what moves is deleted and created in the events, and a task is changed', async (t) => {
  const id = await enter({ reference: 'of events' });
  const target = await enter();
  const third = await enter();
  const [taken, full] = [await shiftOf([id], [target]), await shiftOf([third], [id])];
  const past = await makeShift(started());
  await record(past, id, 'Excused');
  const { body: task } = await mara.post('/api/tasks', { title: 'Rake', assigneeId: id });
  const { body: deleted } = await mara.post('/api/tasks', { title: 'About Ida', assigneeId: id });
  await admin.delete(`/api/tasks/${deleted.id}`);

  const subject = (path: string) => path.split('/').at(-1);
  const events = await eventsOf(() => merge(id, target));
  const none = { changes: {}, fields: [] };
  t.match(
    events,
    [
      { type: 'wait.deleted', subjectId: subject(full), memberId: id, ...none },
      { type: 'wait.created', subjectId: subject(full), memberId: target, ...none },
      { type: 'wait.deleted', subjectId: subject(taken), memberId: target, ...none },
      { type: 'signup.deleted', subjectId: subject(taken), memberId: id, ...none },
      { type: 'signup.created', subjectId: subject(taken), memberId: target, ...none },
      { type: 'attendance.deleted', subjectId: subject(past), memberId: id, fields: ['status'] },
      { type: 'attendance.created', subjectId: subject(past), memberId: target, fields: ['status'] },
      {
        type: 'task.changed',
        subjectId: task.id,
        memberId: target,
        changes: { assigneeId: { from: id, to: target } },
      },
      { type: 'member.deleted', subjectId: id, memberId: id, fields: ['displayName', 'reference'] },
      { type: 'member.changed', subjectId: target, memberId: target, fields: ['reference'] },
    ].map((event) => ({ ...event, actorId: adaId })),
  );
  t.equal(events.length, 10);
  t.match(
    (await admin.get(`/api/events?subjectId=${deleted.id}&type=task.deleted`)).body,
    [{ memberId: id, subjectTitle: null }],
    'the title of an event about the member is cleared',
  );
});

t.test('the calendar link of the member is deleted', async (t) => {
  const id = await enter();
  const { body } = await anna.put('/api/members/me/calendar', {}, { 'x-test-userid': id });
  t.equal((await service.send('GET', body.url)).status, 200);
  t.equal((await merge(id)).status, 200);
  t.equal((await service.send('GET', body.url)).status, 404);
});

t.test('a merge deletes the stored responses of the club, and stores its own', async (t) => {
  const id = await enter();
  const key = (name: string) => ({ 'idempotency-key': name });
  await mara.post('/api/tasks', { title: 'About Ida', assigneeId: id }, key('about'));
  await mara.post('/api/tasks', { title: 'By Ida' }, { ...key('by'), 'x-test-userid': id });
  const first = await merge(id, into, key('merge'));
  t.match(first, { status: 200, body: { id: into }, headers: { location: undefined } });
  const again = await merge(id, into, key('merge'));
  t.same([again.status, again.text, again.headers['idempotent-replayed']], [200, first.text, 'true']);
  t.equal(again.headers.location, undefined);
  t.same(
    await db.queryAsAdmin('select key from app.idempotency_keys where tenant_id = $1 order by key', [north]),
    [{ key: 'merge' }],
  );
});

t.test('a member whom a table names that a merge does not know is not merged', async (t) => {
  const id = await enter();
  const shift = await shiftOf([id]);
  await db.queryAsAdmin(
    `create table public.boats (
       club_id uuid, keeper_id uuid, foreign key (club_id, keeper_id) references app.members (tenant_id, id) on delete restrict)`,
  );
  await db.queryAsAdmin('insert into public.boats values ($1, $2)', [north, id]);
  t.match(await merge(id), refused(409, 'member_in_use'));
  t.same(await peopleOf(shift), [[id], []]);
  await db.queryAsAdmin('drop table public.boats');
  t.match(await merge(id), { status: 200 });
  t.same(await peopleOf(shift), [[into], []]);
});

/** Begins requests while a transaction holds a lock, each as soon as the one before it waits. */
async function whileLocked(
  lock: string,
  id: unknown,
  requests: (() => Promise<Response>)[],
): Promise<Response[]> {
  return withClient(db.adminUrl, async (holder) => {
    await holder.query('begin');
    await holder.query(lock, [id]);
    const sent: Promise<Response>[] = [];
    for (const request of requests) {
      sent.push(request());
      await untilWaitingForLocks(db, sent.length, ...sent);
    }
    await holder.query('rollback');
    return Promise.all(sent);
  });
}
/** While it is held, the first request has written all, and waits in COMMIT for the number of its first event. */
const COMMITS = 'select pg_advisory_xact_lock(uuid_hash_extended($1, 1))';

/** A shift of which the merge knows, because the member has a record; or of which it learns only when it is written. */
async function shiftOfMerge(id: string, isKnown: boolean, capacity: number): Promise<string> {
  const shift = await makeShift({ ...started(), capacity });
  if (isKnown) {
    await record(shift, id);
  }
  await mara.put(shift, shiftRequest({ capacity }));
  await mara.put(`${shift}/signups/${await enter()}`);
  return shift;
}
const writes: Record<string, (id: string, isKnown: boolean) => Promise<() => Promise<Response>>> = {
  'app.shift_signups': async (id, isKnown) => {
    const shift = await shiftOfMerge(id, isKnown, 2);
    return () => mara.put(`${shift}/signups/${id}`);
  },
  'app.shift_waits': async (id, isKnown) => {
    const shift = await shiftOfMerge(id, isKnown, 1);
    return () => mara.put(`${shift}/waits/${id}`);
  },
  'app.attendance': async (id) => {
    const shift = await makeShift(started());
    return () => record(shift, id);
  },
  'app.tasks': async (id) => () => mara.post('/api/tasks', { title: 'Meanwhile', assigneeId: id }),
};
for (const [name, prepare] of Object.entries(writes)) {
  t.test(`what is written meanwhile moves too, or the member is not found: ${name}`, async (t) => {
    for (const isKnown of [true, false]) {
      for (const mergeIsFirst of [true, false]) {
        const [id, target] = [await enter(), await enter()];
        const write = await prepare(id, isKnown);
        const mergeIt = () => merge(id, target);
        const results = await whileLocked(COMMITS, north, mergeIsFirst ? [mergeIt, write] : [write, mergeIt]);
        const [merged, written] = mergeIsFirst ? results : results.toReversed();
        t.equal(merged?.status, 200);
        const refusal = name === 'app.tasks' ? 'assignee_not_member' : 'member_not_found';
        t.match(written, mergeIsFirst ? { body: { code: refusal } } : { status: 201 });
        t.equal((await rowsNaming(target))[name]?.length, mergeIsFirst ? 0 : 1);
      }
    }
  });
}

t.test('of two merges of one member at once, the second finds none', async (t) => {
  const id = await enter();
  const shift = await shiftOf([id]);
  const results = await whileLocked(COMMITS, north, [() => merge(id), () => merge(id, adaId)]);
  t.match(results, [{ status: 200 }, refused(404, 'member_not_found')]);
  t.same(await peopleOf(shift), [[into], []]);
});

t.test('two members are not merged into each other at once', async (t) => {
  const [one, other] = [await enter(), await enter()];
  const results = await whileLocked(COMMITS, north, [() => merge(one, other), () => merge(other, one)]);
  t.match(results, [{ status: 200 }, refused(422, 'merge_target_invalid')]);
});

t.test('merges with keys into the callers of each other do not wait for each other', async (t) => {
  const bert = service.as('bert', 'Admin', north);
  const bertId = await bert.memberId();
  for (const round of [1, 2]) {
    const shift = await makeShift({ capacity: 2 });
    const [first, second] = [
      await enter({ reference: `a${round}` }),
      await enter({ reference: `b${round}` }),
    ];
    await mara.put(`${shift}/signups/${first}`);
    await mara.put(`${shift}/signups/${second}`);
    for (const memberId of [adaId, bertId]) {
      await mara.patch(`/api/members/${memberId}`, { reference: null });
    }
    const key = { 'idempotency-key': `at once ${round}` };
    const results = await whileLocked(
      'select from app.shifts where id = $1 for update',
      shift.split('/').at(-1),
      [
        () => merge(first, bertId, key),
        () => bert.post(`/api/members/${second}/merge`, { into: adaId }, key),
      ],
    );
    t.match(results, [
      { status: 200, body: { id: bertId, reference: `a${round}` } },
      { status: 200, body: { id: adaId, reference: `b${round}` } },
    ]);
    t.same(new Set((await peopleOf(shift))[0]), new Set([adaId, bertId]));
  }
  const deadlocks = await db.queryAsAdmin(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  t.same(deadlocks, [{ deadlocks: 0 }]);
});
