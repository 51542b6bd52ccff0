import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { AUDIENCE, startService } from '../setup/service.js';

const run = promisify(execFile);
// In a clone without history the release is its own predecessor: then only the switch is tested.
const previous = await run('sh', ['-c', 'git rev-parse --verify --quiet HEAD~1 || git rev-parse HEAD']).then(
  ({ stdout }) => stdout.trim(),
  () => undefined,
);

/** Builds the previous commit in a separate directory. */
async function buildPrevious(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'club-previous-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await run('sh', ['-c', `git archive ${previous} | tar -x -C ${directory}`]);
  const locks = [directory, '.'].map((folder) => readFile(join(folder, 'package-lock.json'), 'utf8'));
  const [before, now] = await Promise.all(locks);
  if (before === now) {
    await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  } else {
    await run('npm', ['ci', '--include=dev', '--no-progress'], { cwd: directory });
  }
  await run('node_modules/.bin/tsc', ['--project', 'tsconfig.build.json'], { cwd: directory });
  return directory;
}

t.test(
  'two releases serve side by side during an upgrade and a rollback, and no request fails',
  { skip: previous === undefined && 'git' },
  async (t) => {
    const issuer = await startService(t);
    const db = await makeDatabase(t, { empty: true });
    const releases = { old: await buildPrevious(), new: process.cwd() };
    const deploy = (release: keyof typeof releases) =>
      run(process.execPath, ['dist/migrate.js'], {
        cwd: releases[release],
        env: { PATH: process.env.PATH, MIGRATION_DATABASE_URL: db.migrationUrl },
      });

    // Like a load balancer: the addresses of the ready processes.
    const ready: string[] = [];
    async function start(release: keyof typeof releases, port: number) {
      const child = spawn(process.execPath, ['dist/server.js'], {
        cwd: releases[release],
        env: {
          PATH: process.env.PATH,
          PORT: String(port),
          DATABASE_URL: db.url,
          AUTH_ISSUER: issuer.issuer.url,
          RATE_LIMIT_PER_MINUTE: '0',
          AUTH_AUDIENCE: AUDIENCE,
        },
        stdio: 'ignore',
      });
      t.teardown(() => child.kill('SIGKILL'));
      const url = `http://127.0.0.1:${port}`;
      for (let tries = 0; !(await fetch(`${url}/readyz`).catch(() => undefined))?.ok; tries += 1) {
        t.ok(tries < 300, `${release} becomes ready`);
        await sleep(50);
      }
      ready.push(url);
      return async () => {
        ready.splice(ready.indexOf(url), 1);
        child.kill('SIGTERM');
        const [code] = await once(child, 'exit');
        t.equal(code, 0);
      };
    }

    await deploy('old');
    const base = 20_000 + (process.pid % 20_000);
    const stopOld = await start('old', base);
    const club = await db.makeClub();
    const token = await issuer.token({ sub: 'anna', clubs: { [club]: 'Manager' } });
    const headers = {
      authorization: `Bearer ${token}`,
      'x-tenant-id': club,
      'content-type': 'application/json',
    };

    let done = false;
    const failures: string[] = [];
    const written = new Set<string>();
    const client = async (turn: number) => {
      for (let count = turn; !done; count += 1) {
        const url = `${ready[count % ready.length]}/api/tasks`;
        const body = JSON.stringify({ title: `Task ${turn}-${count}` });
        const made = await fetch(url, { method: 'POST', headers, body }).catch((error) => error);
        const task = made.status === 201 ? await made.json() : undefined;
        // The other release, if there is one, reads what this one has written.
        const other = `${ready[(count + 1) % ready.length]}/api/tasks/${task?.id}`;
        const read = await fetch(other, { headers }).catch((error) => error);
        await read.text?.();
        if (made.status !== 201 || read.status !== 200) {
          failures.push(`${made.status ?? made} ${read.status ?? read}`);
        }
        written.add(task?.id);
      }
    };
    const clients = [0, 1, 2, 3].map(client);

    await sleep(300);
    await deploy('new');
    const stopNew = await start('new', base + 1);
    await sleep(500);
    await stopOld();
    const stopRollback = await start('old', base + 2);
    await sleep(500);
    await stopNew();
    await sleep(300);
    done = true;
    await Promise.all(clients);
    await stopRollback();

    t.same(failures, []);
    t.ok(written.size > 50, `${written.size} tasks`);
    const [row] = await db.look<{ count: string }>('select count(*) from app.tasks');
    t.equal(Number(row?.count), written.size, 'each acknowledged task is stored once');
  },
);
