import { type DestinationStream, pino } from 'pino';
import type { Test } from 'tap';
import { type App, buildApp } from '../../src/app.js';
import { plainClubsClaim } from '../../src/auth/club-roles.js';
import type { ServerConfig } from '../../src/config.js';
import { Database } from '../../src/database/database.js';
import type { ExpiredResponses } from '../../src/ops/expired-responses.js';
import type { IsolationAudit } from '../../src/ops/isolation-audit.js';
import type { Role } from '../../src/roles.js';
import { assertDocumented } from './contract.js';
import { makeDatabase, type TestDatabase } from './database.js';
import { AUDIENCE, type Issuer, startIssuer } from './issuer.js';
import { withoutTimeLimits } from './runtime.js';
import { type Person, personOf, type Send, sendTo } from './send.js';
import { until } from './wait.js';

/** The service on its own database, with a real issuer. */
export interface TestService {
  app: App;
  audit: IsolationAudit;
  expiredResponses: ExpiredResponses;
  db: TestDatabase;
  /** The pool of the service. */
  database: Database;
  issuer: Issuer;
  /** Sends any request. */
  send: Send;
  /** A caller with a role in a club: every request has their token and the club. */
  as(subject: string, role: Role, clubId: string, claims?: Record<string, unknown>): Person;
  token(claims: Record<string, unknown>): string;
}

/** With the time limits of the role, which most tests are not about. */
export const withTimeLimits = async ({ url }: TestDatabase) => ({
  url,
  size: 4,
  prepare: true,
  readsPerConnection: 1,
});
const straight = async (db: TestDatabase) => ({
  ...(await withTimeLimits(db)),
  url: withoutTimeLimits(db.url),
});

export async function startService(
  t: Test,
  {
    issuer: shared,
    ...settings
  }: Partial<
    Pick<
      ServerConfig,
      | 'testUserHeader'
      | 'rateLimitPerMinute'
      | 'corsOrigins'
      | 'publicUrl'
      | 'metrics'
      | 'trustProxy'
      | 'isDevelopment'
      | 'cells'
    >
  > & { issuer?: Issuer } = {},
  route: (db: TestDatabase) => Promise<ServerConfig['database']> = straight,
  log?: DestinationStream,
): Promise<TestService> {
  const db = await makeDatabase(t);
  const connection = await route(db);
  const issuer = shared ?? (await startIssuer(t));
  const config: ServerConfig = {
    host: '127.0.0.1',
    port: 0,
    publicUrl: '',
    maxConnections: 1_000,
    // More than any test sends, so that every response has the rate limit headers and none is a 429.
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
    cells: new Map(),
    metrics: undefined,
    testUserHeader: false,
    isDevelopment: false,
    warnings: [],
    ...settings,
  };
  const database = new Database(config.database);
  const logger = log ? pino({ level: 'trace' }, log) : pino({ level: config.logLevel });
  // Most tests need no audit, which is slow: those that do call runAudit.
  const { app, audit, expiredResponses } = await buildApp({ config, database, logger, auditTimes: null });
  t.teardown(async () => {
    await app.close();
    await database.close();
  });

  await app.ready();
  const check = assertDocumented(app);
  const token: TestService['token'] = (claims) => issuer.sign(claims);

  const inject = sendTo(app);
  const send: Send = async (method, path, options) => {
    const response = await inject(method, path, options);
    check(method, path, response);
    return response;
  };

  const as: TestService['as'] = (subject, role, clubId, claims = {}) => {
    const signed = token({ sub: subject, name: subject, clubs: { [clubId]: role }, ...claims });
    return personOf(send, `Bearer ${signed}`, clubId);
  };

  return { app, audit, expiredResponses, db, database, issuer, send, as, token };
}

/** Audits until there is a new result: on a slow machine an audit can exceed the deadline of a transaction. */
export async function runAudit({ audit }: { audit: IsolationAudit }): Promise<void> {
  const known = audit.latest();
  await until(
    async () => {
      await audit.run();
      return audit.latest();
    },
    (latest) => latest !== known,
  );
}
