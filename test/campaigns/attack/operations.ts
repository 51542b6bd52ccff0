import type { App } from '../../../src/app.js';
import type { Role } from '../../../src/roles.js';
import { endpoints } from '../../setup/endpoints.js';
import type { Method } from '../../setup/send.js';

export interface Schema {
  type?: string | string[];
  format?: string;
  pattern?: string;
  enum?: string[];
  maxLength?: number;
  $ref?: string;
  properties?: Record<string, Schema>;
}

/** An operation of the document: its inputs, and its role. */
export interface Operation {
  method: Method;
  path: string;
  query: Record<string, Schema>;
  headers: string[];
  /** The fields of its body; none without a body. */
  fields: Record<string, Schema> | undefined;
  role: Role;
  /** A valid body. */
  body: Record<string, unknown> | undefined;
  /** The answer to a caller with a sufficient role, for an id that no row has. */
  answer: number | string;
  /** The codes of its 404. */
  missing: string[];
  /** The codes of its domain errors: 422. */
  forbidden: string[];
}

/**
 * The operations under /api from the document, so that a new operation, parameter or field is
 * attacked without a change here. Only the roles come from elsewhere: the table that test/api/authorization.test.ts
 * compares with the routes.
 */
export function operationsOf(app: App): Operation[] {
  const document = app.swagger() as unknown as {
    paths: Record<string, Record<string, DocumentedOperation>>;
    components: { schemas: Record<string, Schema> };
  };
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined
      ? schema
      : (document.components.schemas[schema.$ref.replace('#/components/schemas/', '')] as Schema);
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([verb, { parameters = [], requestBody, responses }]): Operation[] => {
      const method = verb.toUpperCase() as Method;
      const known = endpoints.find(
        (endpoint) => endpoint.method === method && endpoint.path.replace(':id', '{id}') === path,
      );
      if (!path.startsWith('/api/')) {
        return [];
      }
      if (known === undefined) {
        throw new Error(`test/setup/endpoints.ts does not say who may ${method} ${path}.`);
      }
      const placed = (place: string) => parameters.filter((parameter) => parameter.in === place);
      const schema = requestBody?.content['application/json']?.schema;
      const codesOf = (status: string) =>
        Object.keys(responses[status]?.content?.['application/problem+json']?.examples ?? {});
      return [
        {
          method,
          path,
          query: Object.fromEntries(placed('query').map(({ name, schema }) => [name, schema])),
          headers: placed('header').map(({ name }) => name),
          fields: schema && (resolve(schema).properties ?? {}),
          role: known.role,
          body: known.body as Record<string, unknown> | undefined,
          answer: known.answer,
          missing: codesOf('404'),
          forbidden: codesOf('422'),
        },
      ];
    }),
  );
}

interface DocumentedOperation {
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { examples?: object }> }>;
}

/** Runs work with each of the items, some concurrently. */
export async function eachOf<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await work(item);
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}
