import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { readReport } from '../../src/audit/read.js';
import { runAudit } from '../../src/audit/run.js';
import { SNAPSHOT_MAJOR } from '../../src/audit/text.js';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { DEPLOY_LOCK, lockDeploys } from '../../src/deploy/locks.js';
import { createDatabase } from '../../tools/development-database.js';
import { root } from '../../tools/root.js';
import { makeDatabase } from '../setup/database.js';
import { startServer } from '../setup/server.js';
import { directory, start } from '../tools/fixtures/postgres.js';

const program = join(root, 'dist/audit.js');

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Runs the audit as an operator does. */
async function run(url: string | undefined, ...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...(url !== undefined && { AUDIT_DATABASE_URL: url }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, out, err };
}

/** Asserts that the audit did not run, and that one sentence gives the reason. */
function isImpossible(t: Test, { code, out, err }: Ended, sentence: RegExp) {
  t.same([code, out], [2, ''], err);
  t.match(err, sentence);
  t.match(err, /^(The configuration is unusable:\n {2})?[^\n]+\.\n$/, 'one sentence');
}

t.test('a fresh deploy has no findings, even on a standby as club_auditor', async (t) => {
  const dataDir = await directory(t);
  const first = await start(t, dataDir);
  await createDatabase(first, 'club');
  await deploy(first.url('club', 'club_migrator', first.password));
  const primary = await run(first.url('club', 'club_auditor', first.password), 'access');
  t.match(primary, { code: 0, err: '' });
  t.match(primary.out, /^No findings: the isolation of clubs holds[^\n]*\n\n +database +club$/m);
  t.match(primary.out, /deployed\s+\S+Z; that of this checkout$/m);
  t.match(primary.out, /fingerprint +[0-9a-f]{64}, the SHA-256 of\s+sql\/snapshot\.txt of this checkout$/m);
  t.match(primary.out, /club_migrator -> club_owner\n +may become it, has its rights$/m);
  t.match(primary.out, /update club_places +signup_count, wait_count\n +shifts_count, shifts_floor$/m);
  t.same(
    primary.out.split('\n').filter((line) => line.length > 100),
    [],
    'it fits a terminal of 100 columns',
  );

  await first.stop();
  await writeFile(join(dataDir, 'cluster/standby.signal'), '');
  const second = await start(t, dataDir);
  const standby = await run(second.url('club', 'club_auditor', second.password), 'access');
  t.match(standby, { code: 0, err: '' });
  const rest = ({ out }: Ended) => out.replace(/^ +(server|audited) .*$/gm, '');
  t.match(standby.out, /^ +server +PostgreSQL .*, a standby$/m);
  t.equal(rest(standby), rest(primary), 'everything else is equal');
});

t.test('the report begins with the verdict and has every finding and note', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin(`
    alter table app.tasks no force row level security;
    comment on policy tasks_read on app.tasks is null`);
  const { code, out, err } = await run(db.adminUrl);
  t.same([code, err], [1, '']);
  t.match(out, /^[1-9]\d* critical findings?, [1-9]\d* warnings?\.\n/);
  const { findings, notes } = await readReport(db.adminUrl);
  t.ok(findings.some(({ severity }) => severity === 'critical'));
  t.ok(findings.some(({ severity }) => severity === 'warning'));
  t.ok(notes.length > 0);
  const parts = [
    ...findings.flatMap(({ code, object, title, why, fix }) => [`${code}: ${object}`, title, why, fix]),
    ...notes.flatMap(({ topic, object, detail }) => [`${object}, ${topic}`, detail]),
  ];
  t.same(missing(out, parts), []);
  t.notMatch(out, /^Policies$/m, 'who may do what is in another report');
});

t.test('with access the report also has every role, right and policy', async (t) => {
  const db = await makeDatabase(t);
  const { out } = await runAudit(db.adminUrl, 'access');
  const { rights } = await readReport(db.adminUrl, true);
  const { roles = [], access = [], policies = [] } = rights ?? {};
  t.ok(roles.length > 0 && access.length > 0 && policies.length > 0);
  const parts = [
    ...roles.flatMap(({ role, purpose, why }) => [`${role}: ${purpose}`, why]),
    ...policies.flatMap(({ using, check, comment }) => [using, check, comment]),
    ...access.flatMap(({ columns, policies }) => [columns?.join(', '), policies.join(', ')]),
  ];
  t.same(missing(out, parts), []);
});

/** The texts that a report does not have. It wraps them. */
function missing(report: string, texts: (string | null | undefined)[]): string[] {
  const inOneLine = (text: string) => text.replaceAll(/\s+/g, ' ');
  return texts.map((text) => inOneLine(text ?? '')).filter((text) => !inOneLine(report).includes(text));
}

t.test('warnings are printed and do not fail the command', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin('comment on policy tasks_read on app.tasks is null');
  const { code, out } = await run(db.adminUrl);
  t.equal(code, 0);
  t.match(out, /^0 critical findings, 1 warning\.$/m);
  t.match(out, /^ {2}WARNING schema_drift: comment policy tasks_read on app\.tasks$/m);
});

t.test('a finding of a check without a severity counts as critical', async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin(`create or replace view audit.drift_checks (code, severity, title, why) with (security_invoker) as
    values ('other', 'warning', 'other', 'other')`);
  await db.queryAsAdmin('comment on table app.tasks is null');
  const { exitCode, out } = await runAudit(db.adminUrl);
  t.equal(exitCode, 1);
  t.match(out, /^ {2}CRITICAL schema_drift/m);
  t.match(out, /^[1-9]\d* critical findings?, /);
  const refused = { code: 'AU001', detail: /^critical: schema_drift /m };
  await t.rejects(db.queryAsAdmin('select audit.assert_clean()'), refused);
});

t.test('names and comments of a database are escaped for the terminal', async (t) => {
  const db = await makeDatabase(t);
  const evil = '\u001b]0;own\u0007\u009b31m\r\u202e_\nNo findings: all is well.';
  await db.queryAsAdmin(`create policy "${evil}" on app.tasks for select to club_api using (true)`);
  await db.queryAsAdmin(`comment on policy tasks_read on app.tasks is '${evil}'`);
  const { exitCode, out } = await runAudit(db.adminUrl, 'access');
  t.equal(exitCode, 1);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them
  t.notMatch(out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  t.match(out, '\\u{1b}]0;own\\u{7}');
  t.notMatch(out, /^No findings/m, 'no line is injected');
});

t.test('an audit that cannot run gives the reason in one sentence, and exits with 2', async (t) => {
  const db = await makeDatabase(t);
  const empty = await makeDatabase(t, { empty: true });
  const stranger = new URL(db.adminUrl);
  stranger.password = 'wrong';
  const nobody = 'postgres://club_auditor@127.0.0.1:1/club';
  isImpossible(t, await run(undefined), /AUDIT_DATABASE_URL must be set/);
  isImpossible(t, await run('postgres://a:port/club'), /AUDIT_DATABASE_URL must be the URL of a database/);
  isImpossible(t, await run(db.url, 'markdown'), /^The argument must be access or none, not markdown\./);
  isImpossible(
    t,
    await run(nobody),
    /^The database of AUDIT_DATABASE_URL cannot be used: .*ECONNREFUSED.* in AUDIT_DATABASE_URL\.$/m,
  );
  isImpossible(t, await run(stranger.href), /^The database of AUDIT_DATABASE_URL cannot be used: password/);
  isImpossible(t, await run(empty.adminUrl), /^This database has no audit/);
  await withClient(db.migrationUrl, async (client) => {
    await lockDeploys(client);
    isImpossible(t, await run(db.url), /^A deploy is running/);
  });
  await db.queryAsAdmin('revoke usage on schema audit from club_auditor, club_api');
  isImpossible(t, await run(db.url), /^This login may not read the schema audit\. Use club_auditor\./);
  await db.queryAsAdmin('drop view audit.access');
  isImpossible(t, await run(db.adminUrl, 'access'), /^This database has no audit or an older one/);
});

t.test(
  'only a deploy in this database keeps the audit from running, and no other holder of its lock',
  async (t) => {
    const server = await startServer(t, { max_prepared_transactions: '5' });
    await createDatabase(server, 'club');
    await createDatabase(server, 'other');
    const urlOf = (user: string, database = 'club') => server.url(database, user, server.password);
    await deploy(urlOf('club_migrator'));
    const audit = () => readReport(urlOf('club_auditor'));

    const sameName = `set application_name = 'club-management-service deploy'`;
    const lock = `select pg_advisory_lock(${DEPLOY_LOCK})`;
    const holders: [login: string, ...statements: string[]][] = [
      ['club_api', lock],
      ['club_api', sameName, lock],
      ['club_api', `select pg_advisory_lock_shared(${DEPLOY_LOCK})`],
      ['postgres', lock],
      ['club_migrator', lock],
      ['club_api', 'begin', `select pg_advisory_xact_lock(${DEPLOY_LOCK})`, `prepare transaction 'holder'`],
    ];
    for (const [login, ...statements] of holders) {
      await withClient(urlOf(login), async (holder) => {
        for (const statement of statements) {
          await holder.query(statement);
        }
        t.same((await audit()).findings, [], `${login}: ${statements.join('; ')}`);
      });
    }

    // The prepared transaction still holds the lock.
    await withClient(urlOf('club_migrator'), async (waiting) => {
      const message = /\(a prepared transaction\); nothing was changed/;
      await t.rejects(lockDeploys(waiting, 300), { name: 'DeployError', message });
      t.same((await audit()).findings, [], 'a deploy that waits for the lock');
    });
    await withClient(urlOf('club_api'), (holder) => holder.query(`rollback prepared 'holder'`));
    await withClient(urlOf('club_migrator', 'other'), async (elsewhere) => {
      await lockDeploys(elsewhere);
      t.same((await audit()).findings, [], 'a deploy of another database');
    });
    await withClient(urlOf('club_migrator'), async (deploying) => {
      await lockDeploys(deploying);
      await t.rejects(audit(), { name: 'AuditImpossible', message: /^A deploy is running/ });
    });
    t.same((await audit()).findings, []);
  },
);

t.test('the snapshot needs the PostgreSQL version in the report; other versions get an error', async (t) => {
  const db = await makeDatabase(t);
  const { server, ours } = await readReport(db.adminUrl);
  t.equal(server.fingerprint === ours.snapshot, server.major === SNAPSHOT_MAJOR);
  await db.queryAsAdmin('grant delete on app.members to club_api');
  const out = (await runAudit(db.adminUrl)).out.replaceAll(/\s+/g, ' ');
  t.match(out, 'which is not the SHA-256 of sql/snapshot.txt');
  t.match(out, `That file is generated with PostgreSQL ${SNAPSHOT_MAJOR};`);
});
