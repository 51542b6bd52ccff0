import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Test } from 'tap';
import { childOptions, give, serverAccount } from '../../tools/postgres.js';
import { freePort } from './free-port.js';
import { codeBlocks } from './pages.js';

/** Ties the pooler to a pipe, so that it ends with the test in every case. */
const KEEPER = '"$1" "$2" & cat >/dev/null; kill $!; wait';
const ATTEMPTS = 3;

/** Finds PgBouncer; Debian installs it in a folder that only root's PATH has. */
export async function findPgBouncer(): Promise<string | undefined> {
  for (const directory of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']) {
    const program = join(directory, 'pgbouncer');
    if (
      await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
    ) {
      return program;
    }
  }
  return undefined;
}

/**
 * Starts PgBouncer as docs/operate.md configures it, for one database and its login; returns the
 * database's URL through it.
 */
export async function startPooler(t: Test, program: string, url: string, poolSize: number): Promise<string> {
  const { hostname, port, pathname, username, password } = new URL(url);
  const database = pathname.slice(1);
  // PgBouncer refuses to run as root, like PostgreSQL, and uses the same account.
  const account = await serverAccount();
  const directory = await mkdtemp(join(tmpdir(), 'club-pooler-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const write = async (name: string, text: string) => {
    const file = join(directory, name);
    await writeFile(file, text, { mode: 0o600 });
    await give(file, account);
    return file;
  };
  await give(directory, account);
  const users = await write('userlist.txt', `"${username}" "${password}"\n`);

  const [block = ''] = await codeBlocks('docs/operate.md', 'ini');
  for (let attempt = 1; ; attempt += 1) {
    const ownPort = await freePort();
    const text = block
      .replace(/^clubs = .*$/m, `${database} = host=${hostname} port=${port} dbname=${database}`)
      .replace(/^(listen_port) = .*$/m, `$1 = ${ownPort}`)
      .replace(/^(auth_file) = .*$/m, `$1 = ${users}`)
      .replace(/^(default_pool_size) = .*$/m, `$1 = ${poolSize}`);
    const ini = await write('pgbouncer.ini', `${text}unix_socket_dir =\n`);
    const child = spawn('/bin/sh', ['-c', KEEPER, 'sh', program, ini], {
      ...childOptions(account),
      // Not in the terminal's process group: Ctrl-C would end the keeper before the pooler.
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    const stop = async () => {
      const closed = once(child, 'close');
      child.stdin.end();
      await closed;
    };
    const log = await outputUntil(child.stderr as Socket, /process up|FATAL/);
    if (log.includes('process up')) {
      t.teardown(stop);
      return url.replace(`${hostname}:${port}`, `127.0.0.1:${ownPort}`);
    }
    await stop();
    if (attempt === ATTEMPTS) {
      throw new Error(`PgBouncer did not start:\n${log}`);
    }
  }
}

/** The output of a stream until it matches, or ends. Reading continues, so that the writer never blocks. */
function outputUntil(stream: Socket, what: RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    stream.on('data', (chunk) => {
      text += chunk;
      if (what.test(text)) {
        resolve(text);
      }
    });
    stream.once('end', () => resolve(text));
  });
}
