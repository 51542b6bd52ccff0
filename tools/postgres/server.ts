import { readFile, rename } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Installation } from './cluster.js';
import { Watchdog } from './watchdog.js';

export const HOST = '127.0.0.1';

const ATTEMPTS = 4;

/** What another process took a moment earlier, or still holds for a moment longer. */
const PASSING = /Address already in use|pre-existing shared memory block/;

/** What suits data that nobody will miss: no care for durability, and room for many test files at once. */
const THROWAWAY_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
};

export interface LaunchOptions {
  settings: Record<string, string>;
  throwaway: boolean;
  sweeper: Watchdog | undefined;
  /** Called with each keeper before its server starts, so that no server runs without a known keeper. */
  announce: (keeper: Watchdog) => Promise<void>;
}

/** Starts a server under a keeper on a free port, once more when the port was lost in between. */
export async function launch(installation: Installation, options: LaunchOptions) {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const keeper = await Watchdog.keeper(installation, commandLine(port, options), options.sweeper);
    let complaint: string | undefined;
    try {
      await options.announce(keeper);
      // The log of the start before is kept: it may tell why that server ended.
      await rename(installation.log, `${installation.log}.previous`).catch(() => {});
      complaint = await keeper.startServer();
    } catch (error) {
      await keeper.letGo();
      throw error;
    }
    if (complaint === undefined) {
      return { keeper, port };
    }
    const log = await lastLines(installation.log, 30);
    if (attempt === ATTEMPTS || !PASSING.test(log)) {
      throw new Error(`The PostgreSQL server in ${installation.cluster} did not start: ${complaint}\n${log}`);
    }
    await sleep(250 * attempt);
  }
}

/** The caller's settings may replace the defaults, but not where the server listens. */
function commandLine(port: number, { settings, throwaway }: LaunchOptions): string {
  const all = {
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(throwaway ? THROWAWAY_SETTINGS : {}),
    ...settings,
    listen_addresses: HOST,
    unix_socket_directories: '',
    port: String(port),
  };
  return Object.entries(all)
    .map(([name, value]) => `-c ${quote(`${name}=${value}`)}`)
    .join(' ');
}

/** pg_ctl hands its options to a shell. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, HOST, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function lastLines(file: string, count: number): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
