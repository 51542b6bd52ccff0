import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { readRelease } from '../../src/deploy/release.js';
import { makeDatabase, type TestDatabase } from '../setup/database.js';

const found = async (db: TestDatabase) =>
  (await db.queryAsAdmin('select code, object from audit.drift_findings order by object')).map(
    ({ code, object }) => `${code} ${object}`,
  );

/** Manual changes that no chapter undoes. */
const byHand: Record<string, string> = {
  'schema_drift constraint app.tasks.tasks_title_length':
    'alter table app.tasks drop constraint tasks_title_length',
  'schema_drift index app.members_by_display_name': 'drop index app.members_by_display_name',
  'schema_drift column app.tasks.secret': 'alter table app.tasks add column secret text',
  'schema_drift not null app.shifts.capacity': 'alter table app.shifts alter column capacity drop not null',
  'schema_drift key app.shift_signups.shift_signups_once':
    'alter table app.shift_signups drop constraint shift_signups_once',
  "row_drift row app.task_transitions ('Open', 'Done')": `insert into app.task_transitions values ('Open', 'Done', 'member')`,
};

t.test('a manual change stays a finding after further deploys, even with migrations', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin(Object.values(byHand).join(';'));
  const expected = Object.keys(byHand).sort();
  t.same((await found(db)).sort(), expected);
  await deploy(db.migrationUrl);
  t.same((await found(db)).sort(), expected, 'a deploy of the same release');

  const before = JSON.stringify(await db.queryAsAdmin('select kind, object, fact from audit.facts'));
  await withClient(db.migrationUrl, async (client) => {
    await client.query('set role club_owner');
    await client.query('begin');
    await client.query('alter table app.tasks add column remind_at timestamptz');
    await client.query('create index tasks_by_reminder on app.tasks (tenant_id, remind_at)');
    await client.query('select audit.record_facts($1)', [before]);
    await client.query('commit');
  });
  t.same((await found(db)).sort(), expected, 'what a migration creates is intended, and nothing else');
});

t.test('a privilege that two roles have granted is one fact', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin(`grant select on app.tasks to club_signup with grant option; set role club_signup;
    grant select on app.tasks to club_directory; reset role; grant select on app.tasks to club_directory`);
  t.same((await found(db)).sort(), [
    'isolation_drift grant select on table app.tasks to club_directory',
    'isolation_drift grant select on table app.tasks to club_signup',
  ]);
  await db.queryAsAdmin('select audit.record_facts()');
  t.same(await found(db), []);
});

t.test('only the owner can accept a manual change', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin('create index tasks_by_completion on app.tasks (tenant_id, completed_at)');
  t.same(await found(db), ['schema_drift index app.tasks_by_completion']);
  await withClient(db.migrationUrl, async (client) => {
    await client.query('set role club_owner');
    await client.query('select audit.record_facts()');
  });
  t.same(await found(db), []);
  for (const role of ['club_api', 'club_auditor']) {
    await withClient(db.adminUrl, async (client) => {
      await client.query(`set session authorization ${role}`);
      await t.rejects(client.query('select audit.record_facts()'), { code: '42501' }, role);
    });
  }
});

t.test('a deploy accepts the rows of migrations that the SQL of the findings restored', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin(`delete from deploy.migrations where name ~ '^00(0[14]|05|22)'`);
  const lost = await db.queryAsAdmin(
    `select fix from audit.findings where code = 'row_drift' order by object desc`,
  );
  t.equal(lost.length, 4);
  for (const { fix } of lost) {
    await db.queryAsAdmin(fix);
  }
  t.same(await db.queryAsAdmin('table audit.findings'), []);
  t.same(await deploy(db.migrationUrl), { migrations: [], applied: false, warnings: [] });
  const names = await db.queryAsAdmin('select name from deploy.migrations order by run_on, id');
  t.same(names, await db.queryAsAdmin('select name from deploy.migrations order by name'));
});

t.test('lost facts stay a finding until the owner stores all of them', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin('delete from deploy.facts');
  const lost = ['facts_missing table deploy.facts'];
  t.same(await found(db), lost);
  const online = {
    name: '9990_more',
    text: 'create index concurrently tasks_by_title on app.tasks (tenant_id, title)',
    sha256: 'of it',
  };
  const release = readRelease();
  await deploy(db.migrationUrl, {
    ...release,
    migrations: [...release.migrations, online],
    fingerprint: 'next',
  });
  t.same(await found(db), lost, 'a deploy stores no part of them');
  const [{ fix } = { fix: '' }] = await db.queryAsAdmin('select fix from audit.findings');
  const [, call = ''] = /^-- .* as club_owner: (.*)$/.exec(fix) ?? [];
  await withClient(db.migrationUrl, async (client) => {
    await client.query('set role club_owner');
    await client.query(call);
  });
  t.same(await db.queryAsAdmin('table audit.findings'), []);
});

t.test('drift is found after an upgrade of PostgreSQL too, and a deploy does not accept it', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin('update deploy.facts set server_major = 14');
  await db.queryAsAdmin(`drop index app.members_by_display_name; create index more on app.members (tenant_id);
    create view audit.more as select`);
  const indexes = ['schema_drift index app.members_by_display_name', 'schema_drift index app.more'];
  t.same(
    await found(db),
    [...indexes, 'facts_of_another_version table deploy.facts'],
    'all but the schema audit',
  );
  await deploy(db.migrationUrl);
  t.same(await found(db), indexes);
});

t.test(
  'the first deploy after an upgrade of PostgreSQL records all facts, with migrations of any kind',
  async (t) => {
    const db = await makeDatabase(t);
    await db.queryAsAdmin('update deploy.facts set server_major = 14');
    const release = readRelease();
    const texts = [
      'create index concurrently tasks_by_title on app.tasks (tenant_id, title)',
      'alter table app.tasks add column remind_at timestamptz',
      'drop index concurrently app.tasks_by_title',
    ];
    const added = texts.map((text, number) => ({ name: `999${number}_more`, text, sha256: `of ${text}` }));
    const migrations = [...release.migrations, ...added];
    await deploy(db.migrationUrl, { ...release, migrations, fingerprint: 'next' });
    t.same(await found(db), []);
    const rows = await db.queryAsAdmin('select distinct server_major = 14 as "isOld" from deploy.facts');
    t.same(rows, [{ isOld: false }]);
  },
);
