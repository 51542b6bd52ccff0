import t from 'tap';
import { readRelease, type SqlFile } from '../../src/deploy/release.js';
import { findBlocking } from '../../tools/migration-lint.js';
import { makeDatabase } from '../setup/database.js';

const { migrations } = readRelease();
const file = (text: string): SqlFile => ({ name: '9001_next', text, sha256: '' });

/** Statements that would block requests on a large app.tasks. */
const blocking = [
  'alter table app.tasks add column x int; create index x on app.tasks (tenant_id, x)',
  'alter table app.tasks add constraint x check (version > 0)',
  'alter table app.tasks add constraint x foreign key (tenant_id, assignee_id) references app.members (tenant_id, id)',
  'alter table app.tasks add constraint x unique (tenant_id, created_at, id)',
  'alter table app.tasks add column x uuid default gen_random_uuid()',
  'alter table app.tasks alter column due_at set not null',
  'alter table app.tasks alter column version type bigint',
  `alter table app.tasks no force row level security, disable trigger user; update app.tasks set title = 'x'`,
  'alter table app.tasks add constraint x check (version > 0) not valid; alter table app.tasks validate constraint x',
];

const short = [
  "alter table app.tasks add column x text not null default 'none'",
  'alter table app.tasks add constraint x check (version > 0) not valid',
  'alter table app.tasks add constraint x foreign key (tenant_id, assignee_id) references app.members (tenant_id, id) not valid',
  'create table app.notes (tenant_id uuid primary key, x text); create index notes_x on app.notes (x)',
  'alter table app.tasks drop column description',
  'create index concurrently x on app.tasks (tenant_id, completed_at)',
  'create unique index concurrently x on app.tasks (tenant_id, completed_at, id)',
  'alter table app.tasks validate constraint tasks_version_positive',
  'drop index concurrently app.tasks_by_title',
];

t.test('a migration that would block requests is reported, with its statement', async (t) => {
  for (const text of blocking) {
    const db = await makeDatabase(t);
    const found = await findBlocking(db.adminUrl, [file(text)]);
    t.equal(found.length, 1, text);
    t.match(found, [/^9001_next: this statement reads all of app.tasks/], text);
  }
});

t.test('a migration that blocks only briefly passes, and so do those of this release', async (t) => {
  const empty = await makeDatabase(t, { empty: true });
  t.same(await findBlocking(empty.adminUrl, migrations), []);
  for (const text of short) {
    const db = await makeDatabase(t);
    t.same(await findBlocking(db.adminUrl, [file(text)]), [], text);
  }
});

t.test('a migration that changes recorded rows is named, unless it disables the triggers', async (t) => {
  const db = await makeDatabase(t);
  const change = `update app.clubs set name = name`;
  const around = (table: string, statement: string) =>
    `alter table app.${table} disable trigger user; ${statement}; alter table app.${table} enable trigger user`;
  const named = [/changes rows of app.clubs, .*alter table app.clubs disable trigger user/];
  for (const [text, expected] of [
    [change, named],
    [`do $$ begin ${change}; end $$`, named],
    [around('tasks', change), named],
    [around('clubs', change), []],
    [`${around('clubs', change)}; ${change}`, named],
    ['update app.task_states set position = position', []],
  ] as const) {
    t.match(await findBlocking(db.adminUrl, [file(text)]), expected, text);
  }
});

t.test('a file of indexes has one statement, with CONCURRENTLY', async (t) => {
  for (const text of [
    'create index x on app.tasks (tenant_id)',
    'create index concurrently x on app.tasks (tenant_id); create index concurrently y on app.tasks (tenant_id)',
  ]) {
    const db = await makeDatabase(t);
    t.match(await findBlocking(db.adminUrl, [file(text)]), [/only this statement, with CONCURRENTLY/], text);
  }
});
