import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { startPostgres } from '../../tools/postgres.js';
import {
  becomes,
  directory,
  directoryWithCluster,
  isDown,
  isGone,
  kill,
  postmaster,
  query,
  start,
  startInProcess,
} from './fixtures/postgres.js';

t.jobs = 4;
t.test('data outlives the server, which listens on loopback only and speaks UTF-8 and UTC', async (t) => {
  const dataDir = await directoryWithCluster(t);
  const first = await start(t, dataDir, { work_mem: '5MB', application_name: "it's" });
  t.equal(first.owned, true);
  await query(first.url('postgres'), 'CREATE TABLE kept AS SELECT 42 AS answer');
  const settings = `SELECT current_setting(name) FROM unnest(ARRAY['listen_addresses', 'unix_socket_directories',
    'server_encoding', 'timezone', 'work_mem', 'lc_messages', 'password_encryption']) AS name`;
  t.same(await query(first.url('postgres'), settings), [
    '127.0.0.1',
    '',
    'UTF8',
    'UTC',
    '5MB',
    'C',
    'scram-sha-256',
  ]);
  t.same(await query(first.url('postgres'), "SELECT upper('é')"), ['É']);
  await Promise.all([first.stop(), first.stop()]);
  t.equal(await isDown(first.url('postgres')), true);

  const second = await start(t, dataDir);
  t.same(await query(second.url('postgres'), 'SELECT answer FROM kept'), [42]);
  t.equal(second.password, first.password);
});

t.test('a server with a running owner is shared, and stopping a shared server does nothing', async (t) => {
  const dataDir = await directoryWithCluster(t);
  const owner = await startInProcess(t, dataDir, true);
  const borrowed = await start(t, dataDir);
  t.equal(borrowed.owned, false);
  t.equal(borrowed.url('postgres'), owner.url);
  await borrowed.stop();
  t.same(await query(owner.url, 'SELECT 1'), [1]);
});

t.test('of several concurrent starts, one starts the server and the others share it', async (t) => {
  const dataDir = await directory(t);
  const servers = await Promise.all([1, 2, 3, 4].map(() => start(t, dataDir)));
  t.equal(servers.filter(({ owned }) => owned).length, 1);
  t.equal(new Set(servers.map((server) => server.url('postgres'))).size, 1);
});

t.test('a killed owner leaves neither its server nor a temporary directory behind', async (t) => {
  const dataDir = await directoryWithCluster(t);
  const owner = await startInProcess(t, dataDir, true);
  t.same(await query(owner.url, 'SHOW fsync'), ['off']);
  await kill(owner.child);
  t.equal(await becomes(() => isDown(owner.url)), true);
  t.equal(await becomes(() => isGone(dataDir)), true);
});

t.test("a signal to the owner's whole process group does not stop the keeper", async (t) => {
  const ends = async (signal: NodeJS.Signals) => {
    const dataDir = await directoryWithCluster(t);
    const owner = await startInProcess(t, dataDir, true);
    process.kill(-(owner.child.pid ?? Number.NaN), signal);
    await once(owner.child, 'exit');
    t.equal(await becomes(() => isDown(owner.url)), true, `no server after ${signal}`);
    t.equal(await becomes(() => isGone(dataDir)), true, `no directory after ${signal}`);
  };
  await Promise.all([ends('SIGINT'), ends('SIGHUP'), ends('SIGTERM')]);
});

const hasPgrep = spawnSync('pgrep', ['--version']).error === undefined;
const needsPgrep = hasPgrep ? {} : { skip: 'pgrep is missing; install procps' };
/** The process that stops a server when its owner has ended. */
const keeperOf = async (dataDir: string) =>
  Number((await promisify(execFile)('pgrep', ['-f', `^/bin/sh -c .*${dataDir}/cluster`])).stdout);
const isOver = async (pid: number) => {
  try {
    return !process.kill(pid, 0);
  } catch {
    return true;
  }
};

t.test('a restart right after the owner was killed starts a new server', needsPgrep, async (t) => {
  const dataDir = await directoryWithCluster(t);
  const owner = await startInProcess(t, dataDir, false);
  const keeper = await keeperOf(dataDir);
  await query(owner.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await kill(owner.child);
  const successor = await start(t, dataDir);
  t.equal(successor.owned, true);
  t.equal(await becomes(() => isOver(keeper)), true, 'the keeper has done its work');
  t.same(await query(successor.url('postgres'), 'SELECT answer FROM kept'), [42]);
});

t.test('a server left without owner and keeper is replaced', needsPgrep, async (t) => {
  const dataDir = await directoryWithCluster(t);
  const owner = await startInProcess(t, dataDir, false);
  process.kill(await keeperOf(dataDir), 'SIGKILL');
  await kill(owner.child);
  const orphan = await postmaster(dataDir);
  t.same(await query(owner.url, 'SELECT 1'), [1]);

  const successor = await start(t, dataDir);
  t.equal(successor.owned, true);
  t.not(await postmaster(dataDir), orphan);
  t.equal(await isDown(owner.url), true);
});

t.test('a crashed server is replaced even when another process has its pid', async (t) => {
  const dataDir = await directoryWithCluster(t);
  const first = await start(t, dataDir);
  await query(first.url('postgres'), 'CREATE TABLE kept AS SELECT 42 AS answer');
  process.kill(await postmaster(dataDir), 'SIGKILL');
  t.equal(await becomes(() => isDown(first.url('postgres'))), true);
  const file = join(dataDir, 'cluster', 'postmaster.pid');
  await writeFile(file, (await readFile(file, 'utf8')).replace(/^\d+/, String(process.pid)));

  const second = await start(t, dataDir);
  t.equal(second.owned, true);
  await first.stop();
  t.same(
    await query(second.url('postgres'), 'SELECT answer FROM kept'),
    [42],
    'its predecessor stops only its own server',
  );
});

t.test('an interrupted first start does not affect the second one', async (t) => {
  const dataDir = await directory(t);
  await mkdir(join(dataDir, 'cluster.half'));
  await writeFile(join(dataDir, 'cluster.half', 'PG_VERSION'), '18\n');
  const server = await start(t, dataDir);
  t.same(await query(server.url('postgres'), 'SELECT 1'), [1]);
});

t.test('a password is required, and only the owner may read it', async (t) => {
  const dataDir = await directory(t);
  const server = await start(t, dataDir);
  await t.rejects(query(server.url('postgres', 'postgres', 'wrong'), 'SELECT 1'), { code: '28P01' });
  await query(server.url('postgres'), `CREATE ROLE "a b" LOGIN PASSWORD 'p/w:@?'`);
  await query(server.url('postgres'), 'CREATE DATABASE "d b"');
  t.same(await query(server.url('d b', 'a b', 'p/w:@?'), 'SELECT current_user, current_database()'), [
    'a b',
    'd b',
  ]);
  t.notMatch(await readFile(join(dataDir, 'cluster', 'pg_hba.conf'), 'utf8'), /^[^#]*\btrust\b/m);
  const mode = async (name: string) => ((await stat(join(dataDir, name))).mode & 0o777).toString(8);
  t.same(await Promise.all(['.', 'cluster', 'cluster/superuser_password', 'server.log'].map(mode)), [
    '700',
    '700',
    '600',
    '600',
  ]);
});

t.test('a failed start reports the server’s log and leaves nothing running', async (t) => {
  const dataDir = await directoryWithCluster(t);
  await t.rejects(startPostgres({ dataDir, throwaway: true, settings: { no_such_setting: '1' } }), {
    message: /did not start[\s\S]*unrecognized configuration parameter "no_such_setting"/,
  });
  t.equal(await isGone(dataDir), true);
});

t.test(
  'a temporary directory is removed when the server stops, even if only the caller can reach it',
  async (t) => {
    const parent = await directory(t);
    const server = await startPostgres({ dataDir: join(parent, 'data'), throwaway: true });
    t.same(await query(server.url('postgres'), 'SHOW max_connections'), ['200']);
    await server.stop();
    t.same(await readdir(parent), []);
  },
);

t.test('variables meant for other PostgreSQL programs have no influence', async (t) => {
  const env = { PGDATA: '/nonexistent', PGPORT: '1', PGOPTIONS: '-c no_such_setting=1', PGUSER: 'nobody' };
  const owner = await startInProcess(t, await directory(t), true, env);
  t.same(await query(owner.url, 'SELECT current_user'), ['postgres']);
});
