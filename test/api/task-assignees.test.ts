import t from 'tap';
import { comparablePart } from '../setup/comparable.js';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { CALLERS, type CallerName, STATES, type State, taskIn } from '../setup/workflow.js';

const service = await startService(t);
const club = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const people = {
  'the assignee': service.as('hans', 'Member', club),
  'another Member': service.as('max', 'Member', club),
  'a Manager': service.as('mona', 'Manager', club),
};
const manager = people['a Manager'];
const ids = {
  assignee: await people['the assignee'].memberId(),
  other: await people['another Member'].memberId(),
  manager: await manager.memberId(),
  third: await service.as('tina', 'Member', club).memberId(),
  stranger: await service.as('sam', 'Member', south).memberId(),
  missing: '99999999-9999-4999-8999-999999999999',
};

/** Tasks that an edit left unchanged, for reuse. */
const unchanged = new Map<State, Awaited<ReturnType<typeof taskIn>>>();

/** The result of an edit: the new state and assignee, `same` for no change, or the code of its error. */
const outcome = async (state: State, caller: CallerName, patch: Record<string, unknown>): Promise<string> => {
  const { task, path } = unchanged.get(state) ?? (await taskIn(state, manager, ids.assignee));
  const response: Response = await people[caller].patch(path, patch);
  const after = (await manager.get(path)).body;
  const nameOf = (id: string | null) =>
    Object.entries(ids).find(([, known]) => known === id)?.[0] ?? 'nobody';
  const stays = JSON.stringify(after) === JSON.stringify(task);
  stays ? unchanged.set(state, { task, path }) : unchanged.delete(state);
  if (response.status === 200) {
    return stays ? 'same' : `${after.state} ${nameOf(after.assigneeId)}`;
  }
  if (response.status === 422 && response.body.code === 'invalid_task_transition') {
    const { currentState, requestedState, allowedTransitions } = response.body;
    if (currentState !== state || !STATES.includes(requestedState) || !Array.isArray(allowedTransitions)) {
      return '422, but without the states';
    }
  }
  return stays ? `${response.status} ${response.body.code}` : `${response.status}, but the task is another`;
};

const INVALID = '422 invalid_task_transition';
const NOT_YOURS_TO_ASSIGN = '403 task_assign_forbidden';
const TAKEN = '409 task_already_assigned';
const HELD = ['Assigned', 'InProgress', 'Review'] as const;

t.test('a Member can take an Open task, and cannot assign it to anybody else', async (t) => {
  for (const [caller, own] of [
    ['the assignee', 'assignee'],
    ['another Member', 'other'],
    ['a Manager', 'manager'],
  ] as const) {
    const taken = `Assigned ${own}`;
    t.equal(await outcome('Open', caller, { state: 'Assigned' }), taken);
    t.equal(await outcome('Open', caller, { assigneeId: ids[own] }), taken);
    t.equal(await outcome('Open', caller, { assigneeId: ids[own], state: 'Assigned' }), taken);
    const given = caller === 'a Manager' ? 'Assigned third' : NOT_YOURS_TO_ASSIGN;
    t.equal(await outcome('Open', caller, { assigneeId: ids.third }), given);
    t.equal(await outcome('Open', caller, { assigneeId: ids.third, state: 'Assigned' }), given);
  }
});

t.test('only a Manager reassigns a task, and it keeps its state', async (t) => {
  for (const state of HELD) {
    for (const assigneeId of [ids.third, ids.other]) {
      t.equal(await outcome(state, 'the assignee', { assigneeId }), NOT_YOURS_TO_ASSIGN, state);
    }
    t.equal(await outcome(state, 'another Member', { assigneeId: ids.third }), NOT_YOURS_TO_ASSIGN, state);
    t.equal(await outcome(state, 'another Member', { assigneeId: ids.other }), TAKEN, state);
    t.equal(await outcome(state, 'a Manager', { assigneeId: ids.third }), `${state} third`);
    t.equal(await outcome(state, 'a Manager', { assigneeId: ids.third, state }), `${state} third`);
    t.equal(await outcome(state, 'a Manager', { assigneeId: ids.manager }), `${state} manager`);
  }
  // Setting oneself as assignee takes the task, as the state alone does.
  const named = { state: 'Assigned', assigneeId: ids.other };
  t.equal(await outcome('Assigned', 'another Member', named), TAKEN);
  t.equal(await outcome('Assigned', 'another Member', { state: 'Assigned' }), TAKEN);
});

t.test('setting the current assignee changes nothing, in every state', async (t) => {
  for (const state of STATES.slice(1)) {
    for (const caller of CALLERS) {
      t.equal(await outcome(state, caller, { assigneeId: ids.assignee }), 'same', `${caller}: ${state}`);
      t.equal(
        await outcome(state, caller, { assigneeId: ids.assignee, state }),
        'same',
        `${caller}: ${state}`,
      );
    }
  }
  for (const caller of CALLERS) {
    t.equal(await outcome('Open', caller, { assigneeId: null }), 'same');
    t.equal(await outcome('Open', caller, { assigneeId: null, state: 'Open' }), 'same');
  }
});

t.test('clearing the assignee is the step back to Open, from Assigned only', async (t) => {
  for (const patch of [{ assigneeId: null }, { assigneeId: null, state: 'Open' }, { state: 'Open' }]) {
    t.equal(await outcome('Assigned', 'the assignee', patch), 'Open nobody');
    t.equal(await outcome('Assigned', 'a Manager', patch), 'Open nobody');
    t.equal(await outcome('Assigned', 'another Member', patch), '403 task_transition_forbidden');
    for (const state of ['InProgress', 'Review', 'Done'] as const) {
      for (const caller of CALLERS) {
        t.equal(await outcome(state, caller, patch), INVALID, `${caller}: ${state}`);
      }
    }
  }
});

t.test('the error of clearing an assignee gives the step to Open', async (t) => {
  const { path } = await taskIn('Review', manager, ids.assignee);
  const { body } = await people['another Member'].patch(path, { assigneeId: null });
  t.match(body, { currentState: 'Review', requestedState: 'Open', allowedTransitions: ['Done'] });
});

t.test('a state and an assignee that contradict each other are refused', async (t) => {
  for (const caller of CALLERS) {
    for (const from of STATES) {
      for (const state of STATES.slice(1)) {
        const says = `${caller}: ${from}, ${state} without an assignee`;
        t.equal(await outcome(from, caller, { state, assigneeId: null }), INVALID, says);
      }
      for (const assigneeId of [ids.assignee, ids.other, ids.missing]) {
        const says = `${caller}: ${from}, Open with an assignee`;
        t.equal(await outcome(from, caller, { state: 'Open', assigneeId }), INVALID, says);
      }
    }
  }
});

t.test('one edit makes at most one step', async (t) => {
  for (const caller of CALLERS) {
    for (const state of ['InProgress', 'Review', 'Done']) {
      t.equal(await outcome('Open', caller, { state, assigneeId: ids.assignee }), INVALID, caller);
      t.equal(await outcome('Open', caller, { state }), INVALID, caller);
    }
    // A step that also sets the current assignee is one step.
    const step = { state: 'InProgress', assigneeId: ids.assignee };
    t.equal(await outcome('Assigned', caller, step), 'InProgress assignee', caller);
  }
});

t.test('a task that is Done keeps its assignee', async (t) => {
  for (const caller of CALLERS) {
    for (const assigneeId of [ids.third, ids.manager, ids.other, ids.missing, null]) {
      t.equal(await outcome('Done', caller, { assigneeId }), INVALID, caller);
      if (assigneeId !== null) {
        t.equal(await outcome('Done', caller, { assigneeId, state: 'Done' }), INVALID, caller);
      }
    }
  }
});

t.test(
  'an assignee is a member of this club: otherwise 422 for a Manager, and 403 for a Member before the lookup',
  async (t) => {
    for (const state of ['Open', ...HELD] as const) {
      for (const assigneeId of [ids.stranger, ids.missing]) {
        t.equal(await outcome(state, 'a Manager', { assigneeId }), '422 assignee_not_member', state);
        t.equal(await outcome(state, 'another Member', { assigneeId }), NOT_YOURS_TO_ASSIGN, state);
      }
    }
  },
);

t.test('a member of another club and an unknown id are refused with the same error', async (t) => {
  const { task, path } = await taskIn('Open', manager, ids.assignee);
  const assignTo = async (assigneeId: string) => [
    await manager.post('/api/tasks', { title: 'Lost', assigneeId }),
    await manager.patch(path, { assigneeId }),
  ];
  const [foreign, unknown] = [await assignTo(ids.stranger), await assignTo(ids.missing)];
  for (const [index, response] of foreign.entries()) {
    t.match(response, { status: 422, body: { code: 'assignee_not_member' } });
    t.strictSame(
      comparablePart(response, ids.stranger),
      comparablePart(unknown[index] as Response, ids.missing),
    );
  }
  t.strictSame(await service.db.queryAsAdmin(`select from app.tasks where title = 'Lost'`), []);
  t.strictSame((await manager.get(path)).body, task);
});
