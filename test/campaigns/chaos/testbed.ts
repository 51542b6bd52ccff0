import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Test } from 'tap';
import { provisionClub } from '../../../src/deploy/provision-club.js';
import type { Role } from '../../../src/roles.js';
import { root } from '../../../tools/root.js';
import { AUDIENCE, type Issuer, startIssuer } from '../../setup/issuer.js';
import { type Splitter, startProxy, type TestProxy } from '../../setup/proxy.js';
import type { Fault, Operation } from './history.js';
import type { Databases, Victim } from './postgres.js';
import { prepareService, type ServiceProcess } from './process.js';

export const POOL_SIZE = 4;
/** The FROM clause for the sessions of the service. */
export const BACKENDS = `from pg_stat_activity where backend_type = 'client backend' and usename like 'club\\_api%'
  and datname = current_database()`;

/** A club and its canary: a word that is in every text of it, and in no other club's. */
export interface Club {
  id: string;
  canary: string;
  /** The members who send requests. */
  memberIds: string[];
  /** Whether members are merged. That deletes the stored responses of the club, so other requests there have no key. */
  hasMerges: boolean;
}

/** Clubs in a database, the URLs that lead to them, a clock, and the record of a run. */
export interface Target {
  database: string;
  /** The URLs of the service. The members are divided among them. */
  entrances: string[];
  /** The issuer of the tokens. */
  issuer: Issuer;
  clubs: Club[];
  operations: Operation[];
  faults: Fault[];
  now(): number;
  token(club: Club, subject: string, role: Role): string;
  queryAsAdmin: (sql: string, values?: unknown[]) => ReturnType<Databases['queryAsAdmin']>;
}

/** The chain of clients, proxy, service process, proxy and PostgreSQL. */
export interface Testbed extends Target {
  victim: Victim;
  service: ServiceProcess;
  /** The proxy between the clients and the service. */
  front: TestProxy;
  /** The proxy between the service and PostgreSQL. */
  back: TestProxy;
  /** Failed deploys, in words. */
  failedDeploys: string[];
}

export interface TestbedOptions {
  /** The program of the process, relative to the root of the project. */
  program: string;
  /** SQL for the database before the service starts. */
  prepare?: string;
}

/** Makes a database with three clubs, which no service serves yet. */
export async function makeTarget(t: Test, databases: Databases): Promise<Target> {
  const database = await databases.makeDatabase();
  const { migration } = databases.urls(database);
  const issuer = await startIssuer(t);
  const clubs: Club[] = [];
  for (const name of ['north', 'south', 'west']) {
    const canary = `canary-${name}-${randomBytes(4).toString('hex')}`;
    const id = await provisionClub(migration, { name: canary, slug: canary, timeZone: 'Europe/Berlin' });
    clubs.push({ id, canary, memberIds: [], hasMerges: name === 'west' });
  }
  const began = performance.now();
  return {
    database,
    entrances: [],
    issuer,
    clubs,
    operations: [],
    faults: [],
    now: () => Math.round((performance.now() - began) * 1000) / 1000,
    token: ({ id, canary }, subject, role) =>
      issuer.sign({
        sub: `${subject}-${canary}`,
        name: `${canary} ${subject}`,
        clubs: { [id]: role },
      }),
    queryAsAdmin: (sql, values) => databases.queryAsAdmin(database, sql, values),
  };
}

/** Starts a process of the service for these clubs. */
export async function startProcess(
  t: Test,
  { issuer }: Target,
  program: string,
  url: string,
): Promise<ServiceProcess> {
  const service = await prepareService(t, join(root, program), {
    DATABASE_URL: url,
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    AUTH_ISSUER: issuer.url,
    AUTH_AUDIENCE: AUDIENCE,
    LOG_LEVEL: 'error',
    // A few callers send many requests, which must not be rate-limited.
    RATE_LIMIT_PER_MINUTE: '0',
  });
  await service.start();
  await service.untilReady();
  return service;
}

/** Starts a database with three clubs, the service on it, and proxies on both sides. */
export async function startTestbed(
  t: Test,
  victim: Victim,
  { program, prepare }: TestbedOptions,
): Promise<Testbed> {
  const target = await makeTarget(t, victim);
  if (prepare !== undefined) {
    await target.queryAsAdmin(prepare);
  }
  const back = await startProxy(t, victim.urls(target.database).api);
  const service = await startProcess(t, target, program, back.url);
  const front = await startProxy(t, service.url, splitHttp);
  return { ...target, entrances: [front.url], victim, service, front, back, failedDeploys: [] };
}

/** Splits HTTP into head and body at the end of the head. */
const splitHttp: Splitter = () => (chunk) => {
  const end = chunk.indexOf('\r\n\r\n') + 4;
  return end < 4 || end === chunk.length ? [chunk] : [chunk.subarray(0, end), chunk.subarray(end)];
};
