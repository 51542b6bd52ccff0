import t from 'tap';
import { startService } from '../setup/service.js';
import { allowedTo, taskIn as bring, CALLERS, pairs, STATES, type State } from '../setup/workflow.js';

const service = await startService(t);
const club = await service.db.makeClub();
const assignee = service.as('hans', 'Member', club);
const other = service.as('max', 'Member', club);
const manager = service.as('mona', 'Manager', club);
const admin = service.as('ada', 'Admin', club);
const people = { 'the assignee': assignee, 'another Member': other, 'a Manager': manager };
const assigneeId = await assignee.memberId();
const missing = '99999999-9999-4999-8999-999999999999';
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;

const taskIn = (state: State) => bring(state, manager, assigneeId);

t.test('each step can be taken by the callers who have the right to it', async (t) => {
  for (const { from, to, step } of pairs('member', 'holder')) {
    for (const caller of CALLERS.filter((name) => allowedTo(name, from).includes(to))) {
      const says = `${caller}: ${from} to ${to} (${step})`;
      const { task, path } = await taskIn(from);
      const { status, body } = await people[caller].patch(path, { state: to });
      t.equal(status, 200, says);
      t.equal(body.state, to, says);
      t.equal(body.version, task.version + 1, says);
      // The first step takes the task, the step back to Open clears its assignee, every other step keeps the assignee.
      const taker = from === 'Open' ? await people[caller].memberId() : assigneeId;
      t.equal(body.assigneeId, to === 'Open' ? null : taker, says);
      t.strictSame((await people[caller].get(path)).body, body, says);
    }
  }
});

t.test('only the assignee or a Manager takes a step back: 403 for another Member', async (t) => {
  for (const { from, to } of pairs('holder')) {
    const { task, path } = await taskIn(from);
    const response = await other.patch(path, { state: to });
    t.equal(response.status, 403, `${from} to ${to}`);
    t.equal(response.body.code, 'task_transition_forbidden');
    t.strictSame((await manager.get(path)).body, task);
  }
});

t.test('a step outside the workflow is refused for all, and the error lists the allowed steps', async (t) => {
  for (const { from, to } of pairs('nobody')) {
    const { task, path } = await taskIn(from);
    for (const caller of CALLERS) {
      const says = `${caller}: ${from} to ${to}`;
      const { status, body } = await people[caller].patch(path, { state: to });
      t.equal(status, 422, says);
      t.match(body, { code: 'invalid_task_transition', currentState: from, requestedState: to }, says);
      t.strictSame(body.allowedTransitions, allowedTo(caller, from), says);
    }
    t.equal((await admin.patch(path, { state: to })).status, 422, `an Admin: ${from} to ${to}`);
    t.strictSame((await manager.get(path)).body, task);
  }
});

t.test('the detail of a refused step lists the allowed steps', async (t) => {
  const task = (await manager.post('/api/tasks', { title: 'Mow' })).body;
  const path = `/api/tasks/${task.id}`;
  const detailOf = async (changes: object, person = manager) =>
    (await person.patch(path, changes)).body.detail;
  t.equal(
    await detailOf({ state: 'Done' }),
    'The task is Open and cannot become Done with this request. You may set Assigned.',
  );
  await manager.patch(path, { state: 'Assigned' });
  t.equal(
    await detailOf({ state: 'Review' }),
    'The task is Assigned and cannot become Review with this request. You may set Open or InProgress.',
  );
  for (const state of ['Assigned', 'InProgress']) {
    const detail = /^The assignee does not fit: .* You may set Open or InProgress\.$/;
    t.match(await detailOf({ state, assigneeId: null }), detail, state);
  }
  t.equal(
    await detailOf({ state: 'Open' }, other),
    'The step from Assigned to Open is for the assignee or a Manager, and you are a Member. You may set InProgress.',
  );
  for (const state of ['InProgress', 'Review', 'Done']) {
    t.equal((await manager.patch(path, { state })).status, 200);
  }
  t.match(
    await detailOf({ state: 'Open' }),
    /cannot become Open with this request\. You may not set another state now\.$/,
  );
});

t.test('setting the current state changes nothing, unless another member has taken the task', async (t) => {
  for (const { from } of pairs('same')) {
    const { task, path } = await taskIn(from);
    for (const caller of CALLERS) {
      const { status, headers, body } = await people[caller].patch(path, { state: from });
      const says = `${caller}: ${from}`;
      if (from === 'Assigned' && caller !== 'the assignee') {
        t.equal(status, 409, says);
        t.equal(body.code, 'task_already_assigned', says);
      } else {
        t.equal(status, 200, says);
        t.equal(headers.etag, `"${task.version}"`, says);
        t.strictSame({ ...body, allowedTransitions: task.allowedTransitions }, task, says);
      }
    }
    t.strictSame((await manager.get(path)).body, task);
  }
});

t.test('taking a task that another member has is refused, even together with other edits', async (t) => {
  const { task, path } = await taskIn('Assigned');
  for (const body of [{ title: 'Mine' }, { version: 1 }, { title: task.title }]) {
    const response = await other.patch(path, { state: 'Assigned', ...body });
    t.match(response, { status: 409, body: { code: 'task_already_assigned' } });
  }
  t.strictSame((await manager.get(path)).body, task);
});

t.test('every response has the states that this caller may set now', async (t) => {
  for (const state of STATES) {
    const { path } = await taskIn(state);
    for (const caller of CALLERS) {
      const { body } = await people[caller].get(path);
      t.strictSame(body.allowedTransitions, allowedTo(caller, state), `${caller}: ${state}`);
      const edited = await people[caller].patch(path, { description: caller });
      t.strictSame(edited.body.allowedTransitions, allowedTo(caller, state));
    }
  }
  // The caller who takes a task is its assignee; the caller who gives it back is not.
  const { path } = await taskIn('Open');
  const taken = await other.patch(path, { state: 'Assigned' });
  t.strictSame(taken.body.allowedTransitions, ['Open', 'InProgress']);
  t.strictSame((await other.patch(path, { state: 'Open' })).body.allowedTransitions, ['Assigned']);
});

t.test('a task has completedAt in Done and never before', async (t) => {
  for (const state of STATES) {
    const { task } = await taskIn(state);
    t.match(task.completedAt, state === 'Done' ? UTC : null, state);
  }
});

t.test('every Member can edit the other fields in every state', async (t) => {
  for (const state of STATES) {
    const { task, path } = await taskIn(state);
    const fields = { title: 'Rake', description: 'Slowly.', dueAt: null };
    const { status, body } = await other.patch(path, fields);
    t.equal(status, 200, state);
    t.match(body, { ...fields, state, assigneeId: task.assigneeId, completedAt: task.completedAt });
    t.equal(body.version, task.version + 1);
  }
});

t.test('a step and other fields are written together or not at all', async (t) => {
  const { task, path } = await taskIn('Assigned');
  const refused = await other.patch(path, { title: 'Rake', state: 'Open' });
  t.equal(refused.status, 403);
  t.strictSame((await manager.get(path)).body, task);
  const { body } = await other.patch(path, { title: 'Rake', state: 'InProgress' });
  t.match(body, { title: 'Rake', state: 'InProgress', version: task.version + 1 });
});

t.test('of several errors the first in the order of the checks is returned', async (t) => {
  const { path } = await taskIn('Assigned');
  const { path: begun } = await taskIn('InProgress');
  const stale = { 'if-match': '"9"' };
  const [invalid, foreign, transition] = [{ state: 'Done' }, { assigneeId: missing }, { state: 'Open' }];
  const checks: [number, string, string, Record<string, unknown>, Record<string, string>?][] = [
    [400, 'validation_failed', `/api/tasks/${missing}`, { state: 'Finished', version: 9 }, stale],
    [404, 'task_not_found', `/api/tasks/${missing}`, { ...invalid, version: 9 }, stale],
    [412, 'precondition_failed', path, { ...invalid, version: 9 }, stale],
    [409, 'task_version_conflict', path, { ...invalid, version: 9 }],
    [409, 'task_version_conflict', path, { ...transition, version: 9 }],
    [409, 'task_version_conflict', path, { ...foreign, version: 9 }],
    [409, 'task_version_conflict', path, { state: 'Assigned', version: 9 }],
    [422, 'invalid_task_transition', path, { ...invalid, ...foreign }],
    [403, 'task_transition_forbidden', path, transition],
    [403, 'task_transition_forbidden', begun, { state: 'Assigned', ...foreign }],
    [403, 'task_assign_forbidden', path, foreign],
  ];
  for (const [status, code, url, body, headers] of checks) {
    const response = await other.patch(url, body, headers);
    t.match(response, { status, body: { code } }, JSON.stringify(body));
  }
  t.equal((await manager.get(path)).body.version, 1);
});
