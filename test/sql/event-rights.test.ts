import pg from 'pg';
import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { eventsOf, lastSequence } from '../setup/events.js';
import { type Caller, connectAsOperator, connectAsRuntime } from '../setup/runtime.js';
import { insertShift } from '../setup/shifts.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const db = await makeDatabase(t);
const clubId = await db.makeClub('north');
const otherClubId = await db.makeClub('south');
const sql = await connectAsRuntime(t, db);
const admin: Caller = { clubId, subject: 'ada', role: 'Admin' };
const ben: Caller = { clubId, subject: 'ben', role: 'Member' };
await sql.join(admin);
const benId = await sql.join(ben);
await sql.join({ ...admin, clubId: otherClubId });

const operator = await connectAsOperator(t, db);

/** Creates a task, for the assignee if there is one, and deletes it again. */
async function deleteTask(title: string, assigneeId: string | null, caller = admin): Promise<void> {
  await sql.inside(caller, async () => {
    await sql.client.query('insert into app.tasks (title, assignee_id) values ($1, $2)', [title, assigneeId]);
    await sql.client.query('delete from app.tasks where title = $1', [title]);
  });
}

t.test('a Manager reads all events of the club, a Member those about themself, a Viewer none', async (t) => {
  await deleteTask('unassigned', null);
  await deleteTask('of Ben', benId);
  const own = await eventsOf(db, clubId);
  const read = async (caller: Caller) => {
    const { rows } = await sql.run(
      caller,
      'select tenant_id, sequence::int, member_id from app.events order by sequence',
    );
    return rows;
  };
  const numbers = own.map(({ sequence }) => sequence);
  for (const role of ['Manager', 'Admin'] as const) {
    t.same(
      (await read({ ...admin, role })).map(({ sequence }) => sequence),
      numbers,
      role,
    );
  }
  const about = own.filter(({ member_id }) => member_id === benId).map(({ sequence }) => sequence);
  t.equal(about.length, 3);
  t.same(
    (await read(ben)).map(({ sequence }) => sequence),
    about,
  );
  t.same(await read({ ...ben, role: 'Viewer' }), []);

  // Those of the own transaction have no number yet.
  await sql.inside(admin, async () => {
    await sql.client.query(`insert into app.tasks (title) values ('x')`);
    const { rows } = await sql.client.query('select count(*)::int from app.events');
    t.same(rows, [{ count: numbers.length }]);
  });
});

t.test('no role of the service writes an event, the functions of operators excepted', async (t) => {
  const before = await db.queryAsAdmin('table app.events');
  const insert = `insert into app.events (type, subject_id, changes, fields) values ('x', app.new_id(), '{}', '{}')`;
  for (const statement of [
    insert,
    'update app.events set sequence = sequence + 1',
    'update app.events set subject_title = null',
    'delete from app.events',
    'truncate app.events',
    'select from app.events for update',
    'select app.record_event()',
    'select app.number_events()',
    `select app.forget_events('${clubId}', 'infinity')`,
  ]) {
    const { code } = await sql.run(admin, statement);
    t.ok(['42501', '0A000'].includes(code), `${statement}: ${code}`);
  }
  // The recorder itself, whose floor is the club in which it records.
  const admins = new pg.Client(db.adminUrl);
  await admins.connect();
  await admins.query('begin');
  await admins.query('set local role club_recorder');
  await admins.query('savepoint one');
  await t.rejects(admins.query('select from app.events'), { code: 'TN001' });
  await admins.query('rollback to one');
  await admins.query(`select set_config('app.event_club_id', $1, true)`, [otherClubId]);
  t.same((await admins.query('select distinct tenant_id from app.events')).rows, [
    { tenant_id: otherClubId },
  ]);
  await t.rejects(admins.query('delete from app.events'), { code: '42501' });
  await admins.query('rollback');
  await admins.query('begin; set local role club_owner');
  t.same((await admins.query('select from app.events')).rowCount, 0);
  await admins.query('rollback');
  await admins.end();
  t.same(await db.queryAsAdmin('table app.events'), before);
});

t.test(
  'an operator forgets a prefix of a club’s events, never the last, and nothing of another club',
  async (t) => {
    const club = await db.makeClub('old');
    const caller: Caller = { ...admin, clubId: club };
    await sql.join(caller);
    for (const title of ['2', '3', '4', '5', '6']) {
      await sql.run(caller, 'insert into app.tasks (title) values ($1)', [title]);
    }
    const other = await eventsOf(db, otherClubId);
    // The third is older than the second: the clock ran backwards.
    await db.queryAsAdmin(
      `update app.events set at = now() - interval '1 hour' * (array[5, 3, 4, 2, 1, 0])[sequence] where tenant_id = $1`,
      [club],
    );
    const forget = async (before: string | null) => {
      const { rows } = await operator.query(
        'select app.forget_events($1, now() - $2::interval) as forgotten',
        [club, before],
      );
      const kept = (await eventsOf(db, club)).map(({ sequence }) => sequence);
      const { rows: oldest } = await sql.run(caller, 'select app.oldest_event()::int as oldest');
      t.same(oldest, [{ oldest: kept[0] }]);
      return [Number(rows[0].forgotten), ...kept];
    };
    t.same(await forget(null), [0, 1, 2, 3, 4, 5, 6], 'without a time it does nothing');
    t.same(await forget('6 hours'), [0, 1, 2, 3, 4, 5, 6]);
    t.same(await forget('210 minutes'), [1, 2, 3, 4, 5, 6], 'all before the first that is not older');
    t.same(await forget('90 minutes'), [3, 5, 6]);
    t.same(await forget('-1 hours'), [1, 6], 'never the last');
    t.same(await forget('-1 hours'), [0, 6]);
    await sql.run(caller, `insert into app.tasks (title) values ('7')`);
    t.same(
      (await eventsOf(db, club)).map(({ sequence }) => sequence),
      [6, 7],
    );
    t.same((await sql.run({ ...caller, role: 'Member' }, 'select app.oldest_event()::int as oldest')).rows, [
      { oldest: 6 },
    ]);
    t.same((await sql.run({ ...caller, role: 'Viewer' }, 'select app.oldest_event()')).rows, [
      { oldest_event: null },
    ]);
    t.same(await eventsOf(db, otherClubId), other);
    await t.rejects(operator.query('select app.forget_events(app.new_id(), now())'), { code: 'CL002' });
  },
);

t.test(
  'erasing a member clears the titles of what they deleted or was about them, in the whole feed',
  async (t) => {
    const club = await db.makeClub('erasing');
    const [actor, other]: [Caller, Caller] = [
      { ...admin, clubId: club },
      { ...admin, clubId: club, subject: 'otto' },
    ];
    const memberId = await sql.join(actor);
    const otherId = await sql.join(other);
    await deleteTask('by', null, actor);
    await deleteTask('about', memberId, other);
    await deleteTask('kept', otherId, other);
    // In the transaction of the deletion of another task about the member.
    const administrator = new pg.Client(db.adminUrl);
    await administrator.connect();
    await administrator.query(`begin; insert into app.tasks (tenant_id, title, assignee_id, created_by_id)
      values ('${club}', 'before', '${memberId}', null); delete from app.tasks where title = 'before'`);
    await administrator.query('select app.erase_member($1, $2)', [club, memberId]);
    await administrator.query('commit');
    await administrator.end();
    const deleted = (await eventsOf(db, club)).filter(({ type }) => type === 'task.deleted');
    t.same(
      deleted.map(({ subject_title }) => subject_title),
      [null, null, 'kept', null],
    );
    t.equal(await lastSequence(db, club), (await eventsOf(db, club)).length);
  },
);

t.test(
  'an erasure that meets a request may fail with 40P01, changes nothing then, and succeeds when it is called again',
  async (t) => {
    const club = await db.makeClub('busy');
    const caller: Caller = { ...admin, clubId: club };
    const memberId = await sql.join(caller);
    await deleteTask('by', null, caller);
    const state = async () => {
      const [row] = await db.queryAsAdmin(
        `select display_name = 'Former member' as erased,
           (select count(*)::int from app.events where tenant_id = $1 and subject_title is not null) as titles,
           (select count(*)::int from app.events where tenant_id = $1 and type = 'member.erased') as events
         from app.members where id = $2`,
        [club, memberId],
      );
      return row;
    };
    const codeOf = (work: Promise<unknown>) =>
      work.then(
        () => 'ok',
        (error) => error.code,
      );
    const kept = { erased: false, titles: 1, events: 0 };
    const erased = { erased: true, titles: 0, events: 1 };
    t.same(await state(), kept);
    await sql.begin(caller);
    // It holds the row of the member, and wants that of the club when it records.
    await sql.client.query(`select from app.members where id = app.member_id() for no key update`);
    const erasing = codeOf(operator.query('select app.erase_member($1, $2)', [club, memberId]));
    t.equal(await untilWaitingForLocks(db, 1, erasing), 1);
    const request = await codeOf(sql.client.query(`update app.members set display_name = 'Changed'`));
    await sql.client.query('commit');
    const erasure = await erasing;
    t.same([erasure, request].sort(), ['40P01', 'ok'], 'PostgreSQL ends one of both');
    t.same(await state(), erasure === 'ok' ? erased : kept);
    await operator.query('select app.erase_member($1, $2)', [club, memberId]);
    t.same(await state(), erased);
    t.equal(await lastSequence(db, club), (await eventsOf(db, club)).length);
  },
);

t.test('a type in pg_temp runs no code with the rights of the service’s functions', async (t) => {
  await db.queryAsAdmin(
    `do $$ begin execute format('grant temporary on database %I to club_api', current_database()); end $$`,
  );
  const session = await connectAsRuntime(t, db);
  // Types that these functions name without a schema, as domains whose check runs with the rights of whoever uses them.
  for (const type of ['uuid', 'text', 'jsonb', 'timestamptz', 'bytea']) {
    await session.client.query(`
      create function pg_temp.spy(value pg_catalog.${type}) returns pg_catalog.bool language plpgsql as $$
        begin
          if current_user <> session_user then
            raise exception using errcode = 'XX001', message = 'runs as ' || current_user;
          end if;
          return true;
        end $$;
      create domain pg_temp.${type} as pg_catalog.${type} check (pg_temp.spy(value))`);
  }
  const shift = await insertShift(sql, admin, 1);
  const codes = [];
  for (const statement of [
    `insert into app.tasks (title) values ('x')`,
    `update app.tasks set title = 'y' where title = 'x'`,
    `delete from app.tasks where title = 'y'`,
    `select app.sign_up('${shift}')`,
    `select app.cancel_sign_up('${shift}')`,
    `select app.assign_sign_up('${shift}', '${benId}')`,
    `select app.remove_sign_up('${shift}', '${benId}')`,
  ]) {
    codes.push((await session.run(admin, statement)).code);
  }
  t.same(codes, Array(7).fill('ok'));
});
