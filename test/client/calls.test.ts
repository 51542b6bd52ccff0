import { randomUUID } from 'node:crypto';
import t from 'tap';
import { createClient, isProblem, ProblemError } from '../../client/src/index.js';
import { openClients, rejection } from '../setup/client.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';

const service = await startService(t);
const { db } = service;
const north = await db.makeClub('north');
const south = await db.makeClub('south');
const clients = await openClients(service);
const mara = await clients.as('mara', 'Manager', north);
const ben = await clients.as('ben', 'Member', north);
const dora = await clients.as('dora', 'Admin', north);

t.test('a task is changed with the version of the task that was read', async (t) => {
  const task = await mara.tasks.create({ title: 'Rake', dueAt: new Date('2031-05-01T16:00:00Z') });
  t.match(task, { state: 'Open', dueAt: '2031-05-01T16:00:00Z', version: 1 });
  const taken = await ben.tasks.take(task);
  const moved = await ben.tasks.move(taken, 'InProgress');
  t.match(moved, { state: 'InProgress', assigneeName: 'ben', version: 3 });
  const late = await rejection(mara.tasks.update(task, { title: 'Rake twice' }));
  t.ok(isProblem(late, 'task_version_conflict'));
  t.match(late, { problem: { currentVersion: 3 }, isDoubtful: false, attempts: 1 });
  t.match(await mara.tasks.update(moved, { dueAt: null }), { title: 'Rake', dueAt: null, version: 4 });
  t.match(await rejection(dora.tasks.delete(moved)), { code: 'precondition_failed', status: 412 });
  t.equal(await dora.tasks.delete(task.id), undefined);
  t.match(await rejection(ben.tasks.get(task.id)), { code: 'task_not_found' });
});

t.test('a change of a shift keeps the fields that it does not contain', async (t) => {
  const shift = await mara.shifts.create(
    shiftRequest({ capacity: 1, description: 'Gloves', location: 'Hall' }),
  );
  const changed = await mara.shifts.update(shift, { capacity: 2 });
  t.match(changed, { capacity: 2, description: 'Gloves', location: 'Hall', version: 2 });
  t.match(await rejection(mara.shifts.update(shift, { capacity: 3 })), { code: 'shift_version_conflict' });
  const replaced = await mara.shifts.replace(changed, shiftRequest({ capacity: 1 }));
  t.match(replaced, { capacity: 1, description: null, location: null, version: 3 });

  const signup = await ben.shifts.signUp(shift.id);
  t.match(signup, { memberName: 'ben', memberId: (await ben.members.me()).id });
  t.match(await rejection(mara.shifts.signUp(shift.id)), { code: 'shift_full', status: 409 });
  t.match(await rejection(ben.shifts.signUp(shift.id)), { code: 'already_signed_up' });
  await ben.shifts.cancelSignUp(shift.id);
  t.match(await rejection(ben.shifts.cancelSignUp(shift.id)), { code: 'signup_not_found', attempts: 1 });
  await dora.shifts.delete(replaced);
  t.match(await rejection(ben.shifts.get(shift.id)), { code: 'shift_not_found' });
});

t.test('an error response is thrown with its code, advice and every field error', async (t) => {
  const error = await rejection(mara.tasks.create({ title: '', ...{ colour: 'red' } }));
  t.type(error, ProblemError);
  t.match(error, {
    name: 'ProblemError',
    code: 'validation_failed',
    status: 400,
    message: /^validation_failed: /,
    request: 'POST /api/tasks',
    requestId: /^[\da-f-]{36}$/,
  });
  t.same((error as ProblemError).errors.map(({ pointer }) => pointer).sort(), ['/colour', '/title']);
  t.match(error.message, /^[^\n]*"\/title": This needs[^\n]*$/, 'several faults are named, in one line');
  t.match(error.message, /"\/colour": Unknown field\./);
  const many = await rejection(mara.tasks.create({ title: '', ...{ 'a\nb': 1, b: 2, c: 3 } }));
  t.equal((many as ProblemError).errors.length, 4);
  t.equal(many.message.match(/"\/[^"]*": /g)?.length, 3, 'three at most');
  t.notMatch(many.message, /\n/);
  const single = await rejection(mara.tasks.create({ title: '' }));
  t.equal(single.message.match(/\/title/g)?.length, 1, 'a single fault is in the detail');
  const filter = { limit: 501, dueAfter: 'tomorrow' };
  const { message } = await rejection(mara.tasks.list(filter).toArray());
  t.match(message, /"dueAfter": /);
  t.match(message, /"limit": This must be at most 500\./);
  t.match(await rejection(ben.tasks.create({ title: 'Rake' })), {
    code: 'insufficient_role',
    problem: { requiredRole: 'Manager', yourRole: 'Member' },
  });
  t.notOk(isProblem(error, 'shift_full'));
  t.notOk(isProblem(new Error('other')));
});

t.test('a list iterates over its pages, and requests only the pages that are used', async (t) => {
  const titles = Array.from({ length: 7 }, (_, number) => `Page ${number}`);
  for (const title of titles) {
    await mara.tasks.create({ title });
  }
  let requests = 0;
  const counting = await clients.as('mara', 'Manager', north, {
    fetch: (input, init) => {
      requests += 1;
      return fetch(input, init);
    },
  });
  const list = counting.tasks.list({ q: 'Page', state: ['Open'], sort: 'title', limit: 3 });
  t.equal(requests, 0, 'no request before the iteration');
  const walked: string[] = [];
  for await (const { title } of list) {
    walked.push(title);
  }
  t.same(walked, titles);
  t.equal(requests, 3);
  const lengths: number[] = [];
  for await (const page of list.pages()) {
    lengths.push(page.length);
  }
  t.same(lengths, [3, 3, 1]);
  requests = 0;
  for await (const { title } of list) {
    t.equal(title, titles[0]);
    break;
  }
  t.equal(requests, 1, 'no request after the loop ends');
  t.equal((await list.toArray()).length, 7);
  t.same(await counting.tasks.list({ q: 'No such' }).toArray(), []);
});

t.test('a list continues from the cursor of a page, with the same filters', async (t) => {
  for (const title of ['Step 1', 'Step 2', 'Step 3', 'Step 4', 'Step 5']) {
    await mara.tasks.create({ title });
  }
  const filter = { q: 'Step', sort: 'title', limit: 2 } as const;
  const titlesOf = (tasks: { title: string }[]) => tasks.map(({ title }) => title);
  const first = await mara.tasks.list(filter).page();
  t.same(titlesOf(first.items), ['Step 1', 'Step 2']);
  t.type(first.next, 'string');
  const rest = mara.tasks.list({ ...filter, cursor: first.next });
  for (let time = 1; time <= 2; time += 1) {
    t.same(titlesOf(await rest.toArray()), ['Step 3', 'Step 4', 'Step 5'], 'each iteration starts there');
  }
  const second = await rest.page();
  t.same(titlesOf(second.items), ['Step 3', 'Step 4']);
  const last = await mara.tasks.list({ ...filter, cursor: second.next }).page();
  t.same(last, { items: [last.items[0]], next: undefined });
  t.same(titlesOf(last.items), ['Step 5']);
  const other = mara.tasks.list({ ...filter, sort: '-title', cursor: first.next });
  t.match(await rejection(other.page()), { code: 'invalid_cursor' });
});

t.test('a client lists its clubs, and switches to another one', async (t) => {
  const token = service.token({
    sub: 'cleo',
    name: 'cleo',
    clubs: { [north]: 'Viewer', [south]: 'Admin' },
  });
  const cleo = createClient({ baseUrl: clients.baseUrl, token });
  t.same((await cleo.clubs.mine()).map(({ id }) => id).sort(), [north, south].sort());
  t.match(await cleo.club(south).clubs.current(), { id: south, role: 'Admin' });
  t.match(await cleo.club(north).members.me(), { clubId: north, role: 'Viewer' });
  const cleoId = (await cleo.club(north).members.me()).id;
  t.match(await ben.members.get(cleoId), { displayName: 'cleo', email: null });
  t.same(
    (await ben.members.list({ role: 'Viewer' }).toArray()).map(({ id }) => id),
    [cleoId],
  );
  t.match(await rejection(cleo.club(randomUUID()).clubs.current()), { code: 'tenant_forbidden' });
  t.match(await cleo.health.live(), { status: 'live' });
  t.match(await rejection(cleo.health.ready()), { code: 'service_unavailable', attempts: 1 });
});

t.test('a rejected token is replaced once, with one call for many requests', async (t) => {
  let tokenCalls = 0;
  const good = service.token({ sub: 'ben', name: 'ben', clubs: { [north]: 'Member' } });
  const renewing = await clients.as('ben', 'Member', north, {
    token: async () => {
      tokenCalls += 1;
      return tokenCalls === 1 ? 'not.a.token' : good;
    },
  });
  const responses = await Promise.all([
    renewing.members.me(),
    renewing.members.me(),
    renewing.clubs.current(),
  ]);
  t.equal(responses.length, 3);
  t.equal(tokenCalls, 2);

  let given = 0;
  const hopeless = await clients.as('ben', 'Member', north, {
    token: () => {
      given += 1;
      return `not.a.token${given}`;
    },
  });
  const error = await rejection(hopeless.members.me());
  t.match(error, { code: 'invalid_token', status: 401 });
  t.notMatch(JSON.stringify([error.message, error.stack, error]), /not\.a\.token/);
  t.equal(given, 2, 'twice in total');
  const fixed = await clients.as('ben', 'Member', north, { token: 'not.a.token' });
  t.match(await rejection(fixed.members.me()), { code: 'invalid_token', attempts: 1 });

  let failures = 0;
  const failing = await clients.as('ben', 'Member', north, {
    token: async () => {
      failures += 1;
      if (failures === 1) {
        throw new Error('the identity provider is away');
      }
      return good;
    },
  });
  t.match(await rejection(failing.members.me()), { message: 'the identity provider is away' });
  t.match(await failing.members.me(), { displayName: 'ben' }, 'the next call requests a token again');
});
