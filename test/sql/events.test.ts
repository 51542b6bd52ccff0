import t from 'tap';
import { deploy } from '../../src/deploy/deploy.js';
import { makeDatabase } from '../setup/database.js';
import { eventsOf, lastSequence, type StoredEvent } from '../setup/events.js';
import { type Caller, connectAsOperator, connectAsRuntime } from '../setup/runtime.js';

const db = await makeDatabase(t);
const clubId = await db.makeClub('north');
const otherClubId = await db.makeClub('south');
const sql = await connectAsRuntime(t, db);
const admin: Caller = { clubId, subject: 'ada', role: 'Admin' };
const ben: Caller = { clubId, subject: 'ben', role: 'Member' };
const adminId = await sql.join(admin);
const benId = await sql.join(ben);
const stranger: Caller = { clubId: otherClubId, subject: 'otto', role: 'Admin' };
const strangerId = await sql.join(stranger);

const operator = await connectAsOperator(t, db);

/** Each text of free text begins with this; it must not be in an event. */
const CANARY = 'canary';

/** The events that the work records in the club. */
async function recorded(work: () => Promise<unknown>, club = clubId): Promise<StoredEvent[]> {
  const before = await lastSequence(db, club);
  await work();
  return eventsOf(db, club, before);
}

/** Runs one statement as a caller; fails if it is refused. */
async function run(caller: Caller, statement: string, values: unknown[] = []) {
  const { code, rows } = await sql.run(caller, statement, values);
  t.equal(code, 'ok', statement);
  return rows;
}

/** Runs SQL as an administrator in a transaction without a context, or with the given settings of one. */
async function asAdministrator(statements: string, settings: Record<string, string> = {}) {
  await db.queryAsAdmin('begin');
  for (const [name, value] of Object.entries(settings)) {
    await db.queryAsAdmin('select set_config($1, $2, true)', [`app.${name}`, value]);
  }
  await db.queryAsAdmin(statements);
  await db.queryAsAdmin('commit');
}

t.test('each change of a row is one event, with its actor, member, values and names of texts', async (t) => {
  const day = '2031-05-01T16:00:00';
  const ids: Record<string, string> = {};
  const cases: {
    caller?: Caller | null;
    statement: string;
    /** Keeps the id that the statement returns. */
    as?: string;
    expected: () => Partial<StoredEvent>[];
  }[] = [
    {
      statement: `insert into app.tasks (title, due_at) values ('${CANARY} task', '${day}+02') returning id`,
      as: 'task',
      expected: () => [
        {
          type: 'task.created',
          subject_id: ids.task as string,
          subject_title: null,
          actor_id: adminId,
          member_id: null,
          changes: { state: { from: null, to: 'Open' }, dueAt: { from: null, to: '2031-05-01T14:00:00Z' } },
          fields: ['title'],
        },
      ],
    },
    {
      caller: ben,
      statement: `update app.tasks set state = 'Assigned', assignee_id = app.member_id(), description = '${CANARY}' where id = $task`,
      expected: () => [
        {
          type: 'task.changed',
          actor_id: benId,
          member_id: benId,
          changes: { state: { from: 'Open', to: 'Assigned' }, assigneeId: { from: null, to: benId } },
          fields: ['description'],
        },
      ],
    },
    {
      statement: `update app.tasks set title = '${CANARY} +00:00', description = null where id = $task`,
      expected: () => [
        { actor_id: adminId, member_id: benId, changes: {}, fields: ['description', 'title'] },
      ],
    },
    {
      statement: 'update app.tasks set assignee_id = app.member_id() where id = $task',
      expected: () => [{ member_id: adminId, changes: { assigneeId: { from: benId, to: adminId } } }],
    },
    {
      statement: `update app.tasks set state = 'Open', assignee_id = null, due_at = null where id = $task`,
      expected: () => [
        {
          member_id: adminId,
          changes: {
            state: { from: 'Assigned', to: 'Open' },
            assigneeId: { from: adminId, to: null },
            dueAt: { from: '2031-05-01T14:00:00Z', to: null },
          },
        },
      ],
    },
    { statement: 'update app.tasks set title = title, due_at = due_at where id = $task', expected: () => [] },
    {
      statement: 'delete from app.tasks where id = $task',
      expected: () => [
        {
          type: 'task.deleted',
          subject_title: `${CANARY} +00:00`,
          member_id: null,
          changes: { state: { from: 'Open', to: null } },
          fields: ['title'],
        },
      ],
    },
    {
      statement: `insert into app.shifts (title, location, starts_at, ends_at, capacity)
        values ('${CANARY}', '${CANARY}', '${day}.123456Z', '2031-05-01T18:00:00Z', 3) returning id`,
      as: 'shift',
      expected: () => [
        {
          type: 'shift.created',
          subject_id: ids.shift as string,
          member_id: null,
          changes: {
            startsAt: { from: null, to: `${day}.123456Z` },
            endsAt: { from: null, to: '2031-05-01T18:00:00Z' },
            capacity: { from: null, to: 3 },
          },
          fields: ['location', 'title'],
        },
      ],
    },
    {
      statement: 'update app.shifts set capacity = 2 where id = $shift',
      expected: () => [{ type: 'shift.changed', changes: { capacity: { from: 3, to: 2 } }, fields: [] }],
    },
    {
      caller: ben,
      statement: 'select app.sign_up($shift)',
      expected: () => [
        {
          type: 'signup.created',
          subject_id: ids.shift as string,
          actor_id: benId,
          member_id: benId,
          changes: {},
          fields: [],
        },
      ],
    },
    {
      caller: ben,
      statement: 'select app.cancel_sign_up($shift)',
      expected: () => [{ type: 'signup.deleted', subject_title: null, actor_id: benId, member_id: benId }],
    },
    { caller: ben, statement: 'select app.sign_up($shift)', expected: () => [{ type: 'signup.created' }] },
    {
      statement: 'delete from app.shifts where id = $shift',
      expected: () => [
        { type: 'shift.deleted', subject_title: CANARY, actor_id: adminId, fields: ['location', 'title'] },
        { type: 'signup.deleted', subject_id: ids.shift as string, actor_id: adminId, member_id: benId },
      ],
    },
    {
      caller: ben,
      statement: `select app.sync_member('${CANARY} name', '${CANARY}@example.org', null)`,
      expected: () => [
        {
          type: 'member.changed',
          subject_id: benId,
          actor_id: benId,
          member_id: benId,
          changes: {},
          fields: ['displayName', 'email'],
        },
      ],
    },
    { caller: ben, statement: `select app.sync_member(null, null, '2031-01-01Z')`, expected: () => [] },
    {
      caller: { ...ben, role: 'Viewer' },
      statement: 'select app.sync_member(null, null, null)',
      expected: () => [],
    },
    {
      caller: { ...ben, role: 'Manager' },
      statement: `select app.sync_member(null, null, '2031-02-01Z')`,
      expected: () => [
        { type: 'member.changed', changes: { role: { from: 'Member', to: 'Manager' } }, fields: [] },
      ],
    },
    {
      caller: { ...ben, subject: `${CANARY} subject` },
      statement: `select app.sync_member('${CANARY}', '${CANARY}@example.org', null) as id`,
      as: 'newcomer',
      expected: () => [
        {
          type: 'member.created',
          subject_id: ids.newcomer as string,
          actor_id: ids.newcomer as string,
          member_id: ids.newcomer as string,
          changes: { role: { from: null, to: 'Member' } },
          fields: ['displayName', 'email'],
        },
      ],
    },
    {
      caller: null,
      statement: `select app.rename_club('${clubId}', '${CANARY}', 'slug')`,
      expected: () => [
        {
          type: 'club.changed',
          subject_id: clubId,
          actor_id: null,
          member_id: null,
          changes: { slug: { from: 'north', to: 'slug' } },
          fields: ['name'],
        },
      ],
    },
    {
      caller: null,
      statement: `select app.rename_club('${clubId}', '${CANARY}', 'slug')`,
      expected: () => [],
    },
    { caller: null, statement: `select app.close_club('${clubId}')`, expected: () => [] },
    {
      caller: null,
      statement: `select app.erase_member('${clubId}', $newcomer)`,
      expected: () => [
        {
          type: 'member.erased',
          subject_id: ids.newcomer as string,
          actor_id: null,
          member_id: ids.newcomer as string,
          changes: {},
          fields: ['displayName', 'email'],
        },
      ],
    },
    { caller: null, statement: `select app.erase_member('${clubId}', $newcomer)`, expected: () => [] },
    { caller: null, statement: `select app.reopen_club('${clubId}')`, expected: () => [] },
  ];
  for (const { caller = admin, statement, as, expected } of cases) {
    const text = statement.replace(/\$(\w+)/g, (_, name) => `'${ids[name]}'`);
    const events = await recorded(async () => {
      const rows = caller === null ? (await operator.query(text)).rows : await run(caller, text);
      if (as !== undefined) {
        ids[as] = rows[0].id;
      }
    });
    const wanted = expected();
    t.equal(events.length, wanted.length, text);
    for (const [index, event] of wanted.entries()) {
      // Without the fields that a case leaves out; changes and names must be complete.
      const { [index]: found } = events;
      t.same(
        Object.fromEntries(Object.keys(event).map((key) => [key, found?.[key as keyof StoredEvent]])),
        event,
        text,
      );
    }
  }
});

t.test(
  'no event contains a name, an address, a subject or a text, except the title of what was deleted',
  async (t) => {
    const events = await db.queryAsAdmin<{ text: string; subject_title: string | null }>(
      "select subject_title, (to_jsonb(event) - 'subject_title')::text as text from app.events as event",
    );
    t.same(
      events.filter(({ text }) => text.includes(CANARY)),
      [],
    );
    t.ok(events.some(({ subject_title }) => subject_title?.startsWith(CANARY)));
  },
);

t.test(
  'every statement of SQL is recorded: of an operator without a context, COPY, MERGE and a moved row',
  async (t) => {
    const insert = (id: string, title: string) =>
      `insert into app.tasks (tenant_id, id, title, created_by_id) values ('${clubId}', '${id}', '${title}', null)`;
    const [first, second, third] = ['1', '2', '3'].map(
      (digit) => `${digit.repeat(8)}-1111-4111-8111-111111111111`,
    ) as [string, string, string];
    const types = async (work: () => Promise<unknown>, club = clubId) =>
      (await recorded(work, club)).map(({ type, subject_id, actor_id, member_id }) => [
        type,
        subject_id,
        actor_id,
        member_id,
      ]);
    t.same(await types(() => asAdministrator(`${insert(first, 'x')}; ${insert(second, 'x')}`)), [
      ['task.created', first, null, null],
      ['task.created', second, null, null],
    ]);
    const merge = `merge into app.tasks as task using (values ('${first}'::uuid, 'y'), ('${second}', null), ('${third}', 'z')) as wanted (id, title)
    on task.id = wanted.id
    when matched and wanted.title is null then delete
    when matched then update set title = wanted.title
    when not matched then insert (tenant_id, id, title, created_by_id) values ('${clubId}', wanted.id, wanted.title, null)`;
    t.same((await types(() => asAdministrator(merge))).sort(), [
      ['task.changed', first, null, null],
      ['task.created', third, null, null],
      ['task.deleted', second, null, null],
    ]);
    const copy = async () => {
      await db.queryAsAdmin(`create temporary table copied as select * from app.tasks where id = '${first}'`);
      await db.queryAsAdmin(`update copied set id = '${second}'`);
      const [file] = await db.queryAsAdmin<{ path: string }>(
        `select current_setting('data_directory') || '/events-test.copy' as path`,
      );
      await db.queryAsAdmin(`copy copied to '${file?.path}'`);
      await db.queryAsAdmin(`copy app.tasks from '${file?.path}'`);
      await db.queryAsAdmin('drop table copied');
    };
    t.same(await types(copy), [['task.created', second, null, null]]);

    const [club] = await recorded(() =>
      asAdministrator(`update app.clubs set time_zone = 'Europe/Paris' where id = '${clubId}'`),
    );
    t.match(club, { type: 'club.changed', actor_id: null, fields: [] });
    t.same(club?.changes, { timeZone: { from: 'Europe/Berlin', to: 'Europe/Paris' } });

    const move = () =>
      asAdministrator(`update app.tasks set tenant_id = '${otherClubId}' where id = '${third}'`);
    const arrived = await types(async () => {
      t.same(await types(move), [['task.deleted', third, null, null]], 'it leaves one club');
    }, otherClubId);
    t.same(arrived, [['task.created', third, null, null]], 'and enters another');

    const [shift] = await run(
      admin,
      `insert into app.shifts (title, starts_at, ends_at, capacity)
    values ('x', now() + '1 day', now() + '2 days', 3) returning id`,
    );
    await run(ben, 'select app.sign_up($1)', [shift.id]);
    t.same(
      await types(() =>
        asAdministrator(
          // With the club in the context, which the triggers of signups need.
          `update app.shift_signups set member_id = '${adminId}'
           from (select set_config('app.tenant_id', '${clubId}', true)) as context where shift_id = '${shift.id}'`,
        ),
      ),
      [
        ['signup.deleted', shift.id, null, benId],
        ['signup.created', shift.id, null, adminId],
      ],
      'a signup never changes',
    );
  },
);

t.test('no setting prevents an event, and none puts the member of another club into one', async (t) => {
  const remove = `insert into app.shifts (title, starts_at, ends_at, capacity)
      values ('x', now() + '1 day', now() + '2 days', 3);
    select app.sign_up(id) from app.shifts where title = 'x' and signup_count = 0;
    delete from app.shifts where title = 'x'`;
  const events = await recorded(() =>
    sql.inside(admin, async () => {
      await sql.client.query(`select set_config('app.closed_club_id', $1, true)`, [clubId]);
      await sql.client.query(remove);
    }),
  );
  const counts = (type: string) => events.filter((event) => event.type === type).length;
  t.equal(counts('shift.deleted'), counts('shift.created') + 1, 'that of the test before is deleted too');
  t.equal(counts('signup.deleted'), counts('signup.created') + 1);

  const insert = `insert into app.tasks (tenant_id, id, title, created_by_id) values ('${clubId}', app.new_id(), 'x', null)`;
  const actors = async (settings: Record<string, string>) =>
    (await recorded(() => asAdministrator(insert, settings))).map(({ actor_id }) => actor_id);
  t.same(await actors({ tenant_id: clubId, member_id: benId }), [benId]);
  t.same(await actors({ tenant_id: clubId.toUpperCase(), member_id: benId }), [benId]);
  t.same(await actors({ tenant_id: otherClubId, member_id: strangerId }), [null]);
  t.same(await actors({ member_id: strangerId }), [null]);
  t.same(
    await recorded(() =>
      operator.query(`begin; select set_config('app.tenant_id', '${clubId}', true), set_config('app.member_id', '${benId}', true);
        select app.rename_club('${clubId}', 'Renamed', 'slug'); commit`),
    ).then((found) => found.map(({ type, actor_id }) => [type, actor_id])),
    [['club.changed', null]],
    'a function for operators has no actor, also inside a club',
  );
});

t.test('what fails or is rolled back leaves no event, and the removal of a club leaves none', async (t) => {
  t.same(
    await recorded(async () => {
      const insert = `insert into app.tasks (title) values ('x')`;
      t.equal((await sql.run(ben, insert)).code, '42501');
      t.equal((await sql.run(admin, `${insert}; select 1 / 0`)).code, '22012');
      await t.rejects(
        sql.inside(admin, async () => {
          await sql.client.query(insert);
          throw new Error('rolled back');
        }),
      );
    }),
    [],
  );
  const gone = await db.makeClub('gone');
  const manager: Caller = { ...admin, clubId: gone };
  await sql.join(manager);
  await run(manager, `insert into app.tasks (title) values ('x')`);
  const kept = await lastSequence(db, clubId);
  await operator.query('select app.close_club($1)', [gone]);
  await operator.query('begin');
  await operator.query('select app.forget_club($1)', [gone]);
  await operator.query('commit');
  t.same(await eventsOf(db, gone), []);
  t.equal(await lastSequence(db, clubId), kept);
});

t.test('the fields have the same names in a database of any locale', async (t) => {
  const turkish = await makeDatabase(t, { empty: true, locale: 'tr' });
  await deploy(turkish.migrationUrl);
  const club = await turkish.makeClub();
  const session = await connectAsRuntime(t, turkish);
  const caller: Caller = { ...admin, clubId: club };
  await session.join(caller);
  await session.run(caller, `insert into app.tasks (title, assignee_id) values ('x', app.member_id())`);
  const [, event] = await eventsOf(turkish, club);
  t.same(Object.keys(event?.changes ?? {}).sort(), ['assigneeId', 'state']);
});

t.test('a recorded column is a time exactly if its name ends with _at or _until', async (t) => {
  const columns = await db.queryAsAdmin<{ name: string; is_time: boolean }>(
    `select attname as name, atttypid = 'timestamptz'::regtype as is_time
     from pg_trigger join pg_attribute on attrelid = tgrelid
     where tgfoid = 'app.record_event'::regproc
       and attname = any (string_to_array(split_part(encode(tgargs, 'escape'), '\\000', 2), ', '))`,
  );
  t.ok(columns.length >= 5);
  t.same(
    columns.filter(({ name, is_time }) => /_(at|until)$/.test(name) !== is_time),
    [],
  );
});
