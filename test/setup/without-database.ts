import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { type DestinationStream, pino } from 'pino';
import type { Test } from 'tap';
import { type App, buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { Database } from '../../src/database/database.js';
import { AUDIENCE } from './issuer.js';
import { type Send, sendTo } from './send.js';

/** The service without a database: in its place a listener counts connections and closes them. */
export interface OfflineService {
  app: App;
  send: Send;
  /** The number of connections that the service tried to open to its database. */
  connections(): number;
  /**
   * Sends a token; returns the code of the error. An accepted token fails at the next check, for
   * the tenant header, so no database is needed to distinguish it from a rejected token.
   */
  code(token: string): Promise<string>;
}

export const ACCEPTED = 'tenant_header_missing';

export async function startOfflineService(
  t: Test,
  {
    issuer,
    jwksUrl = '',
    log,
    logLevel = 'warn',
  }: { issuer: string; jwksUrl?: string; log?: DestinationStream; logLevel?: 'warn' | 'trace' },
): Promise<OfflineService> {
  let connections = 0;
  const listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const { port } = listener.address() as AddressInfo;

  const config = readServerConfig(
    {
      NODE_ENV: 'test',
      DATABASE_URL: `postgres://nobody:nothing@127.0.0.1:${port}/nowhere`,
      DATABASE_POOL_SIZE: '1',
      AUTH_ISSUER: issuer,
      AUTH_AUDIENCE: AUDIENCE,
      AUTH_JWKS_URL: jwksUrl,
    },
    {},
  );
  const database = new Database(config.database);
  const logger = log ? pino({ level: logLevel }, log) : pino({ level: 'silent' });
  const { app } = await buildApp({ config, database, logger, auditTimes: null });
  t.teardown(async () => {
    await app.close();
    await database.close();
    listener.close();
  });

  const send = sendTo(app);
  return {
    app,
    send,
    connections: () => connections,
    code: async (token) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await send('GET', '/api/clubs/current', { headers })).body.code;
    },
  };
}
