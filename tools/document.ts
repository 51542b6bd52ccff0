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
  description: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: { $ref?: string } }> };
  responses: Record<
    string,
    {
      headers?: unknown;
      content?: Record<string, { example?: unknown; examples?: Record<string, unknown> }>;
    }
  >;
  security?: unknown[];
}

/** The parts of the OpenAPI document that files are generated from. */
export interface Document {
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, { examples?: unknown[]; properties?: Record<string, Record<string, unknown>> }>;
  };
}

/** Maps each example id to the path of the list that contains it, such as `/api/members` for the id of a member. */
export function listsOfIds({ paths }: Document): Map<string, string> {
  return new Map(
    Object.entries(paths).flatMap(([path, { get }]) => {
      const rows = get?.responses['200']?.content?.['application/json']?.example;
      return Array.isArray(rows) && path !== '/api/clubs/me' ? rows.map(({ id }) => [id, path] as const) : [];
    }),
  );
}

/** The paths of the lists whose example ids a body contains. */
export function linksOf(body: unknown, lists: Map<string, string>): string[] {
  const ids = JSON.stringify(body ?? null).match(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g) ?? [];
  return ids.flatMap((id) => lists.get(id) ?? []);
}

/**
 * The paths of the lists to which a POST to the same path adds a row, each after the lists that its example refers to. Members come
 * first: a first request creates one too.
 *
 * @throws Error when an example refers to a row that no earlier POST creates
 */
export function listsInOrder(document: Document): string[] {
  const lists = listsOfIds(document);
  const order = ['/api/members'];
  let waiting = Object.entries(document.paths).flatMap(([path, { get, post }]) =>
    get === undefined || post === undefined || path.includes('{') || order.includes(path)
      ? []
      : [{ path, example: exampleOfBody(post, document) }],
  );
  while (waiting.length > 0) {
    const ready = waiting.filter(({ example }) =>
      linksOf(example, lists).every((list) => order.includes(list)),
    );
    if (ready.length === 0) {
      const paths = waiting.map(({ path }) => path).join(', ');
      throw new Error(`The examples of ${paths} refer to rows that no earlier POST creates.`);
    }
    order.push(...ready.map(({ path }) => path));
    waiting = waiting.filter((one) => !ready.includes(one));
  }
  return order;
}

/** The first example of the body of an operation; undefined when it has none. */
export function exampleOfBody({ requestBody }: Operation, { components }: Document): unknown {
  const { $ref } = requestBody?.content['application/json']?.schema ?? {};
  return components.schemas[$ref?.replace('#/components/schemas/', '') ?? '']?.examples?.[0];
}

/** Placeholder addresses: the document is generated from the routes, without a connection. */
const NOWHERE = { DATABASE_URL: 'postgres://club_api@127.0.0.1/none', AUTH_ISSUER: 'http://127.0.0.1' };

/** The OpenAPI document of the service in production. No server is started, and no database connection is opened. */
export async function readDocument(): Promise<Document> {
  const config = readServerConfig(NOWHERE, {});
  const database = new Database(config.database);
  const { app } = await buildApp({ config, database, logger: pino({ level: 'silent' }), auditTimes: null });
  await app.ready();
  // As clients get it: without the functions of rules.
  const document = JSON.parse(JSON.stringify(app.swagger())) as Document;
  await app.close();
  await database.close();
  return document;
}
