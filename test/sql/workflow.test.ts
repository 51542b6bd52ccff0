import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { connectAsRuntime } from '../setup/runtime.js';
import { allowedTo, CALLERS, pairs, STATES, type State } from '../setup/workflow.js';

const db = await makeDatabase(t);
const sql = await connectAsRuntime(t, db);
const clubId = await db.makeClub('north');
const south = await db.makeClub('south');

const people = {
  'the assignee': { clubId, subject: 'hans', role: 'Member' },
  'another Member': { clubId, subject: 'max', role: 'Member' },
  'a Manager': { clubId, subject: 'mona', role: 'Manager' },
  'an Admin': { clubId, subject: 'ada', role: 'Admin' },
} as const;
const assignee = people['the assignee'];
const manager = people['a Manager'];
const admin = people['an Admin'];
const other = people['another Member'];

const ids = new Map<string, string>();
for (const person of Object.values(people)) {
  ids.set(person.subject, await sql.join(person));
}
const idOf = (person: { subject: string }) => ids.get(person.subject) as string;
const stranger = await sql.join({ clubId: south, subject: 'sam', role: 'Admin' });

const READ = 'select * from app.tasks where id = $1';
const SET = 'update app.tasks set state = $2, assignee_id = $3 where id = $1';
const read = async (id: string) => (await sql.run(manager, READ, [id])).rows[0];

/** A task in that state, held by the assignee unless it is Open. */
const taskIn = async (state: State) => {
  const holder = state === 'Open' ? null : idOf(assignee);
  const insert = `insert into app.tasks (title, assignee_id) values ('Mow the lawn', $1) returning id`;
  const { id } = (await sql.run(manager, insert, [holder])).rows[0];
  for (const step of STATES.slice(2, STATES.indexOf(state) + 1)) {
    await sql.run(manager, 'update app.tasks set state = $2 where id = $1', [id, step]);
  }
  const task = await read(id);
  if (task.state !== state) {
    throw new Error(`The task got stuck in ${task.state}.`);
  }
  return task;
};

t.test(
  'raw SQL can take the steps of the workflow only: TK001 for no such step, TK002 for a step of others',
  async (t) => {
    for (const { from, to, step } of pairs()) {
      for (const caller of CALLERS) {
        const says = `${caller}: ${from} to ${to}`;
        const task = await taskIn(from);
        const holder = to === 'Open' ? null : (task.assignee_id ?? idOf(people[caller]));
        const { code } = await sql.run(people[caller], SET, [task.id, to, holder]);
        const after = await read(task.id);
        if (step === 'same') {
          t.equal(code, 'ok', says);
          t.strictSame(after, task, says);
        } else if (allowedTo(caller, from).includes(to)) {
          t.equal(code, 'ok', says);
          t.match(after, { state: to, assignee_id: holder, version: task.version + 1 }, says);
        } else {
          t.equal(code, step === 'nobody' ? 'TK001' : 'TK002', says);
          t.strictSame(after, task, says);
        }
      }
    }
  },
);

t.test('an Admin has no additional steps, and null is not a state', async (t) => {
  const task = await taskIn('Assigned');
  t.equal((await sql.run(admin, SET, [task.id, 'Done', idOf(assignee)])).code, 'TK001');
  for (const state of [null, 'Closed', 'open', '']) {
    t.equal((await sql.run(admin, SET, [task.id, state, idOf(assignee)])).code, 'TK001');
  }
  t.strictSame(await read(task.id), task);
});

t.test('the workflow is enforced for every form of statement', async (t) => {
  const [one, two] = [await taskIn('Review'), await taskIn('Assigned')];
  const [both, done] = [[one.id, two.id], `set state = 'Done'`];
  for (const statement of [
    `update app.tasks ${done} where id = any ($1)`,
    `with done as (update app.tasks ${done} where id = any ($1) returning *) select count(*) from done`,
    `merge into app.tasks as task using unnest($1::uuid[]) as wanted (id) on task.id = wanted.id
     when matched then update ${done}`,
  ]) {
    t.equal((await sql.run(manager, statement, [both])).code, 'TK001', statement);
  }
  t.strictSame(
    [await read(one.id), await read(two.id)],
    [one, two],
    'one refused step rolls back the allowed one',
  );
});

t.test('allowed_transitions returns to each caller exactly the steps that the trigger allows', async (t) => {
  for (const state of STATES) {
    for (const caller of CALLERS) {
      const holder = state === 'Open' ? null : idOf(assignee);
      const query = 'select app.allowed_transitions($1, $2) as states';
      const { rows } = await sql.run(people[caller], query, [state, holder]);
      t.strictSame(rows[0].states, allowedTo(caller, state), `${caller}: ${state}`);
    }
  }
});

t.test(
  'every Member can take an Open task; only a Manager can assign another member: TK003, TK005',
  async (t) => {
    const cases = [
      [other, 'Open', other, 'Assigned', 'ok'],
      [other, 'Open', assignee, 'Assigned', 'TK003'],
      [manager, 'Open', assignee, 'Assigned', 'ok'],
      // TK005: the caller wants the task, and somebody else has it.
      [other, 'Assigned', other, 'Assigned', 'TK005'],
      [assignee, 'InProgress', other, 'InProgress', 'TK003'],
      [assignee, 'Review', other, 'Review', 'TK003'],
      [manager, 'Review', other, 'Review', 'ok'],
      // A step cannot also change the assignee.
      [other, 'Assigned', other, 'InProgress', 'TK005'],
      [assignee, 'InProgress', other, 'Assigned', 'TK003'],
    ] as const;
    for (const [caller, from, holder, to, expected] of cases) {
      const task = await taskIn(from);
      const { code } = await sql.run(caller, SET, [task.id, to, idOf(holder)]);
      const says = `${caller.subject} gives ${holder.subject} a task: ${from} to ${to}`;
      t.equal(code, expected, says);
      t.match(await read(task.id), expected === 'ok' ? { assignee_id: idOf(holder), state: to } : task, says);
    }
  },
);

t.test('a task that is Done keeps its assignee, even for an Admin', async (t) => {
  const task = await taskIn('Done');
  for (const holder of [idOf(other), idOf(admin), null]) {
    t.equal((await sql.run(admin, SET, [task.id, 'Done', holder])).code, 'TK001');
  }
  t.equal((await sql.run(other, `update app.tasks set title = 'Rake' where id = $1`, [task.id])).code, 'ok');
  t.match(await read(task.id), { title: 'Rake', assignee_id: idOf(assignee), version: task.version + 1 });
});

t.test('a task is Open exactly when it has no assignee', async (t) => {
  for (const [from, to, holder] of [
    ['Open', 'Assigned', null],
    ['Open', 'Open', manager],
    ['Assigned', 'Open', assignee],
    ['Assigned', 'Assigned', null],
    ['Assigned', 'InProgress', null],
    ['Review', 'Done', null],
  ] as const) {
    const task = await taskIn(from);
    const { code } = await sql.run(manager, SET, [task.id, to, holder && idOf(holder)]);
    t.equal(code, 'TK001', `${from} to ${to}`);
    t.strictSame(await read(task.id), task);
  }
});

t.test('an assignee is a member of the same club: a foreign and an unknown id fail alike', async (t) => {
  const task = await taskIn('Open');
  for (const holder of [stranger, '99999999-9999-4999-8999-999999999999']) {
    const { code, constraint } = await sql.run(manager, SET, [task.id, 'Assigned', holder]);
    t.strictSame([code, constraint], ['23503', 'tasks_assignee_fkey']);
  }
});
