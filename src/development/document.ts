import { pino } from 'pino';
import { buildApp } from '../app.js';
import { Database } from '../database/database.js';
import { plainClubsClaim } from '../identity/clubs-claim.js';

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  example?: unknown;
  schema: { examples?: unknown[] };
}

export interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> };
  responses: Record<string, unknown>;
  security?: unknown[];
}

/** The parts of the OpenAPI document that something is generated from. */
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { examples?: unknown[] }> };
}

/** The OpenAPI document of the service as it stands in production; no server listens, and no database is asked. */
export async function readDocument(): Promise<Document> {
  const database = new Database({ url: 'postgres://club_api@127.0.0.1/none', slots: 1, prepare: true });
  const app = await buildApp(
    {
      host: '127.0.0.1',
      port: 0,
      maxConnections: 1,
      rateLimitPerMinute: 600,
      logLevel: 'silent',
      database: { url: '', slots: 1, prepare: true },
      auth: {
        issuer: 'http://127.0.0.1',
        audiences: ['club-management-service'],
        audienceClaim: 'aud',
        jwksUrl: 'http://127.0.0.1/jwks',
        clubs: plainClubsClaim('clubs'),
      },
      trustProxy: undefined,
      corsOrigins: [],
      metrics: undefined,
      testUserHeader: false,
    },
    database,
    pino({ level: 'silent' }),
    null,
  );
  await app.ready();
  const document = structuredClone(app.swagger()) as unknown as Document;
  await app.close();
  await database.close();
  return document;
}
