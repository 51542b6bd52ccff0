import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import t from 'tap';
import { exportClub } from '../../src/club-files/export.js';
import { importClub } from '../../src/club-files/import.js';
import { Progress } from '../../src/club-files/progress.js';
import type { Login } from '../../src/club-files/session.js';
import { relationsOf } from '../setup/catalog.js';
import { type SeededClub, seedClub } from '../setup/catalog-rows.js';
import { makeDatabase, type TestDatabase } from '../setup/database.js';
import { emptyFolder } from '../setup/pages.js';
import { connectAsOperator } from '../setup/runtime.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';

const loginOf = ({ migrationUrl }: TestDatabase): Login => ({
  url: migrationUrl,
  variable: 'MIGRATION_DATABASE_URL',
});
const directory = await emptyFolder(t);
const [source, target] = await Promise.all([makeDatabase(t), makeDatabase(t)]);
const relations = await relationsOf(source);
const tables = relations.filter(({ kind, isPartition, belongsToClubs }) => {
  return kind === 'table' && !isPartition && belongsToClubs;
});
const [north, south] = [await seedClub(source, relations, {}), await seedClub(source, relations, {})];
const FILE = join(directory, 'north.club');
const header = await exportClub(loginOf(source), north.clubId, { file: FILE });
const LINES = gunzipSync(await readFile(FILE))
  .toString()
  .trimEnd()
  .split('\n');

/** The rows of a club in each table, without the time at which it was closed. */
async function rowsOf(db: TestDatabase, { clubId }: Pick<SeededClub, 'clubId'>) {
  const rows: Record<string, unknown[]> = {};
  for (const { name, clubColumn } of tables) {
    rows[name] = await db.queryAsAdmin(
      `select to_jsonb(t) - 'closed_at' as row from ${name} as t where ${clubColumn} = $1 order by 1`,
      [clubId],
    );
  }
  return rows;
}

/** A session of the login of the deploy, in a transaction as a role in the context of a club. */
async function sessionAs(role: string, clubId: string) {
  const client = new pg.Client(source.migrationUrl);
  await client.connect();
  t.teardown(() => client.end());
  await client.query(`set role ${role}`);
  await client.query(`select set_config('app.tenant_id', $1, false)`, [clubId]);
  return client;
}

t.test('a file has all rows of a club and none of another, and only its owner may read it', async (t) => {
  t.same(
    header.tables.map(({ table }) => table).sort(),
    tables.map(({ name }) => name).sort(),
    'every table of the catalog',
  );
  t.ok(
    header.tables.every(({ rows }) => rows > 0),
    'the club has rows in each',
  );
  t.equal(LINES.length, 1 + header.tables.reduce((sum, { rows }) => sum + rows, 0));
  t.match(LINES.join('\n'), north.canary);
  t.notMatch(LINES.join('\n'), new RegExp([south.canary, ...south.ids].join('|')));
  t.equal((await stat(FILE)).mode & 0o777, 0o600);
});

t.test('an imported club has the same rows as the exported one, and is closed', async (t) => {
  t.same(await importClub(loginOf(target), FILE), header);
  t.same(await rowsOf(target, north), await rowsOf(source, north));
  t.match(await target.queryAsAdmin('select id, closed_at from app.clubs'), [
    { id: north.clubId, closed_at: Date },
  ]);
});

t.test('the roles of club files reach one club, and write it by INSERT only', async (t) => {
  for (const role of ['club_export', 'club_import']) {
    const client = await sessionAs(role, south.clubId);
    for (const { name, clubColumn } of tables) {
      const { rows } = await client.query(`select ${clubColumn} as club from ${name}`);
      t.ok(rows.length > 0 && rows.every(({ club }) => club === south.clubId), `${role}: ${name}`);
      for (const statement of [`update ${name} set ${clubColumn} = null`, `delete from ${name}`]) {
        await t.rejects(client.query(statement), { code: '42501' }, statement);
      }
      if (role === 'club_export') {
        await t.rejects(client.query(`insert into ${name} default values`), { code: '42501' });
      }
    }
    await client.query('reset app.tenant_id');
    await t.rejects(client.query('select from app.tasks'), { code: 'TN001' }, `${role} without a club`);
  }
  const client = await sessionAs('club_import', south.clubId);
  await t.rejects(
    client.query(
      `insert into app.clubs (id, name, slug, time_zone) values (gen_random_uuid(), 'x', 'x', 'UTC')`,
    ),
    { code: '42501', message: /row-level security/ },
  );
  await t.rejects(client.query('insert into app.tasks (tenant_id) values (gen_random_uuid())'), {
    code: '42501',
    message: /permission denied/,
  });
});

const line = (table: string) => LINES.findIndex((text) => text.startsWith(`{"table": "${table}"`));
const replaced = (place: number, change: (text: string) => string) =>
  LINES.map((text, index) => (index === place ? change(text) : text));
/** Files that an import refuses, made from the lines of the exported one, and why. */
const REFUSED: Record<string, { lines: string[]; reason: RegExp }> = {
  'is not a club file': { lines: ['{"format": "another"}'], reason: /is not a file of a club/ },
  'is of another release': {
    lines: replaced(0, (text) => text.replace(header.release, 'f'.repeat(64))),
    reason: /from another release \(ffffffffffff\) than the database/,
  },
  'has other tables': {
    lines: replaced(0, (text) => text.replace('"app.tasks"', '"app.ferries"')),
    reason: /the file has app\.ferries .*; the database has app\.tasks/,
  },
  'has other columns': {
    lines: replaced(0, (text) => text.replace('"due_at"', '"ends_at"')),
    reason: /the file has app\.tasks/,
  },
  'lacks its last row': { lines: LINES.slice(0, -1), reason: /the end is missing/ },
  'lacks a row': {
    lines: LINES.filter((_, index) => index !== line('app.tasks')),
    reason: /a row of another club or table is among those of app\.tasks/,
  },
  'has a row more': { lines: [...LINES, LINES.at(-1) ?? ''], reason: /more rows than in the header/ },
  'has a row of another club': {
    lines: replaced(line('app.tasks'), (text) => text.replace(north.clubId, south.clubId)),
    reason: /a row of another club or table is among those of app\.tasks/,
  },
  'has another club': {
    lines: replaced(line('app.clubs'), (text) => text.replace(north.clubId, south.clubId)),
    reason: /a row of another club or table is among those of app\.clubs/,
  },
  'has a changed row': {
    lines: replaced(line('app.tasks'), (text) => text.replace(north.canary, 'another')),
    reason: /the rows of app\.tasks are not those that were exported/,
  },
  'has a row that refers to none': {
    lines: replaced(line('app.shift_signups'), (text) =>
      text.replace(/"member_id": "[^"]+"/, `"member_id": "${south.clubId}"`),
    ),
    reason: /a row of app\.shift_signups is refused: .*foreign key/,
  },
  'has a line that is not JSON': {
    lines: replaced(line('app.tasks'), (text) => text.slice(0, -1)),
    reason: /a row of app\.tasks is refused: .*json/,
  },
};

t.test(
  'a file that differs from what was exported is refused, with the reason, and nothing is kept',
  async (t) => {
    const empty = await makeDatabase(t);
    for (const [what, { lines, reason }] of Object.entries(REFUSED)) {
      const file = join(directory, `${what}.club`);
      await writeFile(file, gzipSync(`${lines.join('\n')}\n`));
      await t.rejects(importClub(loginOf(empty), file), { message: reason }, what);
    }
    const whole = await readFile(FILE);
    for (const [what, bytes, reason] of [
      ['cut', whole.subarray(0, whole.length - 100), /the file is cut/],
      [
        'changed',
        Buffer.concat([whole.subarray(0, 200), Buffer.of(0, 0, 0, 0), whole.subarray(204)]),
        /cannot be imported|not a file/,
      ],
      ['not compressed', gunzipSync(whole), /not compressed with gzip/],
    ] as const) {
      const file = join(directory, `${what}.club`);
      await writeFile(file, bytes);
      await t.rejects(importClub(loginOf(empty), file), { message: reason }, what);
    }
    await t.rejects(importClub(loginOf(empty), join(directory, 'none')), {
      message: /cannot be read: ENOENT/,
    });
    for (const { name } of tables) {
      t.same(await empty.queryAsAdmin(`select from ${name}`), [], name);
    }
    await importClub(loginOf(empty), FILE);
  },
);

t.test('a club is not imported where its id or its slug is taken', async (t) => {
  await t.rejects(importClub(loginOf(source), FILE), {
    message: /The database has the club .* already\. .*--replace/,
  });
  const taken = await makeDatabase(t);
  const other = await taken.makeClub(header.club.slug);
  await t.rejects(importClub(loginOf(taken), FILE), {
    message: `Another club (${other}) has the slug ${header.club.slug}. Change it with app.rename_club.`,
  });
  t.same(await taken.queryAsAdmin('select id from app.clubs'), [{ id: other }]);
});

t.test(
  'an export refuses an unknown club, a file that exists, and a table that it would leave out',
  async (t) => {
    const db = await makeDatabase(t);
    await db.makeClub('north');
    const attempt = (file: string, club = 'north', progress = new Progress(new PassThrough())) =>
      exportClub(loginOf(db), club, { file: join(directory, file), progress });
    await t.rejects(attempt('new', 'south'), { message: /There is no club with the id or slug south/ });
    await t.rejects(stat(join(directory, 'new')), { code: 'ENOENT' }, 'and leaves no file');
    await t.rejects(attempt('north.club'), { message: /cannot be written: EEXIST/ });
    t.ok((await stat(FILE)).size > 0, 'and leaves that file');
    const stopped = new (class extends Progress {
      override advance() {
        throw new Error('stopped');
      }
    })(new PassThrough());
    await t.rejects(attempt('new', 'north', stopped), { message: 'stopped' });
    await t.rejects(stat(join(directory, 'new')), { code: 'ENOENT' }, 'no part of a file is left');
    await db.queryAsAdmin(
      'create table app.ferries (id uuid primary key); alter table app.ferries owner to club_owner',
    );
    await t.rejects(attempt('new'), { message: /The table app\.ferries has no column tenant_id/ });
    await db.queryAsAdmin('alter table app.ferries add tenant_id uuid');
    await t.rejects(attempt('new'), { message: /No policy lets an export read the table app\.ferries/ });
    await db.queryAsAdmin('drop table app.ferries');
    await attempt('new');
  },
);

t.test(
  'a table with more rows than are read or written at once is exported and imported whole',
  async (t) => {
    const [db, other] = [await makeDatabase(t), await makeDatabase(t)];
    const club = await db.makeClub('large');
    await db.queryAsAdmin(
      `with member as (
       insert into app.members (tenant_id, display_name, role) values ($1, 'Ida', 'Member') returning id
     )
     insert into app.tasks (tenant_id, title, created_by_id)
     select $1, format('Task %s', number), member.id from member, generate_series(1, 2500) as number`,
      [club],
    );
    const file = join(directory, 'large.club');
    const { tables } = await exportClub(loginOf(db), 'large', { file });
    t.match(
      tables.find(({ table }) => table === 'app.tasks'),
      { rows: 2500 },
    );
    await importClub(loginOf(other), file);
    t.same(await rowsOf(other, { clubId: club }), await rowsOf(db, { clubId: club }));

    const lines = gunzipSync(await readFile(file))
      .toString()
      .split('\n');
    const place = lines.findLastIndex((text) => text.startsWith('{"table": "app.tasks"'));
    lines[place] = (lines[place] as string).replace(/"state": "\w+"/, '"state": "None"');
    await writeFile(file, gzipSync(lines.join('\n')));
    const empty = await makeDatabase(t);
    await t.rejects(importClub(loginOf(empty), file), { message: /a row of app\.tasks is refused/ });
    t.same(await empty.queryAsAdmin('select from app.clubs'), []);
  },
);

t.test('rows that refer to later rows of their table are imported', async (t) => {
  const databases = [await makeDatabase(t), await makeDatabase(t)] as const;
  for (const db of databases) {
    await db.queryAsAdmin(`
      create table app.ferries (
        tenant_id uuid not null, id uuid not null, replaces_id uuid, primary key (tenant_id, id),
        foreign key (tenant_id) references app.clubs (id) on delete restrict,
        foreign key (tenant_id, replaces_id) references app.ferries (tenant_id, id) on delete restrict
      );
      alter table app.ferries owner to club_owner;
      alter table app.ferries alter column tenant_id set default app.tenant_id();
      alter table app.ferries enable row level security, force row level security;
      create policy ferries_floor on app.ferries as restrictive
        using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
      create policy ferries_export on app.ferries for select to club_export, club_import using (true);
      create policy ferries_import on app.ferries for insert to club_import with check (true);
      grant select on app.ferries to club_export, club_import;
      grant insert (id, replaces_id) on app.ferries to club_import`);
  }
  const [db, other] = databases;
  const club = await db.makeClub('boats');
  await db.queryAsAdmin(
    `insert into app.ferries (tenant_id, id, replaces_id)
     select $1, app.new_id(), null from generate_series(1, 1500)`,
    [club],
  );
  await db.queryAsAdmin(
    `update app.ferries as boat set replaces_id = pair.next
     from (select id, lead(id) over (order by ctid) as next from app.ferries) as pair (id, next)
     where boat.id = pair.id`,
  );
  const file = join(directory, 'boats.club');
  await exportClub(loginOf(db), 'boats', { file });
  await importClub(loginOf(other), file);
  const count = 'select count(*)::int as ferries, count(replaces_id)::int as replacing from app.ferries';
  t.same(await other.queryAsAdmin(count), [{ ferries: 1500, replacing: 1499 }]);
});

t.test(
  'a restored club goes on where the file ends: numbers of events, stored responses, calendar links',
  async (t) => {
    const service = await startService(t);
    const club = await service.db.makeClub('rowing');
    const anna = service.as('anna', 'Admin', club);
    const key = { 'idempotency-key': 'before' };
    const { body: shift } = await anna.post('/api/shifts', shiftRequest({ capacity: 1 }));
    const first = await anna.post('/api/tasks', { title: 'Before' }, key);
    await anna.post(`/api/shifts/${shift.id}/signup`);
    await service.as('ben', 'Member', club).post(`/api/shifts/${shift.id}/wait`);
    const { body: link } = await anna.put('/api/members/me/calendar');
    const { body: events } = await anna.get('/api/events?sort=-sequence');
    const file = join(directory, 'rowing.club');
    await exportClub(loginOf(service.db), 'rowing', { file });
    await anna.post('/api/tasks', { title: 'Lost by the restore' });

    const operator = await connectAsOperator(t, service.db);
    const restore = (from: string) => importClub(loginOf(service.db), from, { replaces: true });
    await t.rejects(restore(file), { message: /The club is not replaced: the club .* is not closed/ });
    await operator.query('select app.close_club($1)', [club]);
    const cut = join(directory, 'cut');
    await writeFile(cut, (await readFile(file)).subarray(0, -100));
    await t.rejects(restore(cut), { message: /the file is cut/ });
    const { length } = await service.db.queryAsAdmin('select from app.tasks where tenant_id = $1', [club]);
    t.equal(length, 2, 'a file that is refused replaces nothing');
    await restore(file);
    t.equal((await anna.get('/api/clubs/current')).status, 403, 'it is closed');
    await operator.query('select app.reopen_club($1)', [club]);

    t.same((await anna.get('/api/events?sort=-sequence')).body, events);
    t.match(await anna.post('/api/tasks', { title: 'Before' }, key), { status: 201, body: first.body });
    const tasks = (await anna.get('/api/tasks')).body;
    t.same(
      tasks.map(({ title }: { title: string }) => title),
      ['Before'],
    );
    t.equal((await service.send('GET', link.url)).status, 200);
    await anna.post('/api/tasks', { title: 'After' });
    t.match((await anna.get('/api/events?sort=-sequence&limit=1')).body, [
      { sequence: events[0].sequence + 1 },
    ]);
    await anna.delete(`/api/shifts/${shift.id}/signup`);
    t.match((await anna.get(`/api/shifts/${shift.id}`)).body, {
      signupCount: 1,
      waitCount: 0,
      signups: [{ memberName: 'ben' }],
    });
  },
);
