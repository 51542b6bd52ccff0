import { pino } from 'pino';
import { buildApp } from '../src/app.js';
import { readServerConfig } from '../src/config.js';
import { Database } from '../src/database/database.js';

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
  responses: Record<
    string,
    {
      headers?: unknown;
      content?: Record<string, { example?: unknown; examples?: Record<string, unknown> }>;
    }
  >;
  security?: unknown[];
}

/** The parts of the OpenAPI document that something is generated from. */
export interface Document {
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, { examples?: unknown[]; properties?: Record<string, Record<string, unknown>> }>;
  };
}

/** The path of the list that shows each id of the examples, such as `/api/members` for that of a member. */
export function listsOfIds({ paths }: Document): Map<string, string> {
  return new Map(
    Object.entries(paths).flatMap(([path, { get }]) => {
      const rows = get?.responses['200']?.content?.['application/json']?.example;
      return Array.isArray(rows) && path !== '/api/clubs/me' ? rows.map(({ id }) => [id, path] as const) : [];
    }),
  );
}

/** Nobody listens there, and nobody has to: the document is made of the routes. */
const NOWHERE = { DATABASE_URL: 'postgres://club_api@127.0.0.1/none', AUTH_ISSUER: 'http://127.0.0.1' };

/** The OpenAPI document of the service as it stands in production; no server listens, and no database is asked. */
export async function readDocument(): Promise<Document> {
  const config = readServerConfig(NOWHERE, {});
  const database = new Database(config.database);
  const app = await buildApp(config, database, pino({ level: 'silent' }), null);
  await app.ready();
  const document = structuredClone(app.swagger()) as unknown as Document;
  await app.close();
  await database.close();
  return document;
}
