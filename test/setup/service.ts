import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DestinationStream, pino } from 'pino';
import type { Test } from 'tap';
import { type App, buildApp } from '../../src/app.js';
import { plainClubsClaim } from '../../src/auth/club-roles.js';
import type { ServerConfig } from '../../src/config.js';
import { Database } from '../../src/database/database.js';
import type { Role } from '../../src/roles.js';
import { type Issuer, signToken, startIssuer } from '../../tools/issuer.js';
import { holdToDocument } from './contract.js';
import { makeDatabase, type TestDatabase } from './database.js';

export const AUDIENCE = 'club-management-service';

/** The service on its own database, with a real issuer. */
export interface TestService {
  app: App;
  db: TestDatabase;
  /** The pool of the service. */
  database: Database;
  issuer: Issuer;
  /** Sends any request. */
  send(method: Method, path: string, options?: SendOptions): Promise<Answer>;
  /** A caller with a role in a club: every request has their token and the club. */
  as(subject: string, role: Role, clubId: string, claims?: Record<string, unknown>): Person;
  token(claims: Record<string, unknown>): Promise<string>;
}

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

export interface SendOptions {
  headers?: Record<string, string | string[]>;
  /** Sent as JSON; a string is sent unchanged. */
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  /** The parsed body; undefined when there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
  text: string;
}

type Call = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

export interface Person {
  get: (path: string, headers?: Record<string, string>) => Promise<Answer>;
  delete: (path: string, headers?: Record<string, string>) => Promise<Answer>;
  post: Call;
  put: Call;
  patch: Call;
  /** The id of their row in app.members. */
  memberId(): Promise<string>;
}

const straight = async ({ url }: TestDatabase) => ({ url, size: 4, prepare: true, readsPerConnection: 1 });

export async function startService(
  t: Test,
  settings: Partial<
    Pick<
      ServerConfig,
      'testUserHeader' | 'rateLimitPerMinute' | 'corsOrigins' | 'metrics' | 'trustProxy' | 'isDevelopment'
    >
  > = {},
  route: (db: TestDatabase) => Promise<ServerConfig['database']> = straight,
  log?: DestinationStream,
): Promise<TestService> {
  const db = await makeDatabase(t);
  const connection = await route(db);
  const directory = await mkdtemp(join(tmpdir(), 'club-issuer-'));
  const { issuer, stop } = await startIssuer(directory);
  const config: ServerConfig = {
    host: '127.0.0.1',
    port: 0,
    maxConnections: 1_000,
    // More than any test sends, so that every answer has the rate limit headers and none is a 429.
    rateLimitPerMinute: 1_000_000,
    logLevel: 'silent',
    database: connection,
    auth: {
      issuer: issuer.url,
      audiences: [AUDIENCE],
      audienceClaim: 'aud',
      jwksUrl: undefined,
      clubs: plainClubsClaim('clubs'),
    },
    trustProxy: undefined,
    corsOrigins: [],
    metrics: undefined,
    testUserHeader: false,
    isDevelopment: false,
    ...settings,
  };
  const database = new Database(config.database);
  const logger = log ? pino({ level: 'trace' }, log) : pino({ level: config.logLevel });
  // Most tests need no audit, which is slow: those that do call runAudit.
  const app = await buildApp(config, database, logger, null);
  t.teardown(async () => {
    await app.close();
    await database.close();
    await stop();
    await rm(directory, { recursive: true });
  });

  await app.ready();
  const check = holdToDocument(app);
  const token = (claims: Record<string, unknown>) => signToken(issuer, AUDIENCE, claims);

  const send: TestService['send'] = async (method, path, { headers = {}, body } = {}) => {
    const response = await app.inject({
      method,
      url: path,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const isJson = String(response.headers['content-type'] ?? '').includes('json') && response.body !== '';
    const answer = {
      status: response.statusCode,
      headers: response.headers,
      body: isJson ? response.json() : undefined,
      text: response.body,
    };
    check(method, path, answer);
    return answer;
  };

  const as: TestService['as'] = (subject, role, clubId, claims = {}) => {
    const authorization = token({ sub: subject, name: subject, clubs: { [clubId]: role }, ...claims }).then(
      (signed) => `Bearer ${signed}`,
    );
    const call = async (method: Method, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      send(method, path, {
        body,
        headers: { authorization: await authorization, 'x-tenant-id': clubId, ...headers },
      });
    return {
      get: (path, headers) => call('GET', path, undefined, headers),
      delete: (path, headers) => call('DELETE', path, undefined, headers),
      post: (path, body, headers) => call('POST', path, body, headers),
      put: (path, body, headers) => call('PUT', path, body, headers),
      patch: (path, body, headers) => call('PATCH', path, body, headers),
      memberId: async () => (await call('GET', '/api/members/me')).body.id,
    };
  };

  return { app, db, database, issuer, send, as, token };
}

/** The first limit for a request that waits for the database: the lock_timeout of the service's login. */
const SHORTEST_LIMIT_MS = 3_000;
const CROWD_ATTEMPTS = 20;

/**
 * Sends a request of a crowd. On a slow machine it can wait for longer than its limit: then it is a 503 and is sent again,
 * as a client does. A 503 before any limit has passed is the answer.
 */
export async function sendInCrowd<Seen extends { status: number }>(send: () => Promise<Seen>): Promise<Seen> {
  for (let attempt = 1; ; attempt += 1) {
    const begun = performance.now();
    const answer = await send();
    const isEarly = performance.now() - begun < SHORTEST_LIMIT_MS;
    if (answer.status !== 503 || isEarly || attempt === CROWD_ATTEMPTS) {
      return answer;
    }
    await sleep(100);
  }
}

/** Audits until there is a new result: on a slow machine an audit can exceed the time limit of a statement. */
export async function runAudit({ audit }: App): Promise<void> {
  const known = audit.latest();
  do {
    await audit.run();
  } while (audit.latest() === known);
}
