import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Test } from 'tap';
import { provisionClub } from '../../../src/deploy/provision-club.js';
import type { Role } from '../../../src/roles.js';
import { root } from '../../../tools/root.js';
import { AUDIENCE, type Issuer, startIssuer } from '../../setup/issuer.js';
import { type Splitter, startProxy, type TestProxy } from '../../setup/proxy.js';
import type { Fault } from './history.js';
import type { Victim } from './postgres.js';
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
}

/** The chain of clients, proxy, service process, proxy and PostgreSQL, with a clock. */
export interface Testbed {
  victim: Victim;
  database: string;
  service: ServiceProcess;
  /** The proxy between the clients and the service. */
  front: TestProxy;
  /** The proxy between the service and PostgreSQL. */
  back: TestProxy;
  /** The issuer of the tokens. */
  issuer: Issuer;
  clubs: Club[];
  faults: Fault[];
  /** Failed deploys, in words. */
  failedDeploys: string[];
  now(): number;
  token(club: Club, subject: string, role: Role): string;
  queryAsAdmin: (sql: string, values?: unknown[]) => ReturnType<Victim['queryAsAdmin']>;
}

export interface TestbedOptions {
  /** The program of the process, relative to the root of the project. */
  program: string;
  /** SQL for the database before the service starts. */
  prepare?: string;
}

/** Starts a database with three clubs, the service on it, and proxies on both sides. */
export async function startTestbed(
  t: Test,
  victim: Victim,
  { program, prepare }: TestbedOptions,
): Promise<Testbed> {
  const database = await victim.makeDatabase();
  const { api, migration } = victim.urls(database);
  const back = await startProxy(t, api);
  const issuer = await startIssuer(t);
  const clubs: Club[] = [];
  for (const name of ['north', 'south', 'west']) {
    const canary = `canary-${name}-${randomBytes(4).toString('hex')}`;
    const id = await provisionClub(migration, { name: canary, slug: canary, timeZone: 'Europe/Berlin' });
    clubs.push({ id, canary, memberIds: [] });
  }
  if (prepare !== undefined) {
    await victim.queryAsAdmin(database, prepare);
  }
  const service = await prepareService(t, join(root, program), {
    DATABASE_URL: back.url,
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    AUTH_ISSUER: issuer.url,
    AUTH_AUDIENCE: AUDIENCE,
    LOG_LEVEL: 'error',
    // A few callers send many requests, which must not be rate-limited.
    RATE_LIMIT_PER_MINUTE: '0',
  });
  await service.start();
  await service.untilReady();
  const front = await startProxy(t, service.url, splitHttp);
  const began = performance.now();
  return {
    victim,
    database,
    service,
    front,
    back,
    issuer,
    clubs,
    faults: [],
    failedDeploys: [],
    now: () => Math.round((performance.now() - began) * 1000) / 1000,
    token: ({ id, canary }, subject, role) =>
      issuer.sign({
        sub: `${subject}-${canary}`,
        name: `${canary} ${subject}`,
        clubs: { [id]: role },
      }),
    queryAsAdmin: (sql, values) => victim.queryAsAdmin(database, sql, values),
  };
}

/** Splits HTTP into head and body at the end of the head. */
const splitHttp: Splitter = () => (chunk) => {
  const end = chunk.indexOf('\r\n\r\n') + 4;
  return end < 4 || end === chunk.length ? [chunk] : [chunk.subarray(0, end), chunk.subarray(end)];
};
