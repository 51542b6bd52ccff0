import pg from 'pg';
import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { type Caller, connectAsRuntime } from '../setup/runtime.js';
import { countsOf, insertShift } from '../setup/shifts.js';

const db = await makeDatabase(t);
const north = await db.makeClub('north');
const south = await db.makeClub('south');
const session = await connectAsRuntime(t, db);

const manager: Caller = { clubId: north, subject: 'mara', role: 'Manager' };
const admin: Caller = { clubId: north, subject: 'ada', role: 'Admin' };
const viewer: Caller = { clubId: north, subject: 'vera', role: 'Viewer' };
const anna: Caller = { clubId: north, subject: 'anna', role: 'Member' };
const bert: Caller = { clubId: north, subject: 'bert', role: 'Member' };
const stranger: Caller = { clubId: south, subject: 'anna', role: 'Admin' };
const idOf = new Map<string, string>();
for (const caller of [manager, admin, viewer, anna, bert]) {
  idOf.set(caller.subject, await session.join(caller));
}
await session.join(stranger);

const signUp = (caller: Caller, id: string) => session.run(caller, 'select * from app.sign_up($1)', [id]);
const makeShift = (capacity: number, creator = manager) => insertShift(session, creator, capacity);

t.test('the runtime role signs up and cancels through the functions only', async (t) => {
  const id = await makeShift(2);
  t.equal((await signUp(anna, id)).code, 'ok');
  for (const sql of [
    'insert into app.shift_signups (shift_id, member_id) select $1::uuid, app.member_id()',
    'delete from app.shift_signups where shift_id = $1',
    'update app.shift_signups set member_id = app.member_id() where shift_id = $1',
    'select from app.shift_signups where shift_id = $1 for update',
    'update app.shifts set signup_count = 0 where id = $1',
    'update app.shifts set version = 9 where id = $1',
    'update app.shifts set tenant_id = tenant_id where id = $1',
    `insert into app.shifts (title, starts_at, ends_at, capacity, signup_count)
     select title, starts_at, ends_at, capacity, 1 from app.shifts where id = $1`,
  ]) {
    t.equal((await session.run(admin, sql, [id])).code, '42501', sql);
  }
  for (const sql of [
    'truncate app.shift_signups',
    'alter table app.shift_signups disable trigger all',
    'alter table app.shift_signups disable row level security',
    'drop function app.cancel_sign_up(uuid)',
    'set role club_signup',
    'set role club_owner',
  ]) {
    t.equal((await session.run(admin, sql)).code, '42501', sql);
  }
  t.same(await countsOf(db, id), [1, 1]);
  const { rows } = await signUp(bert, id);
  t.match(rows, [{ tenant_id: north, shift_id: id, member_id: idOf.get('bert') }]);
  t.same(rows, await db.queryAsAdmin('select * from app.shift_signups where id = $1', [rows[0].id]));
});

t.test(
  'what signing up and the roster have in common is executed by the owners of their functions only',
  async (t) => {
    const shared = await db.queryAsAdmin(
      `select proname::text as function, (
       select array_agg(grantee::regrole::text order by grantee::regrole::text) from aclexplode(proacl) where grantee <> proowner
     ) as callers
     from pg_proc where pronamespace = 'app'::regnamespace and proname = any ($1) order by 1`,
      [
        [
          'free_place',
          'join_queue',
          'leave_queue',
          'lock_shift',
          'require_member',
          'require_not_started',
          'require_open',
          'take_place',
        ],
      ],
    );
    const callers = ['club_roster', 'club_signup'];
    t.same(shared, [
      { function: 'free_place', callers },
      { function: 'join_queue', callers },
      { function: 'leave_queue', callers },
      { function: 'lock_shift', callers },
      { function: 'require_member', callers: ['club_roster'] },
      { function: 'require_not_started', callers },
      { function: 'require_open', callers: ['club_signup'] },
      { function: 'take_place', callers },
    ]);
  },
);

/** The result of a statement in a context, under a role that the login can set: rows, or a SQLSTATE. */
async function attempt(url: string, role: string, caller: Caller | null, sql: string, values: unknown[]) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('begin');
    if (caller !== null) {
      await client.query(
        `select set_config('app.tenant_id', $1, true), set_config('app.user_id', $2, true),
           set_config('app.role', $3, true), set_config('app.member_id', $4, true)`,
        [caller.clubId, caller.subject, caller.role, idOf.get(caller.subject)],
      );
    }
    await client.query(`set local role ${role}`);
    return `${(await client.query(sql, values)).rowCount} rows`;
  } catch (error) {
    return (error as pg.DatabaseError).code;
  } finally {
    await client.end();
  }
}

t.test('even an administrator, who bypasses every policy, cannot overbook a shift', async (t) => {
  const [full, other, roomy] = [await makeShift(1), await makeShift(1), await makeShift(2)];
  await signUp(anna, full);
  await signUp(bert, other);
  await signUp(anna, roomy);
  await signUp(bert, roomy);
  const ids = `'${north}', $1, '${idOf.get('bert')}'`;
  const insert = `insert into app.shift_signups (tenant_id, shift_id, member_id) values (${ids})`;
  const overbooked = '23514';
  for (const [id, sql] of [
    [full, insert],
    [full, 'update app.shifts set signup_count = 2 where id = $1'],
    [roomy, 'update app.shifts set capacity = 1 where id = $1'],
    [full, `update app.shift_signups set shift_id = $1 where shift_id = '${other}'`],
  ] as const) {
    t.equal(await attempt(db.adminUrl, 'none', admin, sql, [id]), overbooked, sql);
  }
  // Without the right to update the counter in this club, the row is refused and not left uncounted.
  for (const caller of [null, stranger, viewer]) {
    t.match(await attempt(db.adminUrl, 'none', caller, insert, [full]), /^\w{5}$/, `${caller?.role}`);
  }
});

t.test('club_signup can write only the caller’s own signup and wait, and lock the shift', async (t) => {
  const id = await makeShift(5);
  await signUp(anna, id);
  const foreign = await makeShift(5, stranger);
  const annaAsViewer: Caller = { ...anna, role: 'Viewer' };
  const insert = (member: Caller, shift = id) =>
    ['insert into app.shift_signups (shift_id, member_id) values ($1, $2)', shift, member.subject] as const;
  const remove = [
    'delete from app.shift_signups where shift_id = $1 and member_id = $2',
    id,
    'anna',
  ] as const;
  const wait = (member: Caller) =>
    ['insert into app.shift_waits (shift_id, member_id) values ($1, $2)', full, member.subject] as const;
  const lock = (shift: string) => ['select from app.shifts where id = $1 for no key update', shift] as const;
  const full = await makeShift(1);
  await signUp(admin, full);
  await session.run(anna, 'select app.wait_for_place($1)', [full]);
  for (const [caller, [sql, shift, subject], outcome] of [
    [bert, insert(bert), '1 rows'],
    [bert, insert(viewer), '42501'],
    [manager, insert(bert), '42501'],
    [viewer, insert(viewer), '42501'],
    [bert, insert(bert, foreign), '23503'],
    [anna, remove, '1 rows'],
    [admin, remove, '0 rows'],
    [annaAsViewer, remove, '0 rows'],
    [anna, lock(id), '1 rows'],
    [viewer, lock(id), '0 rows'],
    [anna, lock(foreign), '0 rows'],
    [admin, ['update app.shifts set signup_count = 0 where id = $1', id], '42501'],
    [admin, ['update app.shifts set wait_count = 0 where id = $1', id], '42501'],
    [bert, wait(bert), '1 rows'],
    [bert, wait(viewer), '42501'],
    [viewer, wait(viewer), '42501'],
    [manager, wait(bert), '42501'],
    [anna, ['delete from app.shift_waits where shift_id = $1 and member_id = $2', full, 'anna'], '1 rows'],
    [admin, ['delete from app.shift_waits where shift_id = $1 and member_id = $2', full, 'anna'], '0 rows'],
    [
      annaAsViewer,
      ['delete from app.shift_waits where shift_id = $1 and member_id = $2', full, 'anna'],
      '0 rows',
    ],
    [admin, ['update app.shift_waits set created_at = now() where shift_id = $1', full], '42501'],
    [anna, ['select from app.shifts where id = $1', foreign], '0 rows'],
    [admin, ['update app.shifts set capacity = 9 where id = $1', id], '42501'],
    [admin, ['update app.shift_signups set created_at = now() where shift_id = $1', id], '42501'],
    [admin, ['delete from app.shifts where id = $1', id], '42501'],
    [admin, ['select from app.members where id = $1', idOf.get('ada') as string], '1 rows'],
    [admin, ['select from app.members where id = $1', idOf.get('anna') as string], '0 rows'],
    [admin, ['select display_name from app.members where id = $1', id], '42501'],
    [admin, ['select from app.tasks where id = $1', id], '42501'],
  ] as [Caller, [string, string, string?], string][]) {
    const values = subject === undefined ? [shift] : [shift, idOf.get(subject)];
    const title = `${caller.subject} as ${caller.role}: ${sql}`;
    t.equal(await attempt(db.migrationUrl, 'club_signup', caller, sql, values), outcome, title);
  }
});

t.test('club_places counts and gives places in the club of the context, and nothing else', async (t) => {
  const [id, full, foreign] = [await makeShift(5), await makeShift(1), await makeShift(1, stranger)];
  await signUp(anna, id);
  await signUp(admin, full);
  await session.run(anna, 'select app.wait_for_place($1)', [full]);
  const promote = (shift: string) =>
    [
      'insert into app.shift_signups (shift_id, member_id, created_at, promoted_at) values ($1, $2, now(), now())',
      shift,
      'bert',
    ] as const;
  for (const [caller, [sql, shift, subject], outcome] of [
    [
      viewer,
      ['update app.shifts set signup_count = signup_count, wait_count = wait_count where id = $1', id],
      '1 rows',
    ],
    [viewer, ['update app.shifts set signup_count = 0 where id = $1', foreign], '0 rows'],
    [viewer, ['update app.shifts set capacity = 9 where id = $1', id], '42501'],
    [viewer, promote(id), '1 rows'],
    [viewer, promote(foreign), '23503'],
    [viewer, promote(full), '23514'],
    [viewer, ['delete from app.shift_waits where shift_id = $1', full], '1 rows'],
    [stranger, ['delete from app.shift_waits where shift_id = $1', full], '0 rows'],
    [admin, ['delete from app.shift_signups where shift_id = $1', id], '42501'],
    [admin, ['insert into app.shift_waits (shift_id, member_id) values ($1, $2)', full, 'bert'], '42501'],
    [admin, ['delete from app.shifts where id = $1', id], '42501'],
    [admin, ['select left_at from app.members where id = $1', id], '0 rows'],
    [admin, ['select display_name from app.members where id = $1', id], '42501'],
    [null, ['select from app.shift_waits where shift_id = $1', full], 'TN001'],
  ] as [Caller | null, [string, string, string?], string][]) {
    const values = subject === undefined ? [shift] : [shift, idOf.get(subject)];
    const title = `${caller?.subject} as ${caller?.role}: ${sql}`;
    t.equal(await attempt(db.migrationUrl, 'club_places', caller, sql, values), outcome, title);
  }
});

t.test('a Member reads their own waits, a Manager all, and nobody writes them by hand', async (t) => {
  const full = await makeShift(1);
  await signUp(admin, full);
  await session.run(anna, 'select app.wait_for_place($1)', [full]);
  await session.run(bert, 'select app.wait_for_place($1)', [full]);
  for (const [caller, count] of [
    [anna, 1],
    [bert, 1],
    [viewer, 0],
    [manager, 2],
    [stranger, 0],
  ] as const) {
    const { rowCount } = await session.run(caller, 'select from app.shift_waits where shift_id = $1', [full]);
    t.equal(rowCount, count, caller.subject);
  }
  const { rows } = await session.run(
    bert,
    'select app.wait_position(w) as position from app.shift_waits as w where shift_id = $1',
    [full],
  );
  t.same(rows, [{ position: 2 }], 'counts those whom the caller does not see');
  for (const statement of [
    'insert into app.shift_waits (shift_id, member_id) values ($1, app.member_id())',
    'delete from app.shift_waits where shift_id = $1',
    'update app.shift_waits set created_at = now() where shift_id = $1',
    'update app.shifts set wait_count = 0 where id = $1',
    `select app.withdraw_waits(app.member_id()) where $1::uuid is not null`,
  ]) {
    t.equal((await session.run(admin, statement, [full])).code, '42501', statement);
  }
});

t.test('club_roster can write any signup of the club, for a Manager only, and nothing else', async (t) => {
  const [id, foreign, ofAdmin] = [
    await makeShift(5),
    await makeShift(5, stranger),
    await makeShift(5, admin),
  ];
  await signUp(anna, id);
  const insert = (shift = id) =>
    [`insert into app.shift_signups (shift_id, member_id) values ($1, $2)`, shift, 'bert'] as const;
  const remove = [
    'delete from app.shift_signups where shift_id = $1 and member_id = $2',
    id,
    'anna',
  ] as const;
  const lock = (shift: string) => ['select from app.shifts where id = $1 for no key update', shift] as const;
  const read = (table: string) => [`select id from app.${table} where tenant_id = $1`, north] as const;
  for (const [caller, [sql, value, subject], outcome] of [
    [viewer, insert(), '42501'],
    [anna, insert(), '42501'],
    [manager, insert(), '1 rows'],
    [manager, insert(foreign), '23503'],
    [stranger, insert(), '23503'],
    [anna, remove, '0 rows'],
    [manager, remove, '1 rows'],
    [admin, remove, '1 rows'],
    [stranger, remove, '0 rows'],
    [anna, lock(id), '0 rows'],
    [manager, lock(id), '1 rows'],
    [manager, lock(foreign), '0 rows'],
    [anna, read('members'), '0 rows'],
    [manager, read('members'), '5 rows'],
    // Without a condition no row is read, so that these need the policies of their own command only.
    [anna, ['delete from app.shift_signups'], '0 rows'],
    [anna, ['update app.shifts set signup_count = 0'], '0 rows'],
    [admin, ['update app.shifts set signup_count = 0'], '42501'],
    [admin, ['update app.shifts set capacity = 9 where id = $1', id], '42501'],
    [admin, ['update app.shift_signups set created_at = now() where shift_id = $1', id], '42501'],
    // The shift is the Manager's. Only app.delete_batch looks whether somebody is signed up.
    [anna, ['delete from app.shifts where id = $1', id], '0 rows'],
    [manager, ['delete from app.shifts where id = $1', id], '1 rows'],
    [manager, ['delete from app.shifts where id = $1', ofAdmin], '0 rows'],
    [admin, ['delete from app.shifts where id = $1', id], '1 rows'],
    [admin, ['delete from app.shifts where id = $1', foreign], '0 rows'],
    [admin, ['select external_user_id from app.members where id = $1', id], '42501'],
    [admin, ['update app.members set display_name = display_name where tenant_id = $1', north], '42501'],
    [admin, read('tasks'), '42501'],
  ] as [Caller, [string, string?, string?], string][]) {
    const values = [value, idOf.get(subject ?? '')].filter((one) => one !== undefined);
    const title = `${caller.subject} as ${caller.role}: ${sql}`;
    t.equal(await attempt(db.migrationUrl, 'club_roster', caller, sql, values), outcome, title);
  }
});

t.test(
  'each command on a shift needs its role: a Viewer reads, a Manager creates and changes, an Admin deletes',
  async (t) => {
    const ranked = [viewer, anna, manager, admin];
    for (const [least, statement] of [
      [viewer, 'select from app.shifts where id = $1'],
      [manager, `update app.shifts set description = app.new_id()::text where id = $1`],
      [manager, 'select from app.shifts where id = $1 for update'],
      [admin, 'delete from app.shifts where id = $1'],
    ] as const) {
      for (const caller of ranked) {
        const id = await makeShift(1);
        const may = ranked.indexOf(caller) >= ranked.indexOf(least);
        // A row without access is invisible: no error, no row.
        const expected = { code: 'ok', rowCount: may ? 1 : 0 };
        t.match(await session.run(caller, statement, [id]), expected, `${caller.role}: ${statement}`);
      }
    }
    for (const caller of ranked) {
      const insert = `insert into app.shifts (title, starts_at, ends_at, capacity) values ('Bar', now(), now() + interval '1 hour', 1)`;
      const may = ranked.indexOf(caller) >= ranked.indexOf(manager);
      t.equal((await session.run(caller, insert)).code, may ? 'ok' : '42501', `${caller.role}: insert`);
    }
  },
);
