import t from 'tap';
import { comparablePart } from '../setup/comparable.js';
import { type Response, sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const empty = await service.db.makeClub('empty');
// The Admin belongs to both clubs: the club of the request hides a task, not the caller.
const both = { [north]: 'Admin', [south]: 'Admin' };
const admin = service.as('ada', 'Admin', north, { clubs: both });
const manager = service.as('mona', 'Manager', north);
const member = service.as('max', 'Member', north);
const viewer = service.as('vera', 'Viewer', north);
const southern = service.as('sam', 'Admin', south);
const missing = '99999999-9999-4999-8999-999999999999';

const LISTED = 'id title state assigneeId assigneeName dueAt createdAt updatedAt version'.split(' ');
const DETAILED = [...LISTED, 'clubId', 'description', 'createdById', 'completedAt', 'allowedTransitions'];
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;

const make = async (fields: Record<string, unknown> = {}) => {
  const answer = await manager.post('/api/tasks', { title: 'Mow the lawn', ...fields });
  return { task: answer.body, path: `/api/tasks/${answer.body.id}` };
};

const idsOf = ({ body }: Response): string[] => body.map(({ id }: { id: string }) => id);

t.test('a Manager creates a task and gets it with its Location and its version', async (t) => {
  const answer = await manager.post('/api/tasks', { title: '  Mow the lawn ' });
  t.equal(answer.status, 201);
  t.equal(answer.headers.location, `/api/tasks/${answer.body.id}`);
  t.equal(answer.headers.etag, '"1"');
  const { id, createdAt, updatedAt, ...rest } = answer.body;
  t.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  t.match(createdAt, UTC);
  t.match(updatedAt, UTC);
  t.strictSame(rest, {
    title: 'Mow the lawn',
    state: 'Open',
    assigneeId: null,
    assigneeName: null,
    dueAt: null,
    version: 1,
    clubId: north,
    description: null,
    createdById: await manager.memberId(),
    completedAt: null,
    allowedTransitions: ['Assigned'],
  });
});

t.test('a new task with an assignee is Assigned, otherwise Open', async (t) => {
  const assigneeId = await member.memberId();
  const { task } = await make({ assigneeId: assigneeId.toUpperCase(), description: 'Twice.\n\tAt least.' });
  t.match(task, { state: 'Assigned', assigneeId, assigneeName: 'max', version: 1 });
  t.equal(task.description, 'Twice.\n\tAt least.');
  const open = await make({ assigneeId: null, description: null, dueAt: null });
  t.match(open.task, { state: 'Open', assigneeId: null, description: null, dueAt: null });
});

t.test('a Member reads a task as it was written, by its id and in the list', async (t) => {
  const fields = {
    assigneeId: await member.memberId(),
    dueAt: '2026-05-01T18:00:00Z',
    description: 'Twice.',
  };
  const { task, path } = await make(fields);
  const read = await manager.get(path);
  t.equal(read.status, 200);
  t.equal(read.headers.etag, '"1"');
  t.strictSame(Object.keys(read.body).sort(), DETAILED.toSorted());
  t.strictSame(read.body, task);
  const list = await member.get('/api/tasks');
  t.equal(list.status, 200);
  const shown = Object.fromEntries(LISTED.map((name) => [name, task[name]]));
  t.strictSame(
    list.body.find(({ id }: { id: string }) => id === task.id),
    shown,
  );
});

t.test('the list has the tasks of this club, the newest first, up to a hundred', async (t) => {
  const theirs = (await southern.post('/api/tasks', { title: 'Theirs' })).body;
  const ours = [(await make()).task.id, (await make()).task.id, (await make()).task.id];
  const ids = idsOf(await member.get('/api/tasks'));
  t.strictSame(ids.slice(0, 3), ours.toReversed());
  t.notOk(ids.includes(theirs.id));
  t.strictSame(idsOf(await southern.get('/api/tasks')), [theirs.id]);

  const crowded = service.as('eve', 'Manager', empty);
  t.strictSame((await crowded.get('/api/tasks')).body, []);
  const made = await Promise.all(
    Array.from({ length: 101 }, () =>
      sendUnderLoad(() => crowded.post('/api/tasks', { title: 'One of many' })),
    ),
  );
  t.strictSame(new Set(made.map(({ status }) => status)), new Set([201]));
  t.equal(idsOf(await crowded.get('/api/tasks')).length, 100);
});

t.test('an Admin deletes a task; a second deletion is a 404', async (t) => {
  const { task, path } = await make({ assigneeId: await member.memberId() });
  const answer = await admin.delete(path);
  t.equal(answer.status, 204);
  t.equal(answer.text, '');
  for (const gone of [await admin.delete(path), await admin.get(path), await admin.patch(path, {})]) {
    t.equal(gone.status, 404);
    t.equal(gone.body.code, 'task_not_found');
  }
  t.notOk(idsOf(await member.get('/api/tasks')).includes(task.id));
});

t.test('reading and editing need the role Member, creating Manager, deleting Admin', async (t) => {
  const { path } = await make();
  const body = { title: 'Not mine' };
  const refused = [
    ['Viewer', 'Member', await viewer.get('/api/tasks')],
    ['Viewer', 'Member', await viewer.get(path)],
    ['Viewer', 'Member', await viewer.patch(path, body)],
    ['Viewer', 'Manager', await viewer.post('/api/tasks', body)],
    ['Member', 'Manager', await member.post('/api/tasks', body)],
    ['Viewer', 'Admin', await viewer.delete(path)],
    ['Member', 'Admin', await member.delete(path)],
    ['Manager', 'Admin', await manager.delete(path)],
    // The role is checked before the body and before the lookup of the task.
    ['Viewer', 'Member', await viewer.patch(`/api/tasks/${missing}`, { nonsense: true })],
    ['Member', 'Manager', await member.post('/api/tasks', { nonsense: true })],
  ] as const;
  for (const [yourRole, requiredRole, answer] of refused) {
    t.equal(answer.status, 403);
    t.match(answer.body, { code: 'insufficient_role', requiredRole, yourRole });
  }
  t.match((await member.get(path)).body, { title: 'Mow the lawn', version: 1 });
  t.strictSame(await service.db.queryAsAdmin(`select from app.tasks where title = 'Not mine'`), []);
  t.equal((await admin.post('/api/tasks', body)).status, 201);
});

t.test('a task of another club is answered like a missing one, and nothing changes', async (t) => {
  const theirs = (await southern.post('/api/tasks', { title: 'Theirs' })).body;
  const calls: [string, (path: string) => Promise<Response>][] = [
    ['GET', (path) => admin.get(path)],
    [
      'PATCH',
      (path) => admin.patch(path, { title: 'Ours', state: 'Done', version: 7 }, { 'if-match': '"7"' }),
    ],
    ['take', (path) => admin.patch(path, { state: 'Assigned' })],
    ['DELETE', (path) => admin.delete(path, { 'if-match': '"7"' })],
    ['DELETE any', (path) => admin.delete(path, { 'if-match': '*' })],
  ];
  for (const [name, call] of calls) {
    const foreign = await call(`/api/tasks/${theirs.id}`);
    t.equal(foreign.status, 404, name);
    t.equal(foreign.body.code, 'task_not_found', name);
    t.equal(foreign.body.instance, `/api/tasks/${theirs.id}`, name);
    t.strictSame(
      comparablePart(foreign, theirs.id),
      comparablePart(await call(`/api/tasks/${missing}`), missing),
      name,
    );
  }
  t.strictSame((await southern.get(`/api/tasks/${theirs.id}`)).body, theirs);
});
