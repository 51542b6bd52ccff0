import t from 'tap';
import {
  document,
  type Endpoint,
  endpoints,
  MISSING,
  makeClubFor,
  makers,
  operationOf,
  SHIFT,
  tableOf,
  textsOf,
} from '../setup/endpoints.js';
import { bodySchemaOf, type Fields } from '../setup/fields.js';
import { nextOf, walk } from '../setup/paging.js';
import type { Person } from '../setup/send.js';
import { startService } from '../setup/service.js';

// What is recorded is tested in test/sql/events.test.ts, and in which order in test/sql/event-order.test.ts.

// biome-ignore lint/suspicious/noExplicitAny: an event as it is sent
type Event = any;

const service = await startService(t);
const { db } = service;

/** A club with an Admin and a Member, whose first requests are its first two events. */
async function makeClub() {
  const clubId = await db.makeClub();
  const anna = service.as('anna', 'Admin', clubId);
  const ben = service.as('ben', 'Member', clubId);
  return { clubId, anna, annaId: await anna.memberId(), ben, benId: await ben.memberId() };
}

const read = async (person: Person, query = ''): Promise<Event[]> =>
  (await person.get(`/api/events?limit=500${query}`)).body;
const numbersOf = (events: Event[]): number[] => events.map(({ sequence }) => sequence);
/** Forgets all events of a club but the last. */
const forget = (clubId: string) =>
  db.queryAsAdmin(`select app.forget_events($1, now() + interval '1 hour')`, [clubId]);

t.test('the events of a club are its changes, oldest first, numbered from 1 without a gap', async (t) => {
  const { clubId, anna, annaId, ben, benId } = await makeClub();
  const fields = { title: 'Mow', dueAt: '2031-05-01T18:00:00+02:00', assigneeId: benId };
  const { body: task } = await anna.post('/api/tasks', fields);
  await ben.patch(`/api/tasks/${task.id}`, { state: 'InProgress' });
  await anna.patch(`/api/tasks/${task.id}`, { description: 'All of it.' });
  await anna.delete(`/api/tasks/${task.id}`);
  const { body: shift } = await anna.post('/api/shifts', SHIFT);
  await ben.post(`/api/shifts/${shift.id}/signup`);
  await ben.delete(`/api/shifts/${shift.id}/signup`);
  await service.as('ben', 'Manager', clubId, { name: 'Benedict' }).memberId();

  const event = { subjectTitle: null, actorId: annaId, memberId: null, changes: {}, fields: [] };
  const ofMember = (id: string) => ({ ...event, subjectId: id, actorId: id, memberId: id });
  const created = { ...ofMember(annaId), type: 'member.created', fields: ['displayName'] };
  const ofTask = { ...event, subjectId: task.id, memberId: benId };
  const ofSignup = { ...ofMember(benId), subjectId: shift.id };
  const expected = [
    { ...created, changes: { role: { from: null, to: 'Admin' } } },
    {
      ...created,
      ...ofMember(benId),
      fields: ['displayName'],
      changes: { role: { from: null, to: 'Member' } },
    },
    {
      ...ofTask,
      type: 'task.created',
      changes: {
        state: { from: null, to: 'Assigned' },
        dueAt: { from: null, to: '2031-05-01T16:00:00Z' },
        assigneeId: { from: null, to: benId },
      },
      fields: ['title'],
    },
    {
      ...ofTask,
      type: 'task.changed',
      actorId: benId,
      changes: { state: { from: 'Assigned', to: 'InProgress' } },
    },
    { ...ofTask, type: 'task.changed', fields: ['description'] },
    {
      ...ofTask,
      type: 'task.deleted',
      subjectTitle: 'Mow',
      changes: {
        state: { from: 'InProgress', to: null },
        dueAt: { from: '2031-05-01T16:00:00Z', to: null },
        assigneeId: { from: benId, to: null },
      },
      fields: ['description', 'title'],
    },
    {
      ...event,
      type: 'shift.created',
      subjectId: shift.id,
      changes: {
        startsAt: { from: null, to: SHIFT.startsAt },
        endsAt: { from: null, to: SHIFT.endsAt },
        capacity: { from: null, to: SHIFT.capacity },
      },
      fields: ['title'],
    },
    { ...ofSignup, type: 'signup.created' },
    { ...ofSignup, type: 'signup.deleted' },
    {
      ...ofMember(benId),
      type: 'member.changed',
      changes: { role: { from: 'Member', to: 'Manager' } },
      fields: ['displayName'],
    },
  ].map((row, index) => ({ ...row, sequence: index + 1 }));
  const { status, body } = await anna.get('/api/events');
  t.equal(status, 200);
  t.strictSame(
    body.map(({ id, at, ...row }: Event) => row),
    expected,
  );
  t.equal(new Set(body.map(({ id }: Event) => id)).size, body.length);
  t.same(await read(anna, '&sort=-sequence'), body.toReversed());
});

t.test('a time in an event is that of the resource', async (t) => {
  const { anna, benId } = await makeClub();
  const { headers, body } = await anna.post('/api/tasks', {
    title: 'Mow',
    dueAt: '2031-05-01T18:00:00.123450+02:00',
    assigneeId: benId,
  });
  let done = body;
  for (const state of ['InProgress', 'Review', 'Done']) {
    done = (await anna.patch(String(headers.location), { state })).body;
  }
  const events = await read(anna, `&subjectId=${body.id}`);
  t.same(events[0].changes.dueAt, { from: null, to: body.dueAt });
  t.same(events.at(-1).changes, {
    state: { from: 'Review', to: 'Done' },
    completedAt: { from: null, to: done.completedAt },
  });
});

t.test('a request that is refused, is replayed or changes nothing makes no event', async (t) => {
  const { anna, ben } = await makeClub();
  const key = { 'idempotency-key': 'mow' };
  const { headers } = await anna.post('/api/tasks', { title: 'Mow' }, key);
  const path = String(headers.location);
  const before = await read(anna);
  t.equal((await anna.post('/api/tasks', { title: 'Mow' }, key)).headers['idempotent-replayed'], 'true');
  t.equal((await anna.patch(path, { title: 'Mow' })).status, 200);
  t.equal((await anna.patch(path, { state: 'Done' })).status, 422);
  t.equal((await ben.delete(path)).status, 403);
  t.same(await read(anna), before);
});

t.test('a Manager reads all events, a Member those about themself, a Viewer none', async (t) => {
  const { clubId, anna, annaId, ben, benId } = await makeClub();
  await anna.post('/api/tasks', { title: 'Mow', assigneeId: benId });
  await anna.post('/api/tasks', { title: 'Rake' });
  t.same(numbersOf(await read(service.as('mona', 'Manager', clubId))), [1, 2, 3, 4, 5]);
  for (const query of ['', '&memberId=me', `&memberId=${benId}`, `&memberId=${benId.toUpperCase()}`]) {
    t.same(numbersOf(await read(ben, query)), [2, 3], query);
  }
  t.same(numbersOf(await read(ben, `&actorId=${annaId}`)), [3]);
  t.same(await read(ben, `&subjectId=${annaId}`), []);
  for (const id of [annaId, MISSING]) {
    const refused = {
      status: 403,
      body: { code: 'insufficient_role', requiredRole: 'Manager', yourRole: 'Member' },
    };
    t.match(await ben.get(`/api/events?memberId=${id}`), refused);
    t.match(await ben.get(`/api/events?memberId=${id}&after=${MISSING}`), refused, 'before the 410');
  }
  t.match(await service.as('vera', 'Viewer', clubId).get('/api/events'), {
    status: 403,
    body: { code: 'insufficient_role' },
  });
});

t.test('an event must match all filters', async (t) => {
  const { clubId, anna, annaId, ben, benId } = await makeClub();
  const [mow, rake] = await Promise.all(
    [benId, null].map(
      async (assigneeId) => (await anna.post('/api/tasks', { title: 'Mow', assigneeId })).body.id,
    ),
  );
  await ben.patch(`/api/tasks/${rake}`, { state: 'Assigned' });
  await ben.patch(`/api/tasks/${mow}`, { state: 'InProgress' });
  await anna.delete(`/api/tasks/${rake}`);
  await db.queryAsAdmin(`update app.tasks set title = 'By an operator' where tenant_id = $1`, [clubId]);
  const all = await read(anna);
  type Choice = [query: string, matches: (event: Event) => boolean];
  const any: Choice = ['', () => true];
  const choices: Choice[][] = [
    [
      any,
      ['&type=task.deleted', ({ type }) => type === 'task.deleted'],
      ['&type=task.changed,member.created', ({ type }) => ['task.changed', 'member.created'].includes(type)],
      ['&type=signup.created', () => false],
    ],
    [
      any,
      ...[mow, rake, annaId].map((id): Choice => [`&subjectId=${id}`, (event) => event.subjectId === id]),
    ],
    [
      any,
      ['&memberId=me', ({ memberId }) => memberId === annaId],
      [`&memberId=${benId.toUpperCase()}`, ({ memberId }) => memberId === benId],
      [`&memberId=${MISSING}`, () => false],
    ],
    [
      any,
      ['&actorId=me', ({ actorId }) => actorId === annaId],
      ['&actorId=none', ({ actorId }) => actorId === null],
      [`&actorId=${benId}`, ({ actorId }) => actorId === benId],
    ],
    [any, [`&after=${all[2].id}`, ({ sequence }) => sequence > 3], [`&after=${all.at(-1).id}`, () => false]],
  ];
  const combinations = choices.reduce<Choice[]>(
    (some, next) =>
      some.flatMap(([query, matches]) =>
        next.map(([more, alsoMatches]): Choice => [query + more, (one) => matches(one) && alsoMatches(one)]),
      ),
    [any],
  );
  const wrong: string[] = [];
  for (const [query, matches] of combinations) {
    const found = await read(anna, query);
    wrong.push(...(JSON.stringify(found) === JSON.stringify(all.filter(matches)) ? [] : [query]));
  }
  t.same(wrong, []);
  t.ok(all.some(({ actorId }) => actorId === null));
});

t.test('who goes on after the last event that they read misses none', async (t) => {
  const { anna } = await makeClub();
  const add = () => anna.post('/api/tasks', { title: 'Mow' });
  for (const _ of [1, 2, 3]) {
    await add();
  }
  const [newest] = (await anna.get('/api/events?sort=-sequence&limit=1')).body;
  const followed: Event[] = [];
  let position = '';
  for (let round = 0; round < 8; round += 1) {
    const page = await anna.get(`/api/events?limit=2${position}`);
    t.equal(nextOf(page) !== undefined, numbersOf(await read(anna, position)).length > 2, 'more rows wait');
    followed.push(...page.body);
    position = `&after=${followed.at(-1).id}`;
    if (round < 3) {
      await add();
    }
  }
  t.same(followed, await read(anna));
  t.same(numbersOf(followed), [1, 2, 3, 4, 5, 6, 7, 8]);
  t.same(numbersOf(await read(anna, `&after=${newest.id}`)), [6, 7, 8], 'from today');
  t.same(await read(anna, position), [], 'nothing new');
  t.same(await walk(anna, `/api/events?limit=2&after=${newest.id}`), followed.slice(5));
});

t.test('after goes with the order sequence only', async (t) => {
  const { anna } = await makeClub();
  const [first] = await read(anna);
  t.equal((await anna.get(`/api/events?sort=sequence&after=${first.id}`)).status, 200);
  for (const after of [first.id, MISSING]) {
    t.match(await anna.get(`/api/events?sort=-sequence&after=${after}`), {
      status: 400,
      body: { code: 'invalid_parameter', errors: [{ parameter: 'after', code: 'invalid_value' }] },
    });
  }
});

t.test('an after that is forgotten, unknown or not readable is a 410 with the oldest number', async (t) => {
  const { clubId, anna, annaId, ben, benId } = await makeClub();
  await anna.post('/api/tasks', { title: 'Mow', assigneeId: benId });
  const south = await makeClub();
  const [first, second, third] = await read(anna);
  const [foreign] = await read(south.anna);
  const forgotten = (oldestSequence: number) => ({
    status: 410,
    body: { code: 'events_forgotten', oldestSequence },
  });
  const send = (person: Person, after: string, query = '') =>
    person.get(`/api/events?after=${after}${query}`);
  for (const query of ['', '&limit=1', `&memberId=${annaId}`, '&type=task.created', '&actorId=none']) {
    t.match(await send(anna, MISSING, query), forgotten(1), query);
    t.match(await send(anna, foreign.id, query), forgotten(1), 'of another club');
    t.equal((await send(anna, third.id, query)).status, 200, query);
  }
  t.match(await send(ben, first.id), forgotten(1), 'about somebody else');
  t.match(await send(ben, second.id), { status: 200, body: [{ id: third.id }] });

  const page = await anna.get(`/api/events?after=${first.id}&limit=1`);
  await forget(clubId);
  t.match(await send(anna, first.id), forgotten(3));
  t.match(await send(ben, second.id), forgotten(3), 'the oldest of the club');
  t.match(await send(anna, third.id), { status: 200, body: [] });
  t.match(await send(south.anna, foreign.id), { status: 200, body: [{ sequence: 2 }] });
  t.match(
    await anna.get(nextOf(page) as string),
    { status: 200, body: [{ id: third.id }] },
    'beside a cursor',
  );
  t.equal(
    (await anna.get((nextOf(page) as string).replace(first.id, third.id))).body.code,
    'invalid_cursor',
    'a part of its scope',
  );

  // As after the restore of a backup from before the first event.
  await db.queryAsAdmin('delete from app.events where tenant_id = $1', [clubId]);
  const none = await send(anna, third.id);
  t.match(none, { status: 410, body: { code: 'events_forgotten' } });
  t.notOk('oldestSequence' in none.body);
  t.same(await read(anna), [], 'who has read none follows without after');
  await anna.post('/api/tasks', { title: 'Mow' });
  t.same(numbersOf(await read(anna)), [1]);
});

t.test('a number can be as large as a JSON number is exact', async (t) => {
  const { clubId, anna } = await makeClub();
  await anna.post('/api/tasks', { title: 'Mow' });
  await db.queryAsAdmin(
    'update app.events set sequence = 9007199254740991 - 3 + sequence where tenant_id = $1',
    [clubId],
  );
  const numbers = [9007199254740989, 9007199254740990, 9007199254740991];
  t.same(numbersOf(await walk(anna, '/api/events?limit=1')), numbers);
  t.same(numbersOf(await walk(anna, '/api/events?limit=1&sort=-sequence')), numbers.toReversed());
});

/** The fields that are not named as their column. */
const shownAs: Record<string, string> = { left_at: 'status' };

t.test(
  'a trigger records every field that a request of its resource writes: of free text its name only',
  async (t) => {
    t.ok(makers.length >= 2);
    for (const { path } of makers) {
      const tagOf = (one: Pick<Endpoint, 'method' | 'path'>) => operationOf(one).tags[0];
      const bodies = endpoints
        .filter((one) => one.path.split('/:id')[0] === path && tagOf(one) === tagOf({ method: 'POST', path }))
        // A POST below a row is no change of its fields.
        .filter((one) => one.method !== 'POST' || one.path === path)
        .map(bodySchemaOf);
      const { version: _, ...fields }: Fields = Object.assign(
        {},
        ...bodies.map(({ properties }) => properties),
      );
      const names = Object.keys(fields);
      const texts = names.filter(
        (name) => fields[name]?.['x-text'] !== undefined || fields[name]?.type === 'array',
      );
      const [recorded] = await db.queryAsAdmin<{ values: string; texts: string }>(
        String.raw`select parts[2] as values, parts[3] as texts
       from pg_trigger cross join lateral string_to_array(encode(tgargs, 'escape'), '\000') as parts
       where tgfoid = 'app.record_event()'::regprocedure and tgrelid = $1::regclass`,
        [tableOf(path)],
      );
      const fieldsOf = (columns = '') =>
        columns
          .split(', ')
          .map((column) => shownAs[column] ?? column.replace(/_(\w)/g, (_, letter) => letter.toUpperCase()));
      t.same(
        fieldsOf(recorded?.texts),
        texts.sort(),
        `${path}: the third argument of app.record_event has the columns of free text, in alphabetical order`,
      );
      t.same(
        names.filter((name) => !fieldsOf(recorded?.values).includes(name)).sort(),
        texts,
        `${path}: the second argument of app.record_event has the columns of all other fields`,
      );
    }
  },
);

t.test('the event of a deletion has the title of the row: its first text', async (t) => {
  for (const maker of makers.filter(({ path }) => document.paths[`${path}/{id}`]?.delete)) {
    const { path } = maker;
    const { clubId, body } = await makeClubFor(service, maker);
    const admin = service.as('anna', 'Admin', clubId);
    await admin.delete(String((await admin.post(path, body)).headers.location));
    const [deleted] = await read(admin, '&sort=-sequence');
    // The deletion of a member clears the titles of the events about them.
    const [title] = path === '/api/members' ? [] : textsOf(path);
    t.equal(
      deleted.subjectTitle,
      title === undefined ? null : (body as Record<string, string>)[title],
      `${path}: the sixth argument of app.record_event is the column of the title, if it is not title`,
    );
  }
});

t.test('the document has the types that the triggers of the tables record', async (t) => {
  const { schema } = (document.paths['/api/events']?.get?.parameters ?? []).find(
    ({ name }) => name === 'type',
  ) as unknown as { schema: { items: { enum: string[] } } };
  const types = schema.items.enum;
  t.same(document.components.schemas.EventDto?.properties?.type?.enum, types);
  const triggers = await db.queryAsAdmin<{ noun: string }>(
    String.raw`select split_part(encode(tgargs, 'escape'), '\000', 1) as noun from pg_trigger
     where tgfoid = 'app.record_event()'::regprocedure`,
  );
  t.same(
    [...new Set(types.map((type) => type.split('.')[0]))].sort(),
    [...new Set(triggers.map(({ noun }) => noun))].sort(),
    'eventTypes of the resources have the noun of each trigger, which is the first argument of app.record_event',
  );
  const verbs = ['created', 'changed', 'deleted', 'erased'];
  t.same(
    types.filter((type) => !verbs.includes(String(type.split('.')[1]))),
    [],
  );
});
