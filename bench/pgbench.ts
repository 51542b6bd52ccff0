import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseName, Environment } from './environment.js';
import type { Measurement } from './measurement.js';
import { readUse } from './processors.js';

/** The number of sessions, the same as of the service. */
const CLIENTS = 5;

/** The pgbench of the newest installed PostgreSQL, or in PATH; undefined when there is none. */
export function findPgbench(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian)
    ? readdirSync(debian).sort((one, other) => Number(other) - Number(one))
    : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  return folders.map((folder) => join(folder, 'pgbench')).find((file) => existsSync(file));
}

export interface Order {
  script: string;
  /** The number of HTTP requests that one run of the script corresponds to. */
  requests: number;
  database?: DatabaseName | 'copy';
  /** The duration in seconds, or the number of runs of each client. */
  length: { seconds: number } | { runs: number };
}

/** Runs a script as the runtime role with prepared statements; throws when a statement fails. */
export async function runPgbench(
  pgbench: string,
  { server, postmaster }: Pick<Environment, 'server' | 'postmaster'>,
  { script, requests, database = 'many', length }: Order,
): Promise<Measurement> {
  const directory = await mkdtemp(join(tmpdir(), 'club-pgbench-'));
  const file = join(directory, 'script.sql');
  await writeFile(file, script);
  const limit = 'seconds' in length ? `--time=${length.seconds}` : `--transactions=${length.runs}`;
  const before = readUse(process.pid, postmaster);
  const child = spawn(
    pgbench,
    [
      ...['--no-vacuum', '--protocol=prepared', `--client=${CLIENTS}`, '--jobs=1', limit, `--file=${file}`],
      ...['--define=n=0', `--host=${server.host}`, `--port=${server.port}`, '--username=club_api', database],
    ],
    { env: { PATH: process.env.PATH, PGPASSWORD: server.password }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  // The sessions end just after pgbench. Only then their processor time is part of the postmaster's.
  await sleep(200);
  const after = readUse(process.pid, postmaster);
  await rm(directory, { recursive: true });
  const runs = Number(/actually processed: (\d+)/.exec(output)?.[1]);
  const perSecond = Number(/tps = ([\d.]+)/.exec(output)?.[1]) * requests;
  if (code !== 0 || !(runs > 0)) {
    throw new Error(`pgbench ended with ${code}:\n${output}`);
  }
  const elapsedMs = after.atMs - before.atMs;
  const used = (part: 'contender' | 'postgres' | 'generator' | 'busy') => after[part] - before[part];
  const foreign = used('busy') - used('contender') - used('postgres') - used('generator');
  return {
    perSecond,
    nodeUs: used('contender') / (runs * requests),
    postgresUs: used('postgres') / (runs * requests),
    generatorUs: 0,
    p50Ms: Number.NaN,
    p95Ms: Number.NaN,
    p99Ms: Number.NaN,
    requests: runs * requests,
    errors: 0,
    firstError: undefined,
    foreignShare: foreign / (elapsedMs * 1000 * availableParallelism()),
  };
}
