import t from 'tap';
import { type Relation, relationsOf } from '../../setup/catalog.js';
import type { Row } from '../../setup/catalog-rows.js';
import { makeDatabase } from '../../setup/database.js';
import { commitEveryWrite } from './commits.js';
import { contextsOf } from './contexts.js';
import { explore, ROLES } from './exploration.js';
import { replayPlans } from './plans.js';
import { HOLES, PROBE } from './probe.js';
import { seedDatabase } from './seeded-database.js';
import { openSession } from './session.js';

const db = await makeDatabase(t);
// Created here and named nowhere below: a table that a chapter adds later is found in the same way.
await db.queryAsAdmin(PROBE);
const run = await openSession(t, db);
const seeded = await seedDatabase(db, run);
const relations = await relationsOf(db);
const ofClubs = relations.filter(({ belongsToClubs }) => belongsToClubs);
const isFilled = ({ kind, isPartition }: Relation) => kind === 'table' && !isPartition;

t.test('every table is seeded for every club, with texts that are unique to the club', async (t) => {
  const strange = [];
  for (const { name, columns, references } of ofClubs.filter(isFilled)) {
    // Values that a check or a reference requires do not identify a club.
    const fixed = [
      ...references.flatMap((reference) => reference.columns),
      ...Object.keys(seeded.choices[name] ?? {}),
    ];
    const texts = columns.filter((column) => column.category === 'S' && !fixed.includes(column.name));
    for (const { rows, canary } of [seeded.own, seeded.other, seeded.neighbour]) {
      const isOwn = (row: Row) => texts.every((column) => String(row[column.name]).startsWith(canary));
      strange.push(...(rows[name]?.length ? [] : [name]), ...(rows[name] ?? []).filter((row) => !isOwn(row)));
    }
  }
  t.same(strange, []);
  const shared = relations.filter(({ kind, belongsToClubs }) => kind === 'table' && !belongsToClubs);
  const clubNames = ofClubs.map(({ name }) => name);
  const straying = shared.filter(({ references }) =>
    references.some(({ target }) => clubNames.includes(target)),
  );
  t.same(straying, [], 'a table without tenant_id references no club’s row');
  t.ok(ofClubs.length >= 6 && shared.length >= 2);
});

t.test('a table of any shape is seeded, or the error contains its name', async (t) => {
  const odd = await makeDatabase(t);
  const session = await openSession(t, odd);
  await odd.queryAsAdmin(`
    create table app.matrix_oddities (
      tenant_id uuid not null references app.clubs (id), number bigint generated always as identity,
      parent bigint, role app.club_role not null, tags text[] not null, facts jsonb not null, code varchar(12) not null,
      day date not null, price numeric(8, 2) not null check (price between 100 and 200), size text not null check (size in ('s', 'm')),
      twice numeric generated always as (price * 2) stored, task_id uuid, shift_id uuid not null, flag boolean not null,
      primary key (tenant_id, number), foreign key (tenant_id, parent) references app.matrix_oddities,
      foreign key (tenant_id, task_id) references app.tasks, foreign key (tenant_id, shift_id) references app.shifts
    )`);
  const { own } = await seedDatabase(odd, session);
  t.equal(own.rows['app.matrix_oddities']?.length, 2);
  await odd.queryAsAdmin(
    'create table app.matrix_riddle (tenant_id uuid not null, answer integer not null check (answer % 43 = 42 and answer > 50))',
  );
  await t.rejects(seedDatabase(odd, session), /No row for app\.matrix_riddle could be made/);
});

t.test('the matrix sees the output of COPY, and writes that are rolled back', async (t) => {
  const { returned } = await run(`copy (values ('seen')) to stdout`);
  t.match(returned, 'seen');
  await run(`begin; ${contextsOf('Admin', seeded.own, seeded.other)[0]?.settings.join('; ')}`);
  const { code, touched, written } = await run('delete from app.matrix_probe');
  t.same(
    { code, touched, written },
    { code: 'ok', touched: 2, written: [seeded.own.clubId, seeded.own.clubId] },
  );
  await run('rollback');
});

t.test(
  'no statement, in any role and context, reaches another club or reveals whether its rows exist',
  async (t) => {
    const { cells, faults, allowed, refused, works } = await explore(seeded);
    t.same(faults, []);
    t.comment(`matrix: ${cells} cells, ${faults.length} faults`);
    const filled = ofClubs.filter(isFilled);
    const idle = filled.filter(
      ({ name, grants }) =>
        Number(allowed[name] ?? 0) > 0 !== grants.length > 0 || !(Number(refused[name]) > 0),
    );
    t.same(
      idle,
      [],
      'each table refuses something, and allows something to the own club where rights are granted',
    );
    const granted = filled.flatMap(({ name, grants }) => grants.map((verb) => `${name} ${verb}`));
    t.same(
      granted.filter((right) => !works.has(right)),
      [],
      'each granted right works',
    );
  },
);

t.test('the matrix reports each mistake in a new table and in what belongs to it', async (t) => {
  for (const [mistake, { sql, fault }] of Object.entries(HOLES)) {
    await t.test(mistake, async (t) => {
      const flawed = await makeDatabase(t);
      await flawed.queryAsAdmin(`${PROBE}; ${sql}`);
      const { faults } = await explore(await seedDatabase(flawed, await openSession(t, flawed)), {
        roles: ['Admin'],
        about: new RegExp(`^${/app[.]\w+/.exec(fault)}$`),
        contexts: ({ name }) => name === 'entered',
      });
      t.match(faults.join('\n'), fault);
    });
  }
});

t.test('a plan that was made for one club gives another club its own rows', async (t) => {
  const { runs, faults } = await replayPlans(seeded, ROLES);
  t.same(faults, []);
  t.ok(runs > 100);
});

t.test('the floor alone isolates: with every right and a policy that allows everything', async (t) => {
  const open = await makeDatabase(t);
  const openSeeded = await seedDatabase(open, await openSession(t, open));
  for (const { name } of (await relationsOf(open)).filter(({ belongsToClubs }) => belongsToClubs)) {
    await open.queryAsAdmin(`grant select, insert, update, delete on ${name} to public;
      create policy a_mistake on ${name} to public using (true) with check (true)`);
  }
  const { faults, works } = await explore(openSeeded, {
    roles: ['Admin'],
    // With such a policy every hash opens a link.
    about: /^(?!app[.]read_calendar$)/,
    contexts: ({ name }) => ['entered', 'nothing', 'a club that is no id'].includes(name),
    // A slug is unique across clubs, so no request may write one.
    hasTwins: false,
  });
  t.same(faults, []);
  const rights = ofClubs
    .filter(({ name, isPartition }) => !isPartition && !/matrix/.test(name))
    .flatMap(({ name }) => ['select', 'insert', 'update'].map((verb) => `${name} ${verb}`));
  t.same(
    rights.filter((right) => !works.has(right)),
    [],
    'every right works in the own club',
  );
});

t.test('after committing every write, the rows of the other clubs are unchanged', async (t) => {
  const { kept, changed } = await commitEveryWrite(seeded, ROLES);
  t.same(changed, []);
  t.ok(kept > 50, `${kept} writes were kept`);
});
