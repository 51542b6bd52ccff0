import pg from 'pg';
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { makeDatabase } from '../setup/database.js';
import { eventsOf, lastSequence } from '../setup/events.js';
import { type Caller, connectAsRuntime } from '../setup/runtime.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const db = await makeDatabase(t);
const clubId = await db.makeClub('north');
const otherClubId = await db.makeClub('south');
const manager: Caller = { clubId, subject: 'mara', role: 'Manager' };

const [first, second, third] = [
  await connectAsRuntime(t, db),
  await connectAsRuntime(t, db),
  await connectAsRuntime(t, db),
];
await first.join(manager);

const insert = (title: string) => `insert into app.tasks (title) values ('${title}')`;

/** The numbers of the club's events are 1, 2, 3 … */
async function assertNoGap(club = clubId) {
  const numbers = (await eventsOf(db, club)).map(({ sequence }) => sequence);
  t.same(
    numbers,
    numbers.map((_, index) => index + 1),
  );
}

/** The titles of the tasks that were created, in the order of their events, after a number. */
async function created(after: number): Promise<string[]> {
  const rows = await db.queryAsAdmin<{ title: string }>(
    `select task.title from app.events as event join app.tasks as task on task.id = event.subject_id
     where event.tenant_id = $1 and event.sequence > $2 and event.type = 'task.created' order by event.sequence`,
    [clubId, after],
  );
  return rows.map(({ title }) => title);
}

/** Runs statements as an administrator in a session of its own; returns the SQLSTATE of the error, or `ok`. */
async function asAdministrator(statements: string[]): Promise<string> {
  const client = new pg.Client(db.adminUrl);
  await client.connect();
  try {
    for (const statement of statements) {
      await client.query(statement);
    }
    return 'ok';
  } catch (error) {
    return String((error as pg.DatabaseError).code);
  } finally {
    await client.end();
  }
}

t.test('a later commit waits for the number of an earlier one, and only in the same club', async (t) => {
  const other: Caller = { ...manager, clubId: otherClubId };
  await second.join(other);
  const after = await lastSequence(db, clubId);
  await first.begin(manager);
  await first.client.query(insert('earlier'));
  // The commit that has its number and is not visible yet.
  await first.client.query('set constraints all immediate');
  await second.begin(manager);
  await second.client.query(insert('later'));
  const committing = second.client.query('commit');
  t.equal(await untilWaitingForLocks(db, 1, committing), 1);
  t.equal(
    (await third.run({ ...other, subject: 'third' }, `select app.sync_member('x', null, null)`)).code,
    'ok',
  );
  await first.client.query('commit');
  await committing;
  t.same(await created(after), ['earlier', 'later']);
  await assertNoGap();
});

t.test('savepoints, immediate constraints and failing commits leave the order and no gap', async (t) => {
  const after = await lastSequence(db, clubId);
  await first.inside(manager, async () => {
    for (const statement of [
      insert('a'),
      'savepoint one',
      insert('lost'),
      'rollback to one',
      insert('b'),
      'set constraints all immediate',
      insert('c'),
      'savepoint two',
      insert('lost'),
      'rollback to two',
      'set constraints all deferred',
      insert('d'),
      'savepoint three',
      insert('e'),
      'release three',
    ]) {
      await first.client.query(statement);
    }
  });
  t.same(await created(after), ['a', 'b', 'c', 'd', 'e']);
  await assertNoGap();

  // Another deferred trigger: it records, or fails.
  await db.queryAsAdmin(`
    create function public.follow() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      if new.title = 'fail' then
        raise exception 'refused at commit' using errcode = 'XX001';
      end if;
      if new.title = 'follow' then
        insert into app.tasks (tenant_id, id, title, created_by_id) values (new.tenant_id, app.new_id(), 'followed', null);
      end if;
      return null;
    end $$;
    create constraint trigger "A follower" after insert on app.tasks deferrable initially deferred
      for each row execute function public.follow();
    create constraint trigger "Z follower" after insert on app.tasks deferrable initially deferred
      for each row execute function public.follow()`);
  const next = await lastSequence(db, clubId);
  await first.inside(manager, async () => {
    await first.client.query(insert('follow'));
    await first.client.query(insert('last'));
  });
  t.same(await created(next), ['follow', 'last', 'followed', 'followed']);
  t.equal((await first.run(manager, insert('fail'))).code, 'XX001');
  t.equal((await first.run(manager, insert('after'))).code, 'ok');
  await assertNoGap();
  await db.queryAsAdmin('drop trigger "A follower" on app.tasks; drop trigger "Z follower" on app.tasks');
});

t.test(
  'a transaction of an operator numbers the events of each club, and locks the clubs in one order',
  async (t) => {
    const clubs = [clubId, otherClubId];
    const insertAs = (club: string) =>
      `insert into app.tasks (tenant_id, id, title, created_by_id) values ('${club}', app.new_id(), 'x', null)`;
    const both = (order: string[]) => [
      'begin',
      ...order.flatMap((club) => [insertAs(club), insertAs(club)]),
      'commit',
    ];
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        asAdministrator(both(index % 2 === 0 ? clubs : clubs.toReversed())),
      ),
    );
    t.same(new Set(codes), new Set(['ok']));

    // Where it changed the last one first too, it waits for that one and holds the first.
    const ordered = await db.queryAsAdmin<{ id: string }>(
      'select id from unnest($1::uuid[]) as id order by uuid_hash_extended(id, 1)',
      [clubs],
    );
    const [low = '', high = ''] = ordered.map(({ id }) => id);
    const committed = await withClient(db.adminUrl, async (holder) => {
      await holder.query('begin');
      await holder.query('select pg_advisory_xact_lock(uuid_hash_extended($1, 1))', [high]);
      const committing = asAdministrator(both([high, low]));
      await untilWaitingForLocks(db, 1, committing);
      const { rows } = await holder.query(
        'select pg_try_advisory_xact_lock(uuid_hash_extended($1, 1)) as free',
        [low],
      );
      t.same(rows, [{ free: false }]);
      await holder.query('rollback');
      return committing;
    });
    t.equal(committed, 'ok');
    for (const club of clubs) {
      await assertNoGap(club);
    }
    // The context of the session is as before.
    const client = new pg.Client(db.adminUrl);
    await client.connect();
    await client.query('begin');
    await client.query(`select set_config('app.tenant_id', 'kept', true)`);
    await client.query(`select set_config('app.tenant_id', $1, true)`, [otherClubId]);
    await client.query(insertAs(clubId));
    await client.query('set constraints all immediate');
    t.same((await client.query(`select current_setting('app.tenant_id') as club`)).rows, [
      { club: otherClubId },
    ]);
    await client.query('rollback');
    await client.end();
  },
);

t.test(
  'under REPEATABLE READ a commit after a concurrent one fails with 40001, and its retry succeeds',
  async (t) => {
    const attempt = async (meanwhile: () => Promise<unknown>) => {
      await first.client.query('begin isolation level repeatable read');
      await first.client.query('select app.enter($1, $2, $3, null, null, null)', [clubId, 'mara', 'Manager']);
      await first.client.query(insert('repeatable'));
      await meanwhile();
      return first.client.query('commit').then(
        () => 'ok',
        (error) => error.code,
      );
    };
    const before = await lastSequence(db, clubId);
    t.equal(await attempt(() => second.run(manager, insert('meanwhile'))), '40001');
    t.equal(await attempt(async () => {}), 'ok');
    t.same(await created(before), ['meanwhile', 'repeatable']);
    await assertNoGap();
  },
);

t.test(
  'events of one transaction have the order of its changes, also when the clock runs backwards',
  async (t) => {
    const titles = Array.from({ length: 50 }, (_, index) => `batch ${index}`);
    const before = await lastSequence(db, clubId);
    await first.inside(manager, async () => {
      await first.client.query('insert into app.tasks (title) select unnest($1::text[])', [
        titles.slice(0, 49),
      ]);
      await first.client.query(insert(titles[49] as string));
    });
    t.same(await created(before), titles);
    await db.queryAsAdmin('begin');
    const values = (at: string) =>
      `insert into app.events (tenant_id, type, at, subject_id, changes, fields) values ('${clubId}', 'x', ${at}, app.new_id(), '{}', '{}')`;
    await db.queryAsAdmin(values(`now() + '1 hour'`));
    await db.queryAsAdmin(values('now()'));
    await db.queryAsAdmin('commit');
    const [late, early] = await db.queryAsAdmin<{ is_late: boolean }>(
      `select at > now() + '1 minute' as is_late from app.events where type = 'x' order by sequence`,
    );
    t.same([late?.is_late, early?.is_late], [true, false]);
  },
);

// The plans of a session are made at its first change, and the service keeps its sessions.
t.test(
  'numbering reads the events of its transaction only, also by plans from when there were none',
  async (t) => {
    const fresh = await makeDatabase(t);
    const caller = { ...manager, clubId: await fresh.makeClub('north') };
    await fresh.queryAsAdmin('vacuum analyze app.events');
    const session = await connectAsRuntime(t, fresh);
    await session.join(caller);
    await session.run(caller, insert('first'));
    await fresh.queryAsAdmin(
      `set session_replication_role = replica;
     insert into app.events (tenant_id, id, sequence, type, subject_id, changes, fields)
     select '${caller.clubId}', gen_random_uuid(), n + 10, 'task.changed', gen_random_uuid(), '{}', '{}' from generate_series(1, 5000) n`,
    );
    await session.begin(caller);
    const read = async () => {
      const { rows } = await session.client.query(
        `select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::integer as rows from pg_stat_xact_user_tables where relname = 'events'`,
      );
      return rows[0].rows;
    };
    await session.client.query(insert('second'));
    const before = await read();
    await session.client.query('set constraints all immediate');
    t.ok((await read()) - before < 10, `${await read()} rows`);
    await session.client.query('commit');
  },
);

t.test(
  'the deletion of 10,000 signups with their shift, and writes of 366 shifts, cost as much for each row as for one',
  async (t) => {
    const club = await db.makeClub('large');
    const ada: Caller = { clubId: club, subject: 'ada', role: 'Admin' };
    await first.join(ada);
    const { rows } = await first.run(
      ada,
      `insert into app.shifts (title, starts_at, ends_at, capacity) values ('Large', now() + '1 day', now() + '2 days', 10000) returning id`,
    );
    // Without triggers: the rows are there, as if they had been written one by one.
    await db.queryAsAdmin('begin');
    await db.queryAsAdmin('set local session_replication_role = replica');
    await db.queryAsAdmin(
      `insert into app.members (tenant_id, id, external_user_id, display_name, role)
     select $1, app.new_id(), n, n, 'Member' from generate_series(1, 10000) as n`,
      [club],
    );
    await db.queryAsAdmin(
      `insert into app.shift_signups (tenant_id, id, shift_id, member_id, created_by_id)
     select $1, app.new_id(), $2, id, null from app.members where tenant_id = $1 and external_user_id <> 'ada'`,
      [club, rows[0].id],
    );
    await db.queryAsAdmin('update app.shifts set signup_count = 10000 where id = $1', [rows[0].id]);
    await db.queryAsAdmin('commit');
    const before = await lastSequence(db, club);
    /** Each with the number of rows that it writes. */
    const writes = {
      'delete from app.shifts': 10_001,
      [`insert into app.shifts (title, starts_at, ends_at, capacity)
     select 'Day', now() + n * interval '1 day', now() + n * interval '25 hours', 5 from generate_series(1, 366) as n`]: 366,
      'update app.shifts set capacity = 6': 366,
    };
    /** What the session has done to events, as far as it is not in the statistics of the database. */
    const done = async () => {
      const { rows } = await first.client.query(
        `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as read,
           sum(n_tup_upd)::int as numbered
         from pg_stat_xact_user_tables where relname = 'events'`,
      );
      return rows[0] as { read: number; numbered: number };
    };
    for (const [write, rowsWritten] of Object.entries(writes)) {
      await first.inside(ada, async () => {
        const start = await done();
        await first.client.query(write);
        await first.client.query('set constraints all immediate');
        const { read, numbered } = await done();
        t.equal(numbered - start.numbered, rowsWritten, write);
        t.ok(read - start.read <= 10 * rowsWritten, `${read - start.read} events are read: ${write}`);
      });
    }
    const events = await eventsOf(db, club, before);
    t.equal(events.length, 10_001 + 366 + 366);
    t.equal(events[0]?.type, 'shift.deleted');
    t.ok(events.slice(1, 10_001).every(({ type }) => type === 'signup.deleted'));
    await assertNoGap(club);
  },
);
