import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import type { Account } from './account.js';
import { run } from './command.js';
import { exists } from './home.js';
import { identify, isAlive } from './processes.js';

export const SUPERUSER = 'postgres';

/** Where everything is: the programs, and the cluster with its companions. */
export interface Installation {
  account: Account;
  /** The directory of PostgreSQL's programs. */
  bin: string;
  /** The directory that holds the cluster, the password, the owner's record and the server's log. */
  home: string;
  cluster: string;
  log: string;
}

/**
 * Runs initdb unless there is a cluster. It gets its name only when complete, however the process may end.
 */
export async function ensureCluster(
  { account, bin, home, cluster }: Installation,
  sync: boolean,
): Promise<void> {
  if (await exists(cluster)) {
    return;
  }
  for (const name of await readdir(home)) {
    if (name.startsWith(`${basename(cluster)}.`)) {
      await rm(join(home, name), { recursive: true, force: true }).catch(() => {});
    }
  }
  const locale = await localeOptions(account, bin);
  const unfinished = await mkdtemp(`${cluster}.`);
  await give(unfinished, account);
  const { ok, output } = await run(account, join(bin, 'initdb'), [
    `--pgdata=${unfinished}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${await createPassword(home, account)}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    ...locale,
    '--no-instructions',
    ...(sync ? [] : ['--no-sync']),
  ]);
  if (!ok) {
    await rm(unfinished, { recursive: true, force: true });
    throw new Error(`initdb could not create the PostgreSQL cluster ${cluster}:\n${output}`);
  }
  await rename(unfinished, cluster);
}

/**
 * Text sorts by its code points and messages are in English, but letters of every alphabet have their upper
 * and lower case. PostgreSQL does that by itself from version 17 on, and before with the system's locale.
 */
async function localeOptions(account: Account, bin: string): Promise<string[]> {
  const { output } = await run(account, join(bin, 'initdb'), ['--version']);
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1]);
  return major < 17
    ? ['--locale=C', '--lc-ctype=C.UTF-8']
    : ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
}

/** The superuser's password, which only the owner of the files can read. */
export async function readPassword(home: string): Promise<string> {
  return (await readFile(join(home, 'password'), 'utf8')).trim();
}

/**
 * Finds the server that runs on the cluster. The number in its postmaster.pid is not believed alone: after a
 * crash or a reboot it may be some other process, which would neither answer nor deserve to be stopped.
 */
export async function findServer({
  account,
  cluster,
}: Installation): Promise<{ pid: number; port: number } | undefined> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!pid || !port || !(await isAlive(await identify(pid)))) {
    return undefined;
  }
  return (await isPostmaster(pid, account, cluster)) ? { pid, port } : undefined;
}

/**
 * PostgreSQL overcomes a stale postmaster.pid by itself, except when its number was given to another process.
 */
export async function removeMisleadingPidFile({ cluster }: Installation): Promise<void> {
  const file = join(cluster, 'postmaster.pid');
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10);
  if (pid > 0 && (await isAlive(await identify(pid)))) {
    await rm(file, { force: true });
  }
}

/** Stops whatever server runs on the cluster: politely at first, then at once. */
export async function stopServer({ account, bin, cluster }: Installation): Promise<void> {
  let output = '';
  for (const mode of ['fast', 'immediate']) {
    const args = ['stop', '-s', '-w', '-t', '10', '-m', mode, '-D', cluster];
    const outcome = await run(account, join(bin, 'pg_ctl'), args);
    if (outcome.ok) {
      return;
    }
    output = outcome.output;
  }
  throw new Error(`The PostgreSQL server in ${cluster} does not stop:\n${output}`);
}

/**
 * A server works inside its cluster's directory, which tells it from any other process and from other
 * servers.
 */
async function isPostmaster(pid: number, account: Account, cluster: string): Promise<boolean> {
  if (process.platform === 'linux') {
    return (await run(account, 'readlink', [`/proc/${pid}/cwd`])).output === cluster;
  }
  return (await run(account, 'ps', ['-o', 'command=', '-p', String(pid)])).output.includes('postgres');
}

/** Writes a new random password and returns its file's path, from which initdb also reads it. */
async function createPassword(home: string, account: Account): Promise<string> {
  const file = join(home, 'password');
  await rm(`${file}.new`, { force: true });
  await writeFile(`${file}.new`, `${randomBytes(24).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 });
  await give(`${file}.new`, account);
  await rename(`${file}.new`, file);
  return file;
}

async function give(path: string, account: Account): Promise<void> {
  if (account.switched) {
    await chown(path, account.uid, account.gid);
  }
}
