import t from 'tap';
import { startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const manager = service.as('mona', 'Manager', north);
const member = service.as('max', 'Member', north);

const LISTED = 'id title state assigneeId assigneeName dueAt createdAt updatedAt version'.split(' ');
const DETAILED = [...LISTED, 'clubId', 'description', 'createdById', 'completedAt', 'allowedTransitions'];
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;

const make = async (fields: Record<string, unknown> = {}) => {
  const response = await manager.post('/api/tasks', { title: 'Mow the lawn', ...fields });
  return { task: response.body, path: `/api/tasks/${response.body.id}` };
};

t.test('a Manager creates a task and gets it with its Location and its version', async (t) => {
  const response = await manager.post('/api/tasks', { title: '  Mow the lawn ' });
  t.equal(response.status, 201);
  t.equal(response.headers.location, `/api/tasks/${response.body.id}`);
  t.equal(response.headers.etag, '"1"');
  const { id, createdAt, updatedAt, ...rest } = response.body;
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
