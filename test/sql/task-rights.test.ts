import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { connectAsRuntime } from '../setup/runtime.js';

const db = await makeDatabase(t);
const sql = await connectAsRuntime(t, db);
const clubId = await db.makeClub('north');
const south = await db.makeClub('south');

const viewer = { clubId, subject: 'vera', role: 'Viewer' } as const;
const member = { clubId, subject: 'max', role: 'Member' } as const;
const manager = { clubId, subject: 'mona', role: 'Manager' } as const;
const admin = { clubId, subject: 'ada', role: 'Admin' } as const;
const southern = { clubId: south, subject: 'sam', role: 'Admin' } as const;
const ids = new Map<string, string>();
for (const person of [viewer, member, manager, admin, southern]) {
  ids.set(person.subject, await sql.join(person));
}

const make = async (caller: typeof manager | typeof admin | typeof southern = manager) =>
  (await sql.run(caller, `insert into app.tasks (title) values ('Mow the lawn') returning *`)).rows[0];

/** The stored task, read as administrator; `moved` compares in microseconds, which a Date does not have. */
const look = async (id: string) =>
  (await db.queryAsAdmin('select *, updated_at > created_at as moved from app.tasks where id = $1', [id]))[0];

t.test('a task gets its club, its creator, its state and its first version from the database', async (t) => {
  const open = await make();
  t.match(open, { tenant_id: clubId, created_by_id: ids.get('mona'), state: 'Open', version: 1 });
  t.match(open, { assignee_id: null, completed_at: null });
  const { rows } = await sql.run(
    manager,
    `insert into app.tasks (title, assignee_id) values ('Rake', $1) returning *`,
    [ids.get('max')],
  );
  t.match(rows, [{ state: 'Assigned', assignee_id: ids.get('max'), version: 1, completed_at: null }]);
});

t.test(
  'columns that the database maintains cannot be written, not even with their current value',
  async (t) => {
    const task = await make(admin);
    for (const column of [
      'version',
      'updated_at',
      'completed_at',
      'created_at',
      'created_by_id',
      'tenant_id',
      'id',
    ]) {
      const update = `update app.tasks set ${column} = ${column} where id = $1`;
      t.equal((await sql.run(admin, update, [task.id])).code, '42501', `update ${column}`);
      const insert = `insert into app.tasks (title, ${column}) select title, ${column} from app.tasks where id = $1`;
      t.equal((await sql.run(admin, insert, [task.id])).code, '42501', `insert ${column}`);
    }
    for (const state of ['Open', 'Done']) {
      const insert = `insert into app.tasks (title, state) values ('Rake', '${state}')`;
      t.equal((await sql.run(admin, insert)).code, '42501', `insert as ${state}`);
    }
    t.match(await look(task.id), task);
  },
);

t.test(
  'every change increments the version and updates the time; an update without a change does neither',
  async (t) => {
    const task = await make();
    const same = await sql.run(member, 'update app.tasks set title = title, state = state where id = $1', [
      task.id,
    ]);
    t.strictSame([same.code, same.rowCount], ['ok', 1]);
    t.strictSame(await look(task.id), { ...task, moved: false });

    const rename = 'update app.tasks set title = $2 where id = $1';
    await sql.inside(member, async () => {
      await sql.client.query(rename, [task.id, 'Rake']);
      await sql.client.query(rename, [task.id, 'Sow']);
    });
    const after = await look(task.id);
    t.match(after, { title: 'Sow', version: task.version + 2, created_at: task.created_at, moved: true });
  },
);

t.test('a task has its completion time from the change to Done', async (t) => {
  const task = await make();
  const steps = ['Assigned', 'InProgress', 'Review', 'InProgress', 'Review', 'Done'];
  for (const state of steps) {
    const step = 'update app.tasks set state = $2, assignee_id = $3 where id = $1 returning *';
    const { rows } = await sql.run(member, step, [task.id, state, ids.get('max')]);
    t.equal(rows[0].state, state);
    t.equal(rows[0].completed_at !== null, state === 'Done', state);
  }
  const done = await look(task.id);
  t.ok(done?.completed_at >= task.created_at);
  t.equal((await sql.run(member, `update app.tasks set title = 'Rake' where id = $1`, [task.id])).code, 'ok');
  t.strictSame((await look(task.id))?.completed_at, done?.completed_at, 'a later edit does not move it');
});

t.test(
  'each command needs its role: a Member reads and edits, a Manager creates, an Admin deletes',
  async (t) => {
    const verbs = [
      ['select', member, 'select from app.tasks where id = $1'],
      ['update', member, `update app.tasks set description = app.new_id()::text where id = $1`],
      ['lock', member, 'select from app.tasks where id = $1 for update'],
      ['delete', admin, 'delete from app.tasks where id = $1'],
    ] as const;
    const ranked = [viewer, member, manager, admin];
    for (const [verb, least, statement] of verbs) {
      for (const person of ranked) {
        const task = await make();
        const { code, rowCount } = await sql.run(person, statement, [task.id]);
        const may = ranked.indexOf(person) >= ranked.indexOf(least);
        // A row without access is invisible: no error, no row.
        t.strictSame([code, rowCount], ['ok', may ? 1 : 0], `${person.role}: ${verb}`);
        t.equal((await look(task.id)) === undefined, verb === 'delete' && may, `${person.role}: ${verb}`);
      }
    }
    // A statement that reads no column does not use the SELECT policy: the command's own policy must suffice.
    for (const [person, statement] of [
      [viewer, `update app.tasks set title = 'Rake'`],
      [viewer, 'delete from app.tasks'],
      [manager, 'delete from app.tasks'],
    ] as const) {
      const { code, rowCount } = await sql.run(person, statement);
      t.strictSame([code, rowCount], ['ok', 0], `${person.role}: ${statement}`);
    }
    for (const person of ranked) {
      const { code } = await sql.run(person, `insert into app.tasks (title) values ('Rake')`);
      const may = ranked.indexOf(person) >= ranked.indexOf(manager);
      t.equal(code, may ? 'ok' : '42501', `${person.role}: insert`);
    }
  },
);

t.test('no statement reaches a task of another club', async (t) => {
  const theirs = await make(southern);
  for (const statement of [
    'select from app.tasks where id = $1',
    `update app.tasks set title = 'Ours' where id = $1`,
    'select from app.tasks where id = $1 for update',
    'delete from app.tasks where id = $1',
  ]) {
    t.match(await sql.run(admin, statement, [theirs.id]), { code: 'ok', rowCount: 0 }, statement);
  }
  t.match(await look(theirs.id), theirs);
});

t.test(
  'app.patch_task changes only what a caller may update, of a task of the club: TK006 for others',
  async (t) => {
    const patch = 'select (app.patch_task($1, $2, null, null)).task.*';
    const theirs = await make(southern);
    const task = await make();
    t.equal((await sql.run(admin, patch, [theirs.id, { title: 'Ours' }])).code, 'TK006');
    t.equal((await sql.run(viewer, patch, [task.id, { title: 'Mine' }])).code, 'TK006');
    await t.rejects(sql.client.query(patch, [task.id, { title: 'Mine' }]), { code: 'TN001' });
    t.match(await look(theirs.id), theirs);
    const { tenant_id, id, created_by_id } = theirs;
    const never = {
      tenant_id,
      id,
      created_by_id,
      version: 9,
      completed_at: '2026-05-01',
      created_at: '2026-05-01',
    };
    for (const others of [never, { Title: 'Rake' }, {}]) {
      t.equal((await sql.run(admin, patch, [task.id, JSON.stringify(others)])).code, 'ok');
      t.match(await look(task.id), task);
    }
    const { code } = await sql.run(member, patch, [task.id, { title: 'Rake', ...never }]);
    t.equal(code, 'ok');
    const { title: _old, version, updated_at: _at, ...kept } = task;
    t.match(await look(task.id), { ...kept, title: 'Rake', version: version + 1 });
  },
);

t.test('app.patch_task requires one of the tags or *, unless there are none: VE001', async (t) => {
  const task = await make();
  const patch = `select app.patch_task($1, '{"title":"Rake"}', null, $2)`;
  for (const tags of [[], [null], ['"2"', null], ['1'], ['W/"1"']]) {
    t.equal((await sql.run(member, patch, [task.id, tags])).code, 'VE001', JSON.stringify(tags));
  }
  t.match(await look(task.id), task);
  for (const tags of [['"1"', null], ['*'], null]) {
    t.equal((await sql.run(member, patch, [task.id, tags])).code, 'ok', JSON.stringify(tags));
  }
});

t.test('without app.enter there is no club to read or write: TN001', async (t) => {
  const task = await make();
  for (const statement of [
    'select * from app.tasks',
    `insert into app.tasks (title) values ('Rake')`,
    `update app.tasks set title = 'Rake'`,
    'delete from app.tasks',
  ]) {
    await t.rejects(sql.client.query(statement), { code: 'TN001' }, statement);
  }
  t.match(await look(task.id), task);
});

t.test('every role reads the workflow, and no runtime role can change, disable or truncate it', async (t) => {
  t.equal((await sql.run(viewer, 'select from app.task_transitions')).rowCount, 7);
  t.equal((await sql.run(viewer, 'select from app.task_states')).rowCount, 5);
  for (const statement of [
    `insert into app.task_transitions values ('Open', 'Done', 'member')`,
    `update app.task_transitions set performer = 'member'`,
    'delete from app.task_transitions',
    `insert into app.task_states values ('Cancelled', 6)`,
    'delete from app.task_states',
    'alter table app.tasks disable trigger tasks_guard',
    'drop trigger tasks_guard on app.tasks',
    'alter table app.tasks disable row level security',
    `create or replace function app.guard_task() returns trigger language plpgsql as 'begin return new; end'`,
    `set local session_replication_role = 'replica'`,
    'truncate app.tasks',
  ]) {
    t.equal((await sql.run(admin, statement)).code, '42501', statement);
  }
});
