import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../tools/root.js';
import { startFlags } from '../tools/start-flags.js';
import type { DatabaseName, Environment } from './environment.js';
import { Wire } from './wire.js';

/** An HTTP server in a separate process. */
export interface Contender {
  name: string;
  port: number;
  pid: number;
  /** The number of database connections, for the report. */
  pool: string;
  /** The time from the start of the process until it is ready. */
  readyMs: number;
  /** Ends the process, unless it has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** A program to start: the service as released, a rival, or a limit without a database. */
export interface Program {
  name: string;
  file: string;
  settings: Record<string, string>;
  pool?: string;
  flags?: string[];
}

export const service: Program = {
  name: 'service',
  file: 'dist/server.js',
  settings: { NODE_ENV: 'production' },
  pool: '5, as it ships',
};

/** Programs of bench/rivals, each with the variants of its settings that are tried. */
export const rivals: Record<string, Record<string, string>[]> = {
  express: [{ PIPELINE: 'off' }, { PIPELINE: 'on' }],
  nest: [{}],
  awaited: [{}],
};

/** Programs of bench/limits. */
export const limits: Program[] = [
  { name: 'fastify', file: 'dist/development/bench/limits/fastify.js', settings: { TOKENS: 'off' } },
  { name: 'fastify-jwt', file: 'dist/development/bench/limits/fastify.js', settings: { TOKENS: 'on' } },
];

/** A rival with a pool of this size and a variant of its settings. */
export function rival(name: string, pool: number, variant: Record<string, string>): Program {
  return {
    name,
    file: `bench/rivals/dist/${name}.js`,
    settings: { NODE_ENV: 'production', POOL_SIZE: String(pool), ...variant },
    pool: [pool, ...Object.entries(variant).map(([key, value]) => `${key}=${value}`)].join(', '),
  };
}

/**
 * Starts a program on a free port and waits until it responds. It ends at the latest with the environment. Its stdout
 * is discarded, its stderr is shown. All programs get the V8 memory flags of `npm start`.
 */
export async function startContender(
  { name, file, settings, pool = '-', flags = [] }: Program,
  environment: Environment,
  database: DatabaseName = 'many',
): Promise<Contender> {
  const port = await freePort();
  const nowhere = openSync('/dev/null', 'w');
  const started = performance.now();
  const child = spawn(process.execPath, [...startFlags(root), ...flags, join(root, file)], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      DATABASE_URL: environment.apiUrl(database),
      AUTH_ISSUER: environment.issuer.url,
      ...settings,
    },
    stdio: ['ignore', nowhere, 'inherit'],
  });
  closeSync(nowhere);
  const stop = (signal?: NodeJS.Signals) => end(child, signal);
  environment.teardowns.push(stop);
  await untilReady(port, child, file === service.file ? '/readyz' : '/api/tasks');
  return { name, port, pid: child.pid as number, pool, readyMs: performance.now() - started, stop };
}

async function untilReady(port: number, child: ChildProcess, path: string): Promise<void> {
  for (let attempt = 0; attempt < 3_000; attempt += 1) {
    if (child.exitCode !== null) {
      throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}`);
    }
    const wire = await Wire.connect(port).catch(() => undefined);
    const response = await wire
      ?.request(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
      .catch(() => undefined);
    wire?.close();
    if (response !== undefined && (path !== '/readyz' || response.status === 200)) {
      return;
    }
    await sleep(10);
  }
  throw new Error(`${child.spawnargs.join(' ')} does not become ready`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const closed = once(child, 'exit');
    // After SIGTERM the service drains for seconds; only a process that exits by itself writes a profile.
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), 12_000);
    await closed;
    clearTimeout(timer);
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
