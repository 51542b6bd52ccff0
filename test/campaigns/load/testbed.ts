import { join } from 'node:path';
import type { Test } from 'tap';
import { provisionClub } from '../../../src/deploy/provision-club.js';
import { Environment } from '../../../src/variables.js';
import { root } from '../../../tools/root.js';
import { freePort } from '../../setup/free-port.js';
import { AUDIENCE, type Issuer, startIssuer } from '../../setup/issuer.js';
import { startVictim, type Victim } from '../chaos/postgres.js';
import { prepareService, type ServiceProcess } from '../chaos/process.js';
import type { Request } from './generator.js';

/** The connections that the service allows: those of the environment, otherwise its default. */
const MAX_CONNECTIONS = process.env.MAX_CONNECTIONS || String(Environment.properties.MAX_CONNECTIONS.default);

/** The system under load: the shipped service, otherwise with its defaults, on its own PostgreSQL. */
export interface Testbed {
  service: ServiceProcess;
  /** The URL of the metrics port, which also answers health. */
  adminUrl: string;
  maxConnections: number;
  makeClub(slug: string): Promise<string>;
  /** Creates a member with a role in the club. */
  join(club: string, subject: string, role: string): Promise<Member>;
  queryAsAdmin: (sql: string, values?: unknown[]) => ReturnType<Victim['queryAsAdmin']>;
}

/** Serializes a request of this member. */
export type Member = (method: string, path: string, body?: unknown) => Request;

export async function startTestbed(t: Test): Promise<Testbed> {
  const victim = await startVictim(t);
  const database = await victim.makeDatabase();
  const { api, migration } = victim.urls(database);
  const issuer = await startIssuer(t);
  const metricsPort = String(await freePort());
  const environment = {
    DATABASE_URL: api,
    AUTH_ISSUER: issuer.url,
    AUTH_AUDIENCE: AUDIENCE,
    METRICS_PORT: metricsPort,
    MAX_CONNECTIONS,
  };
  const service = await prepareService(t, join(root, 'dist/server.js'), environment, false);
  await service.start();
  await service.untilReady();
  return {
    service,
    adminUrl: `http://127.0.0.1:${metricsPort}`,
    maxConnections: Number(MAX_CONNECTIONS),
    makeClub: (slug) => provisionClub(migration, { name: slug, slug, timeZone: 'Europe/Berlin' }),
    join: async (club, subject, role) => wording(issuer, club, subject, role),
    queryAsAdmin: (sql, values) => victim.queryAsAdmin(database, sql, values),
  };
}

function wording(issuer: Issuer, club: string, subject: string, role: string): Member {
  const token = issuer.sign({ sub: subject, name: subject, clubs: { [club]: role } });
  const who = `host: club\r\nauthorization: Bearer ${token}\r\nx-tenant-id: ${club}\r\n`;
  return (method, path, body) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const type =
      body === undefined
        ? ''
        : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`;
    return Buffer.from(`${method} ${path} HTTP/1.1\r\n${who}${type}\r\n${text}`);
  };
}
