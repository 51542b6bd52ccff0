import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { freePort } from './free-port.js';
import { codeBlocks, emptyFolder } from './pages.js';
import { until } from './wait.js';

/** Debian installs HAProxy in a folder that only root's PATH has. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

/** Why a test with HAProxy is skipped on this machine; false if it runs. */
export const haproxyMissing =
  spawnSync('haproxy', ['-v'], { env: ENV }).error !== undefined && 'haproxy is missing; install haproxy';

/** HAProxy in front of two cells, with the configuration of docs/growing.md. */
export interface TestHaproxy {
  url: string;
  /** The file of the map of clubs. */
  map: string;
  /** The address of the runtime API. */
  socket: string;
  start(): Promise<void>;
  kill(): Promise<void>;
}

/**
 * Starts HAProxy. It ends with the test.
 *
 * @param cells the URLs of the two cells
 * @param options.map the map file of another HAProxy
 * @param options.socket the address of the runtime API, host:port; a path by default
 */
export async function startHaproxy(
  t: Test,
  cells: { west: string; east: string },
  options: { map?: string; socket?: string } = {},
): Promise<TestHaproxy> {
  const folder = await emptyFolder(t);
  const { map = join(folder, 'clubs.map'), socket = join(folder, 'admin.sock') } = options;
  const address = `127.0.0.1:${await freePort()}`;
  const values = {
    '/run/haproxy/admin.sock': socket,
    '/etc/haproxy/clubs.map': map,
    ':8080': address,
    '127.0.0.1:3000': new URL(cells.west).host,
    '127.0.0.1:3001': new URL(cells.east).host,
    // Each cell has one port here.
    'port 9464': `port ${new URL(cells.west).port}`,
    'port 9465': `port ${new URL(cells.east).port}`,
  };
  let [text = ''] = await codeBlocks('docs/growing.md', 'haproxy');
  for (const [printed, value] of Object.entries(values)) {
    if (!text.includes(printed)) {
      throw new Error(`The configuration of docs/growing.md does not have ${printed}.`);
    }
    text = text.replaceAll(printed, value);
  }
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, text);
  if (options.map === undefined) {
    await writeFile(map, '');
  }

  let child: ChildProcess | undefined;
  const start = async () => {
    const started = spawn('haproxy', ['-db', '-f', file], { env: ENV, stdio: ['ignore', 'ignore', 'pipe'] });
    child = started;
    let printed = '';
    started.stderr.on('data', (chunk) => {
      printed += chunk;
    });
    const isListening = () => {
      if (started.exitCode !== null) {
        throw new Error(`HAProxy has ended: ${printed}`);
      }
      return fetch(`http://${address}/livez`).then(
        () => true,
        () => false,
      );
    };
    await until(isListening, Boolean);
  };
  const kill = async () => {
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  };
  t.teardown(kill);
  await start();
  return { url: `http://${address}`, map, socket, start, kill };
}
