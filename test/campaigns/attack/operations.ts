import { setImmediate } from 'node:timers/promises';
import type { App } from '../../../src/app.js';
import { endpoints } from '../../setup/endpoints.js';
import type { Method } from '../../setup/send.js';
import { kindOf } from './clubs.js';

export interface Schema {
  type?: string | string[];
  format?: string;
  pattern?: string;
  enum?: string[];
  maxLength?: number;
  $ref?: string;
  properties?: Record<string, Schema>;
}

/** An operation of the document, with what a request of it can contain. */
export interface Operation {
  method: Method;
  path: string;
  /** The query parameters by name. */
  query: Record<string, Schema>;
  /** The names of the headers. */
  headers: string[];
  /** The fields of the body by name; undefined without a body. */
  fields: Record<string, Schema> | undefined;
  /** A valid body. */
  body: Record<string, unknown> | undefined;
}

/** The operations under /api, from the document: a new operation, parameter or field is attacked without a change here. */
export function operationsOf(app: App): Operation[] {
  const document = app.swagger() as unknown as {
    paths: Record<string, Record<string, DocumentedOperation>>;
    components: { schemas: Record<string, Schema> };
  };
  const resolve = (schema: Schema): Schema =>
    document.components.schemas[schema.$ref?.replace('#/components/schemas/', '') ?? ''] ?? schema;
  return endpoints.map(({ method, path: route, body }) => {
    const path = route.replaceAll(/:(\w+)/g, '{$1}');
    const { parameters = [], requestBody } = document.paths[path]?.[method.toLowerCase()] ?? {};
    const schema = requestBody?.content['application/json']?.schema;
    const query = parameters.filter((parameter) => parameter.in === 'query');
    return {
      method,
      path,
      query: Object.fromEntries(query.map(({ name, schema }) => [name, schema])),
      headers: parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name),
      fields: schema && (resolve(schema).properties ?? {}),
      body: body as Operation['body'],
    };
  });
}

interface DocumentedOperation {
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** The parameters of a path, and the kinds of rows that they name: `{id}` that of the list, `{memberId}` a member. */
export const parametersOf = (path: string): { name: string; kind: string }[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    kind: name === 'id' ? kindOf(path) : name.slice(0, -'Id'.length),
  }));

/** The path with an id for each kind of row. */
export const fillPath = (path: string, idOf: (kind: string, name: string) => string): string =>
  parametersOf(path).reduce((all, { name, kind }) => all.replace(`{${name}}`, () => idOf(kind, name)), path);

/** Runs work with each of the items, some concurrently. */
export async function eachOf<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await work(item);
      // Requests that are refused without I/O would keep the process from reading the results of the others.
      await setImmediate();
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}
