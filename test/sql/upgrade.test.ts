/** The upgrade from earlier releases: the steps under "From …" in CHANGELOG.md, and the rollback of docs/operate.md. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type pg from 'pg';
import t, { type Test } from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { provisionClub } from '../../src/deploy/provision-club.js';
import { VERSION } from '../../src/version.js';
import { freePort } from '../setup/free-port.js';
import { AUDIENCE, startIssuer } from '../setup/issuer.js';
import { sendUnderLoad } from '../setup/send.js';
import { startServer } from '../setup/server.js';
import { until, untilReady } from '../setup/wait.js';

const run = promisify(execFile);

/** The releases before this one, the last first, as docs/versioning.md says: commits named “Release 0.3.0”. Fewer without the history. */
const releases = await run('git', [
  'log',
  '--format=%h %s',
  '--extended-regexp',
  '--grep=^Release [0-9]+\\.',
]).then(
  ({ stdout }) =>
    [...stdout.matchAll(/^(\w+) Release (\d+\.\d+\.\d+)\b/gm)]
      .map(([, commit = '', version = '']) => ({ commit, version }))
      .filter(({ version }) => version !== VERSION),
  () => [],
);
/** An upgrade that skips a release stops the service first. */
const [last, secondToLast] = releases;

/** The directory of this release. */
const thisRelease = process.cwd();

/** Checks a release out, with its own packages, and compiles it into dist; returns its directory. */
async function checkOut(t: Test, commit: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'club-release-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await run('sh', ['-c', `git archive ${commit} | tar -x -C ${directory}`]);
  await run('npm', ['ci', '--omit=dev', '--prefer-offline', '--no-progress'], { cwd: directory });
  const esbuild = join(thisRelease, 'node_modules/.bin/esbuild');
  await run(esbuild, ['src/**/*.ts', '--outdir=dist', '--outbase=src', '--format=esm'], { cwd: directory });
  return directory;
}

/** A server with an empty database and a token issuer, and what an operator does there with a release. */
async function startPlatform(t: Test) {
  const server = await startServer(t);
  const issuer = await startIssuer(t);
  const url = (user: string) => server.url('clubs', user, 'secret');
  await withClient(server.url('postgres'), (administrator) => administrator.query('create database clubs'));
  const query = async (sql: string): Promise<pg.QueryResultRow[]> =>
    (await withClient(server.url('clubs'), (administrator) => administrator.query(sql))).rows;

  /** Runs sql/roles.sql of a release, as the administrator. */
  async function createRoles(release: string) {
    await query(await readFile(join(release, 'sql/roles.sql'), 'utf8'));
    await query(`alter role club_api password 'secret'; alter role club_migrator password 'secret'`);
  }

  const deploy = (release: string) =>
    run(process.execPath, ['dist/migrate.js'], {
      cwd: release,
      env: { PATH: process.env.PATH, MIGRATION_DATABASE_URL: url('club_migrator') },
    });

  // Like a load balancer: the addresses of the ready processes.
  const ready: string[] = [];
  /** Starts a process and waits until it is ready. */
  async function start(release: string) {
    const port = await freePort();
    const child = spawn(process.execPath, ['dist/server.js'], {
      cwd: release,
      env: {
        PATH: process.env.PATH,
        PORT: String(port),
        DATABASE_URL: url('club_api'),
        AUTH_ISSUER: issuer.url,
        RATE_LIMIT_PER_MINUTE: '0',
        AUTH_AUDIENCE: AUDIENCE,
      },
      stdio: 'ignore',
    });
    t.teardown(() => child.kill('SIGKILL'));
    const address = `http://127.0.0.1:${port}`;
    await untilReady(child, `${address}/readyz`);
    ready.push(address);
    return {
      stop: async () => {
        ready.splice(ready.indexOf(address), 1);
        child.kill('SIGTERM');
        const [code] = await once(child, 'exit');
        t.equal(code, 0);
      },
    };
  }

  /** Creates a club; returns the headers of requests of a Manager there. */
  async function makeClub() {
    const club = await provisionClub(url('club_migrator'), { name: 'North', slug: 'north', timeZone: 'UTC' });
    return {
      authorization: `Bearer ${issuer.sign({ sub: 'anna', clubs: { [club]: 'Manager' } })}`,
      'x-tenant-id': club,
      'content-type': 'application/json',
    };
  }

  return { query, createRoles, deploy, start, ready, makeClub };
}

const skip = secondToLast ? {} : { skip: 'the history of git is missing; git fetch --unshallow' };

t.test(
  'an upgrade from the last release by its steps, and the rollback, fail no request',
  skip,
  async (t) => {
    const lastRelease = await checkOut(t, last?.commit as string);
    const { query, createRoles, deploy, start, ready, makeClub } = await startPlatform(t);
    await createRoles(lastRelease);
    await deploy(lastRelease);
    const before = await start(lastRelease);
    const headers = await makeClub();
    // Erased by a release before 0.4.0, and one whose subject only looks so.
    const [erased, posing] = ['10000000-0000-4000-8000-000000000001', '10000000-0000-4000-8000-000000000002'];
    await query(`insert into app.members (tenant_id, id, external_user_id, display_name, role) values
      ('${headers['x-tenant-id']}', '${erased}', 'erased:${erased}', 'Former member', 'Member'),
      ('${headers['x-tenant-id']}', '${posing}', 'erased:${headers['x-tenant-id']}', 'Posing', 'Member')`);

    let done = false;
    let longestMs = 0;
    const failures: string[] = [];
    const written = new Set<string>();
    const client = async (turn: number) => {
      for (let count = turn; !done; count += 1) {
        const tasks = `${ready[count % ready.length]}/api/tasks`;
        const body = JSON.stringify({ title: `Task ${turn}-${count}` });
        const sentAt = performance.now();
        const create = () => fetch(tasks, { method: 'POST', headers, body });
        const made = await sendUnderLoad(create).catch((error) => error);
        longestMs = Math.max(longestMs, performance.now() - sentAt);
        const task = made.status === 201 ? await made.json() : undefined;
        // The other release, if there is one, reads what this one has written.
        const other = `${ready[(count + 1) % ready.length]}/api/tasks/${task?.id}`;
        const read = await sendUnderLoad(() => fetch(other, { headers })).catch((error) => error);
        await read.text?.();
        if (made.status !== 201 || read.status !== 200) {
          failures.push(`${made.status ?? made} ${read.status ?? read}`);
        }
        written.add(task?.id);
        // Some requests are enough, and leave the processors to the processes that start.
        await sleep(20);
      }
    };
    const clients = [0, 1, 2, 3].map(client);
    const untilWritten = () => {
      const enough = written.size + 20;
      return until(
        () => written.size,
        (count) => count >= enough,
      );
    };

    const began = performance.now();
    await createRoles(thisRelease);
    await deploy(thisRelease);
    const seconds = (ms: number) => (ms / 1_000).toFixed(1);
    // For “From …” in CHANGELOG.md.
    t.comment(
      `upgrade: ${seconds(performance.now() - began)} s from roles.sql to the end of the deploy, longest write ${seconds(longestMs)} s`,
    );
    t.same(await query('select code, object from audit.findings'), []);
    const after = await start(thisRelease);
    await untilWritten();
    await before.stop();
    const rolledBack = await start(lastRelease);
    await untilWritten();
    await after.stop();
    await untilWritten();
    done = true;
    await Promise.all(clients);
    await rolledBack.stop();

    t.same(failures, []);
    t.same(
      await query(`select id, external_user_id as "sub", erased_at = updated_at as "isErased" from app.members
        where id in ('${erased}', '${posing}') order by id`),
      [
        { id: erased, sub: null, isErased: true },
        { id: posing, sub: `erased:${headers['x-tenant-id']}`, isErased: null },
      ],
    );
    t.same(await query(`select from app.events where type like 'member.%' and subject_id = '${erased}'`), []);
    t.same(
      await query('select count(*)::integer as stored from app.tasks'),
      [{ stored: written.size }],
      'each acknowledged task is stored once',
    );
  },
);

t.test(
  'a stopped release before the last is upgraded by the steps of both, and keeps its rows',
  skip,
  async (t) => {
    const oldRelease = await checkOut(t, secondToLast?.commit as string);
    const { query, createRoles, deploy, start, ready, makeClub } = await startPlatform(t);
    await createRoles(oldRelease);
    await deploy(oldRelease);
    const before = await start(oldRelease);
    const headers = await makeClub();
    const body = JSON.stringify({ title: 'Of an old release' });
    const made = await fetch(`${ready[0]}/api/tasks`, { method: 'POST', headers, body });
    t.equal(made.status, 201);
    await before.stop();

    const refused = await deploy(thisRelease).catch(({ stderr }) => stderr);
    t.match(
      refused,
      /^The login of the deploy needs the role club_\w+.*: an administrator runs sql\/roles\.sql/,
    );
    await createRoles(thisRelease);
    await deploy(thisRelease);
    t.same(await query('select code, object from audit.findings'), []);
    const after = await start(thisRelease);
    const read = await fetch(`${ready[0]}${made.headers.get('location')}`, { headers });
    t.match(await read.json(), { title: 'Of an old release' });
    await after.stop();
  },
);
