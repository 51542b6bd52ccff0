import pg from 'pg';
import t from 'tap';
import { relationsOf } from '../setup/catalog.js';
import { fillEmptyTables } from '../setup/catalog-rows.js';
import { SHIFT } from '../setup/endpoints.js';
import { connectAsOperator, connectAsRuntime } from '../setup/runtime.js';
import { startService } from '../setup/service.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const anna = service.as('anna', 'Manager', north);
const ben = service.as('ben', 'Member', north);

const LINK = '/api/members/me/calendar';

const operator = await connectAsOperator(t, service.db);

t.test('an operator can rename a club, and the members see the new name', async (t) => {
  await operator.query('select app.rename_club($1, $2, $3)', [north, ' Rowing Club ', 'rowing']);
  t.match((await anna.get('/api/clubs/current')).body, { name: 'Rowing Club', slug: 'rowing' });
  await t.rejects(operator.query('select app.rename_club($1, $2, $3)', [north, 'North', 'south']), {
    code: '23505',
  });
  await t.rejects(operator.query('select app.rename_club($1, $2, $3)', [north, '', 'north']), {
    code: '23514',
  });
});

t.test(
  'an operator finds the id of every club, open or closed; the registry reads nothing else',
  async (t) => {
    const closed = await service.db.makeClub('closed');
    await operator.query('select app.close_club($1)', [closed]);
    const { rows } = await operator.query('select * from app.list_clubs()');
    t.same(
      rows,
      await service.db.queryAsAdmin('select id, name, slug, closed_at from app.clubs order by slug'),
    );
    t.match(rows, [{ id: closed, slug: 'closed', closed_at: Date }, { id: north }, { id: south }]);

    const registry = new pg.Client(service.db.migrationUrl);
    await registry.connect();
    t.teardown(() => registry.end());
    await registry.query('set role club_registry');
    for (const statement of [
      'select time_zone from app.clubs',
      `update app.clubs set name = 'x'`,
      'delete from app.clubs',
      'select id from app.members',
    ]) {
      await t.rejects(registry.query(statement), { code: '42501' }, statement);
    }
  },
);

t.test('a closed club gets the responses of a missing one, and a reopened club is unchanged', async (t) => {
  const { body: task } = await anna.post('/api/tasks', { title: 'Kept' });
  await operator.query('select app.close_club($1)', [north]);
  const closed = await anna.get(`/api/tasks/${task.id}`);
  t.equal(closed.status, 403);
  t.equal(closed.body.code, 'tenant_forbidden');
  const token = service.token({ sub: 'anna', clubs: { [north]: 'Manager', [south]: 'Viewer' } });
  const mine = await service.send('GET', '/api/clubs/me', {
    headers: { authorization: `Bearer ${token}` },
  });
  t.same(
    mine.body.map((club: { id: string }) => club.id),
    [south],
  );

  await operator.query('select app.reopen_club($1)', [north]);
  t.equal((await anna.get(`/api/tasks/${task.id}`)).status, 200);
});

t.test(
  'an erased member is anonymous, their work stays, and the same user returns as a new member',
  async (t) => {
    const before = await ben.memberId();
    const { body: task } = await anna.post('/api/tasks', { title: 'Done by Ben', assigneeId: before });
    const links = await Promise.all([anna, ben].map(async (who) => (await who.put(LINK)).body.url));
    await operator.query('select app.erase_member($1, $2)', [north, before]);
    const statuses = await Promise.all(links.map(async (url) => (await service.send('GET', url)).status));
    t.same(statuses, [200, 404], 'their calendar link has ended, those of others have not');
    const { body: read } = await anna.get(`/api/tasks/${task.id}`);
    t.match(read, { assigneeId: before, assigneeName: 'Former member' });
    const refused = { status: 422, body: { code: 'assignee_not_member' } };
    const open = await anna.post('/api/tasks', { title: 'Open' });
    t.match(await anna.post('/api/tasks', { title: 'For Ben', assigneeId: before }), refused);
    t.match(await anna.patch(`/api/tasks/${open.body.id}`, { assigneeId: before }), refused);
    t.match(
      await anna.patch(`/api/tasks/${task.id}`, { assigneeId: before, title: 'Left by Ben' }),
      { status: 200, body: { assigneeId: before, title: 'Left by Ben' } },
      'who holds it already is no new assignee',
    );
    t.match((await service.as('dora', 'Admin', north).get(`/api/members/${before}`)).body, {
      displayName: 'Former member',
      email: null,
      externalUserId: null,
    });
    t.same(
      await service.db.queryAsAdmin(
        'select token_issued_at, erased_at is null as stays from app.members where id = $1',
        [before],
      ),
      [{ token_issued_at: null, stays: false }],
    );
    t.not(await ben.memberId(), before);
    const posing = service.as(`erased:${before}`, 'Member', north);
    t.not(await posing.memberId(), before, 'no subject of a token is that of an erased member');
  },
);

/** The columns whose comment has such a text. */
async function columnsSaying(pattern: string): Promise<string[]> {
  const found = await service.db.queryAsAdmin<{ column: string }>(
    `select attrelid::regclass || '.' || attname as column from pg_attribute
     where col_description(attrelid, attnum) ~* $1 and not attisdropped`,
    [pattern],
  );
  return found.map(({ column }) => column);
}

/** The part of the copy of a member's data that has the rows of each column that refers to a member. */
const copiedFrom: Record<string, string> = {
  'app.attendance.member_id': 'attendance',
  'app.calendar_links.member_id': 'calendarLink',
  'app.idempotency_keys.member_id': 'storedResponses',
  'app.shift_signups.member_id': 'signups',
  'app.shift_waits.member_id': 'waits',
  'app.shifts.created_by_id': 'shiftsCreated',
  'app.tasks.assignee_id': 'tasksAssigned',
  'app.tasks.created_by_id': 'tasksCreated',
};

t.test(
  'a copy has the data of a member and an erasure leaves none, but for columns whose comment says why',
  async (t) => {
    const club = await service.db.makeClub('erased');
    const eva = service.as('sub of Eva Example', 'Admin', club, {
      name: 'Eva Example',
      email: 'eva@example.org',
    });
    const id = await eva.memberId();
    await eva.post('/api/tasks', { title: 'Row', assigneeId: id }, { 'idempotency-key': 'kept' });
    const { body: task } = await eva.post('/api/tasks', { title: 'Thank Eva Example' });
    await eva.delete(`/api/tasks/${task.id}`);
    const [free, full] = await Promise.all(
      [1, 2].map(async () => (await eva.post('/api/shifts', SHIFT)).body.id),
    );
    await eva.post(`/api/shifts/${free}/signup`);
    await service.as('ida', 'Admin', club).post(`/api/shifts/${full}/signup`);
    await eva.post(`/api/shifts/${full}/wait`);
    await fillEmptyTables(service.db, club);
    const tables = (await relationsOf(service.db)).filter(({ kind }) => kind === 'table');
    /** The columns with one of these texts in a row of the club. */
    const columnsWith = async (...texts: string[]) => {
      const lists = await Promise.all(
        tables.map(({ name }) =>
          service.db.queryAsAdmin<{ column: string }>(
            `select distinct '${name}.' || field.key as column from ${name} as t, jsonb_each_text(to_jsonb(t)) as field
           where to_jsonb(t)::text like '%' || $1 || '%' and field.value ilike any ($2)`,
            [club, texts.map((text) => `%${text}%`)],
          ),
        ),
      );
      return lists.flat().map(({ column }) => column);
    };
    const references = tables.flatMap(({ name, references }) =>
      references
        .filter(({ target }) => target === 'app.members')
        .map(({ columns }) => `${name}.${columns.at(-1)}`),
    );
    const before = await columnsWith(id);
    t.same(
      references.filter((column) => !before.includes(column)),
      [],
      'she has a row in every table of members',
    );

    const { body: copy } = await eva.get('/api/members/me/data');
    const uncopied = await columnsSaying('not in (a|the) copy');
    const rows = references
      .filter((column) => !uncopied.includes(column))
      .map(async (column) => {
        const [, table, name] = /^(.+)[.](.+)$/.exec(column) ?? [];
        const found = await service.db.queryAsAdmin(`select from ${table} where ${name} = $1`, [id]);
        return [column, found.length];
      });
    t.same(
      Object.fromEntries(
        Object.entries(copiedFrom).map(([column, part]) => [column, [copy[part] ?? []].flat().length]),
      ),
      Object.fromEntries(await Promise.all(rows)),
      'copy the rows in src/copies, or say in the comment of the column why they are not in the copy',
    );

    await operator.query('select app.erase_member($1, $2)', [club, id]);
    t.same(await columnsWith('Eva Example', 'eva@example.org'), []);
    const staying = await columnsSaying('stays? when .* erased');
    t.same(
      (await columnsWith(id)).filter(
        (column) => !/^app\.members\./.test(column) && !staying.includes(column),
      ),
      [],
      'delete or clear them in app.erase_member, or say in the comment of the column why they stay when the member is erased',
    );
  },
);

t.test(
  'an operator gets an error for an unknown club or member, even for another club’s member',
  async (t) => {
    const missing = '99999999-9999-4999-8999-999999999999';
    const annaId = await anna.memberId();
    await t.rejects(operator.query('select app.close_club($1)', [missing]), { code: 'CL002' });
    await t.rejects(operator.query('select app.erase_member($1, $2)', [missing, annaId]), { code: 'CL002' });
    await t.rejects(operator.query('select app.erase_member($1, $2)', [south, annaId]), { code: 'ME001' });
    t.equal(await anna.memberId(), annaId);
  },
);

t.test('closing a club again keeps the first time, and the operator’s context is unchanged', async (t) => {
  const club = await service.db.makeClub('twice');
  const closedAt = async () =>
    (await service.db.queryAsAdmin('select closed_at from app.clubs where id = $1', [club]))[0]?.closed_at;
  await operator.query('select app.close_club($1)', [club]);
  const first = await closedAt();
  await operator.query('select app.close_club($1)', [club]);
  t.same(await closedAt(), first);

  const context = `select string_agg(coalesce(current_setting(setting, true), ''), ' ') as context
    from unnest(array['app.tenant_id', 'app.member_id', 'app.role', 'app.closed_club_id']) as setting`;
  const calls = [
    `app.provision_club('Other', 'other')`,
    `app.rename_club('${club}', 'Twice', 'twice')`,
    `app.erase_member('${south}', '${await service.as('eva', 'Member', south).memberId()}')`,
    `app.reopen_club('${club}')`,
    `app.close_club('${club}')`,
    `app.forget_club('${club}')`,
  ];
  for (const found of ['north member Viewer none', '   ']) {
    await operator.query('begin');
    const [tenant, member, role, closed] = found.split(' ');
    await operator.query(
      `select set_config('app.tenant_id', $1, true), set_config('app.member_id', $2, true),
         set_config('app.role', $3, true), set_config('app.closed_club_id', $4, true)`,
      [tenant, member, role, closed],
    );
    for (const call of calls) {
      await operator.query(`select ${call}`);
      t.equal((await operator.query(context)).rows[0].context, found, call);
    }
    await operator.query('rollback');
  }
});

t.test('a closed club can be removed with all its rows, an open one cannot', async (t) => {
  const tables = (await relationsOf(service.db)).filter(
    ({ kind, belongsToClubs }) => kind === 'table' && belongsToClubs,
  );
  const rows = async (club: string) => {
    const counts: Record<string, number> = {};
    for (const { name, clubColumn } of tables) {
      const [row] = await service.db.queryAsAdmin(
        `select count(*)::int from ${name} where ${clubColumn} = $1`,
        [club],
      );
      counts[name] = row?.count;
    }
    return counts;
  };
  const [gone, kept] = [await service.db.makeClub('gone'), await service.db.makeClub('kept')];
  for (const club of [gone, kept]) {
    await fillEmptyTables(service.db, club);
  }
  const before = await rows(kept);
  t.ok(
    Object.values(before).every((count) => count > 0),
    JSON.stringify(before),
  );
  await t.rejects(operator.query('select app.forget_club($1)', [gone]), { code: 'CL003' });
  t.same(await rows(gone), before);
  await operator.query('select app.close_club($1)', [gone]);
  await operator.query('select app.forget_club($1)', [gone]);
  t.same(new Set(Object.values(await rows(gone))), new Set([0]));
  t.same(await rows(kept), before);
  await t.rejects(operator.query('select app.forget_club($1)', [gone]), { code: 'CL002' });
});

t.test('a response that is stored during the erasure of a member is deleted too', async (t) => {
  const finn = { clubId: south, subject: 'finn', role: 'Manager' } as const;
  const runtime = await connectAsRuntime(t, service.db);
  const memberId = await runtime.join(finn);
  const eraser = await connectAsOperator(t, service.db);
  let erasing: Promise<unknown> | undefined;
  await runtime.inside(finn, async () => {
    await runtime.client.query(`select app.claim_key('kept', sha256(''))`);
    erasing = eraser.query('select app.erase_member($1, $2)', [south, memberId]);
    t.equal(await untilWaitingForLocks(service.db, 1, erasing), 1);
    await runtime.client.query(
      `select app.keep_answer('kept', 201::smallint, '/', null, '{"name": "Finn"}')`,
    );
  });
  await erasing;
  t.same(
    await service.db.queryAsAdmin('select key from app.idempotency_keys where tenant_id = $1', [south]),
    [],
  );
});

t.test('a calendar link that is created during the erasure of its member is not kept', async (t) => {
  const gerd = service.as('gerd', 'Member', south);
  const memberId = await gerd.memberId();
  await operator.query('begin');
  await operator.query('select app.erase_member($1, $2)', [south, memberId]);
  const creation = gerd.put(LINK);
  t.equal(await untilWaitingForLocks(service.db, 1, creation), 1);
  await operator.query('commit');
  t.equal((await creation).status, 503);
  t.same(
    await service.db.queryAsAdmin('select id from app.calendar_links where member_id = $1', [memberId]),
    [],
  );
  t.equal((await gerd.put(LINK)).status, 201, 'the same user returns as a new member');
});

t.test('a member who waits for a place during their erasure waits as a new member', async (t) => {
  const club = await service.db.makeClub('sculling');
  const mara = service.as('mara', 'Manager', club);
  const hugo = service.as('hugo', 'Member', club);
  const memberId = await hugo.memberId();
  const { body: full } = await mara.post('/api/shifts', { ...SHIFT, capacity: 1 });
  await mara.post(`/api/shifts/${full.id}/signup`);
  await operator.query('begin');
  await operator.query('select app.erase_member($1, $2)', [club, memberId]);
  const waiting = hugo.post(`/api/shifts/${full.id}/wait`);
  t.equal(await untilWaitingForLocks(service.db, 1, waiting), 1);
  await operator.query('commit');
  t.equal((await waiting).status, 201);
  t.not((await waiting).body.memberId, memberId);
  t.match((await mara.get(`/api/shifts/${full.id}/waits`)).body, [{ memberId: await hugo.memberId() }]);
});

t.test('a member who signs up during their erasure signs up as a new member', async (t) => {
  const club = await service.db.makeClub('steering');
  const mara = service.as('mara', 'Manager', club);
  const hugo = service.as('hugo', 'Member', club);
  const memberId = await hugo.memberId();
  const { body: shift } = await mara.post('/api/shifts', SHIFT);
  await operator.query('begin');
  await operator.query('select app.erase_member($1, $2)', [club, memberId]);
  const signingUp = hugo.post(`/api/shifts/${shift.id}/signup`);
  t.equal(await untilWaitingForLocks(service.db, 1, signingUp), 1);
  await operator.query('commit');
  t.equal((await signingUp).status, 201);
  t.not((await signingUp).body.memberId, memberId);
  t.match((await mara.get(`/api/shifts/${shift.id}`)).body, {
    signups: [{ memberId: await hugo.memberId() }],
  });
});

t.test('a Manager who records attendance of a member during their erasure is refused after it', async (t) => {
  const club = await service.db.makeClub('punting');
  const mara = service.as('mara', 'Manager', club);
  const { body: shift } = await mara.post('/api/shifts', {
    ...SHIFT,
    startsAt: '2020-01-01T10:00:00Z',
    endsAt: '2020-01-01T12:00:00Z',
  });
  const memberId = await service.as('erased meanwhile', 'Member', club).memberId();
  await operator.query('begin');
  await operator.query('select app.erase_member($1, $2)', [club, memberId]);
  const recording = mara.put(`/api/shifts/${shift.id}/attendance/${memberId}`, { status: 'Attended' });
  t.equal(await untilWaitingForLocks(service.db, 1, recording), 1);
  await operator.query('commit');
  t.match(await recording, { status: 404, body: { code: 'member_not_found' } });
  t.same((await mara.get('/api/attendance')).body, []);
});

t.test(
  'a Manager who signs up a member, or lets them wait, during their erasure is refused after it',
  async (t) => {
    const club = await service.db.makeClub('racing');
    const mara = service.as('mara', 'Manager', club);
    const { body: free } = await mara.post('/api/shifts', SHIFT);
    const { body: full } = await mara.post('/api/shifts', SHIFT);
    await mara.post(`/api/shifts/${full.id}/signup`);
    for (const memberId of [
      await service.as('erased meanwhile', 'Member', club).memberId(),
      (await mara.post('/api/members', { displayName: 'Without a login' })).body.id,
    ]) {
      await operator.query('begin');
      await operator.query('select app.erase_member($1, $2)', [club, memberId]);
      const requests = [
        mara.put(`/api/shifts/${free.id}/signups/${memberId}`),
        mara.put(`/api/shifts/${full.id}/waits/${memberId}`),
      ];
      t.equal(await untilWaitingForLocks(service.db, 2, ...requests), 2);
      await operator.query('commit');
      for (const response of await Promise.all(requests)) {
        t.match(response, { status: 404, body: { code: 'member_not_found' } });
      }
    }
  },
);

t.test('closing, reopening and renaming a club wait for no write; removal and erasure do', async (t) => {
  const club = await service.db.makeClub('busy');
  const gina = { clubId: club, subject: 'gina', role: 'Manager' } as const;
  const runtime = await connectAsRuntime(t, service.db);
  await runtime.join(gina);
  const memberId = await runtime.join({ clubId: club, subject: 'hans', role: 'Member' });
  const call = async (statement: string) => {
    await operator.query(`set lock_timeout = '300ms'`);
    try {
      await operator.query(`select ${statement}`);
      return 'ok';
    } catch (error) {
      return (error as pg.DatabaseError).code;
    } finally {
      await operator.query('reset lock_timeout');
    }
  };
  await runtime.inside(gina, async () => {
    await runtime.client.query(`insert into app.tasks (title) values ('Row')`);
    t.equal(await call(`app.rename_club('${club}', 'Busy', 'busy')`), 'ok');
    t.equal(await call(`app.rename_club('${club}', 'Busy', 'busier')`), '55P03', 'a slug is a key');
    t.equal(await call(`app.erase_member('${club}', '${memberId}')`), '55P03');
    t.equal(await call(`app.close_club('${club}')`), 'ok');
    t.equal(await call(`app.forget_club('${club}')`), '55P03');
    t.equal(await call(`app.reopen_club('${club}')`), 'ok');
  });

  await operator.query('begin');
  await operator.query(`select app.close_club('${club}')`);
  t.match(await runtime.run(gina, `insert into app.tasks (title) values ('Row')`), { code: 'ok' });
  await operator.query('rollback; begin');
  await operator.query(`select app.erase_member('${club}', '${memberId}')`);
  await runtime.client.query(`set lock_timeout = '300ms'`);
  for (const write of [
    `insert into app.tasks (title) values ('Row')`,
    `update app.tasks set title = 'Sail'`,
  ]) {
    t.match(await runtime.run(gina, write), { code: '55P03' }, write);
  }
  await operator.query('rollback');

  let removing: Promise<unknown> | undefined;
  await runtime.inside(gina, async () => {
    await runtime.client.query(`insert into app.tasks (title) values ('Row')`);
    await operator.query(`select app.close_club('${club}')`);
    removing = operator.query(`select app.forget_club('${club}')`);
    t.equal(await untilWaitingForLocks(service.db, 1, removing), 1);
  });
  await removing;
  t.same(await service.db.queryAsAdmin('select from app.tasks where tenant_id = $1', [club]), []);
});

t.test('a request that meets the removal of its club gets the response of a missing club', async (t) => {
  const club = await service.db.makeClub('leaving');
  const ida = service.as('ida', 'Manager', club);
  t.equal((await ida.get('/api/clubs/current')).status, 200);
  await operator.query('begin; lock table app.tasks in share mode');
  const create = ida.post('/api/tasks', { title: 'Row' });
  t.equal(await untilWaitingForLocks(service.db, 1, create), 1, 'it has entered the club');
  await operator.query(`select app.close_club('${club}')`);
  await operator.query(`select app.forget_club('${club}')`);
  await operator.query('commit');
  t.match(await create, { status: 403, body: { code: 'tenant_forbidden' } });
});

t.test('the service cannot call the operators’ functions', async (t) => {
  const runtime = new pg.Client(service.db.url);
  await runtime.connect();
  t.teardown(() => runtime.end());
  for (const call of [
    'app.list_clubs()',
    `app.provision_club('x', 'x')`,
    `app.rename_club('${south}', 'x', 'x')`,
    `app.close_club('${south}')`,
    `app.reopen_club('${south}')`,
    `app.forget_club('${south}')`,
    `app.erase_member('${south}', '${south}')`,
  ]) {
    await t.rejects(runtime.query(`select ${call}`), { code: '42501' }, call);
  }
});
