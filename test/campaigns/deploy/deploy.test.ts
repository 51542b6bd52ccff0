import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { withClient } from '../../../src/deploy/client.js';
import { makeDatabase } from '../../setup/database.js';
import { freePort } from '../../setup/free-port.js';
import { AUDIENCE } from '../../setup/issuer.js';
import { startService } from '../../setup/service.js';
import { untilReady } from '../../setup/wait.js';

const run = promisify(execFile);

const isWhole = process.env.DEPLOYS === 'whole';
/** The number of tasks of the club, and of requests per second. */
const [TASKS, WRITES, READS] = isWhole ? [400_000, 40, 200] : [20_000, 4, 15];
/** The number of killed deploys, each killed a little later than the one before. */
const KILLS = isWhole ? 20 : 5;
/** A directory with another release whose deploy is measured in the same way. */
const TREE = process.env.TREE ?? '.';

/** A copy of the tree, to which releases are added. */
const tree = await mkdtemp(join(tmpdir(), 'club-release-'));
t.teardown(() => rm(tree, { recursive: true, force: true }));
for (const part of ['dist', 'sql', 'package.json']) {
  await cp(join(TREE, part), join(tree, part), { recursive: true });
}
await symlink(resolve(TREE, 'node_modules'), join(tree, 'node_modules'));

let releases = 0;
/** The next release: a column with a default, a constraint, its validation, an index, a changed chapter. */
async function makeRelease(): Promise<void> {
  releases += 1;
  const column = `estimate_${releases}`;
  const migration = (step: number, text: string) =>
    writeFile(join(tree, `sql/migrations/9${String(releases).padStart(2, '0')}${step}_${column}.sql`), text);
  await migration(
    1,
    `set local row_security = off;
     alter table app.tasks add column ${column} integer not null default 1;
     alter table app.tasks add constraint tasks_${column}_range check (${column} between 0 and 100) not valid;`,
  );
  await migration(2, `alter table app.tasks validate constraint tasks_${column}_range;`);
  await migration(
    3,
    `create index ${process.env.TREE ? '' : 'concurrently'} tasks_by_${column} on app.tasks (tenant_id, ${column}, id);`,
  );
  await appendFile(
    join(tree, 'sql/policies/50_tasks.sql'),
    `\ncomment on column app.tasks.${column} is 'In hours.';\n`,
  );
}

const issuer = await startService(t);
const db = await makeDatabase(t, { empty: true });
const environment = { PATH: process.env.PATH, MIGRATION_DATABASE_URL: db.migrationUrl };
const startDeploy = () =>
  spawn(process.execPath, ['dist/migrate.js'], { cwd: tree, env: environment, stdio: 'ignore' });
const deploy = () => run(process.execPath, ['dist/migrate.js'], { cwd: tree, env: environment });

await deploy();
const club = await db.makeClub();
await db.queryAsAdmin(`
  set session_replication_role = replica;
  insert into app.tasks (tenant_id, id, title, created_by_id, created_at, updated_at)
  select '${club}', gen_random_uuid(), 'Task ' || number, null, now() - number * interval '1 second', now() - number * interval '1 second'
  from generate_series(1, ${TASKS}) as number;
  reset session_replication_role;
  analyze app.tasks`);

const port = await freePort();
const service: ChildProcess = spawn(process.execPath, ['dist/server.js'], {
  env: {
    PATH: process.env.PATH,
    PORT: String(port),
    DATABASE_URL: db.url,
    AUTH_ISSUER: issuer.issuer.url,
    AUTH_AUDIENCE: AUDIENCE,
    RATE_LIMIT_PER_MINUTE: '0',
  },
  cwd: TREE,
  stdio: 'ignore',
});
t.teardown(() => service.kill('SIGKILL'));
const base = `http://127.0.0.1:${port}`;
await untilReady(service, `${base}/readyz`);
const headers = {
  authorization: `Bearer ${issuer.token({ sub: 'anna', clubs: { [club]: 'Manager' } })}`,
  'x-tenant-id': club,
  'content-type': 'application/json',
};

/** Sends requests on a schedule, independent of earlier responses, until the work is done. */
async function underLoad(work: () => Promise<unknown>) {
  const failures: string[] = [];
  const under = new Set<Promise<void>>();
  const longest = { read: 0, write: 0 };
  let count = 0;
  const send = async (kind: 'read' | 'write') => {
    const at = performance.now();
    const response = await (kind === 'read'
      ? fetch(`${base}/api/tasks?limit=20`, { headers })
      : fetch(`${base}/api/tasks`, { method: 'POST', headers, body: JSON.stringify({ title: 'New' }) })
    ).catch((error) => error);
    const text = (await response.text?.()) ?? String(response.cause ?? response);
    count += 1;
    longest[kind] = Math.max(longest[kind], performance.now() - at);
    if (response.status !== (kind === 'read' ? 200 : 201)) {
      failures.push(`${kind}: ${response.status} ${text}`);
    }
  };
  const sendOne = (kind: 'read' | 'write') => {
    const request: Promise<void> = send(kind).finally(() => under.delete(request));
    under.add(request);
  };
  const timers = [
    setInterval(() => sendOne('read'), 1_000 / READS),
    setInterval(() => sendOne('write'), 1_000 / WRITES),
  ];
  try {
    await sleep(500);
    await work();
    await sleep(500);
  } finally {
    timers.forEach(clearInterval);
    await Promise.all(under);
  }
  return { failures: [...new Set(failures)], count, longest };
}

async function measure(t: Test, name: string, work: () => Promise<unknown>): Promise<void> {
  const { failures, count, longest } = await underLoad(work);
  t.same(failures, []);
  t.comment(
    `${name}: ${count} requests, longest read ${Math.round(longest.read)} ms, longest write ${Math.round(longest.write)} ms`,
  );
}
/** Asserts that the release is complete, and that the audit has no finding. */
async function isWholeNow(t: Test): Promise<void> {
  const index = `tasks_by_estimate_${releases}`;
  t.same(
    await db.queryAsAdmin('select indisvalid from pg_index where indexrelid = to_regclass($1)', [
      `app.${index}`,
    ]),
    [{ indisvalid: true }],
  );
  t.same(await db.queryAsAdmin('select code, object from audit.findings'), []);
}

t.test('without a deploy no request fails', (t) => measure(t, 'no deploy', () => sleep(3_000)));

t.test('during a deploy under load no request fails', async (t) => {
  await makeRelease();
  await measure(t, 'deploy', deploy);
  await isWholeNow(t);
});

t.test('during two concurrent deploys no request fails', async (t) => {
  await makeRelease();
  await measure(t, 'two deploys', () => Promise.all([deploy(), deploy()]));
  await isWholeNow(t);
});

t.test('a session that holds a lock delays the deploy, and no request fails', async (t) => {
  await makeRelease();
  await measure(t, 'a lock of 3 s', () =>
    withClient(db.url, async (reporter) => {
      await reporter.query('begin; lock table app.tasks in access share mode');
      const deploying = deploy();
      await sleep(3_000);
      await reporter.query('commit');
      await deploying;
    }),
  );
  await isWholeNow(t);
});

t.test('when a deploy is killed at any time and repeated, no request fails', async (t) => {
  await makeRelease();
  const startedAt = Date.now();
  await deploy();
  const lastsMs = Date.now() - startedAt;
  await makeRelease();
  await measure(t, `${KILLS} deploys killed`, async () => {
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const deploying = startDeploy();
      const ended = once(deploying, 'exit');
      await sleep((lastsMs * kill) / KILLS);
      deploying.kill('SIGKILL');
      await ended;
    }
    await deploy();
  });
  await isWholeNow(t);
});
