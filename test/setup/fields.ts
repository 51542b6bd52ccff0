/** Every endpoint that reads a body, with its fields as the document describes them: for the rules of all fields. */
import type { TSchema } from '@sinclair/typebox';
import { problemFromValidation } from '../../src/errors/from-validation.js';
import { buildValidator } from '../../src/validation/compiler.js';
import { Strict } from '../../src/validation/schemas.js';
import { document, type Endpoint, endpoints, makeClubFor, operationOf, operationsAt } from './endpoints.js';
import type { Response } from './send.js';
import type { TestService } from './service.js';

/** The schema of a field or a parameter. */
export interface Field {
  type: string | string[];
  format?: string;
  enum?: string[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength: number;
  items?: Field;
  minItems?: number;
  maxItems?: number;
  'x-text'?: 'line' | 'block';
}

export type Fields = Record<string, Field>;

interface BodySchema {
  properties?: Fields;
  required?: string[];
}

/** An endpoint that reads a body, for a row that exists. */
export interface Write {
  /** Its method and path. */
  name: string;
  method: string;
  path: string;
  clubId: string;
  fields: Fields;
  required: string[];
  /** The smallest valid body. */
  least: Record<string, unknown>;
  /** Sends any body as an Admin; a string is sent unchanged. */
  send(body?: unknown): Promise<Response>;
  /** Sends the smallest valid body with these fields. */
  sendWith(fields: Record<string, unknown>): Promise<Response>;
  /** Reads the row of a response again. */
  read(row: { id: string }): Promise<Response>;
}

/** The schema of the body of an endpoint. */
export function bodySchemaOf(endpoint: Pick<Endpoint, 'method' | 'path'>): BodySchema {
  const { schema } = operationOf(endpoint).requestBody?.content['application/json'] ?? {};
  const name = schema?.$ref?.split('/').at(-1);
  return ((name === undefined ? schema : document.components.schemas[name]) ?? {}) as BodySchema;
}

/**
 * The endpoints that read a body, each in a club of its own. A new row is deleted before the next one is created, because a
 * value can be unique.
 */
export async function writesOf(service: TestService): Promise<Write[]> {
  return Promise.all(
    endpoints
      .filter(({ body }) => body !== undefined)
      .map(async (endpoint): Promise<Write> => {
        const { method, path } = endpoint;
        const { clubId, url, body } = await makeClubFor(service, endpoint);
        const admin = service.as('writer', 'Admin', clubId);
        const senders = { POST: admin.post, PUT: admin.put, PATCH: admin.patch };
        const { properties: fields = {}, required = [] } = bodySchemaOf({ method, path });
        const least = Object.fromEntries(
          required.map((name) => [name, (body as Record<string, unknown>)[name]]),
        );
        const isReadable = method !== 'POST' && operationsAt(path).get !== undefined;
        let created: string | undefined;
        const send: Write['send'] = async (content) => {
          if (created !== undefined) {
            await admin.delete(created);
          }
          const response = await senders[method as 'POST'](url, content);
          created = response.headers.location as string | undefined;
          return response;
        };
        return {
          name: `${method} ${path}`,
          method,
          path,
          clubId,
          fields,
          required,
          least,
          send,
          sendWith: (changes) => send({ ...least, ...changes }),
          read: ({ id }) => admin.get(isReadable ? url : `${path.split('/:id')[0]}/${id}`),
        };
      }),
  );
}

/** The fields of a kind. */
export function fieldsWhere({ fields }: Write, isOfKind: (field: Field) => boolean): [string, Field][] {
  return Object.entries(fields).filter(([, field]) => isOfKind(field));
}

/**
 * The places of the field errors of a refused body, as JSON Pointers, or of refused parameters, as names: each with a code and
 * a detail. The status and code of any other response.
 */
export function fieldErrors({ status, body }: Response): string[] {
  if (status !== 400 || !['validation_failed', 'invalid_parameter'].includes(body.code) || !body.errors) {
    return [[status, body?.code].join(' ').trim()];
  }
  return (body.errors as Record<string, string>[])
    .map(({ pointer, parameter, code = '', detail = '' }) =>
      /^[a-z_]+$/.test(code) && /\w/.test(detail) ? String(pointer ?? parameter) : 'no code and detail',
    )
    .sort();
}

/** The error of a value in a field of this schema, for a building block that no resource uses yet; undefined if it is valid. */
export function errorOf(schema: TSchema, value: unknown): string | undefined {
  const validate = buildValidator({})({ schema: Strict({ field: schema }), httpPart: 'body' });
  return validate({ field: value })
    ? undefined
    : problemFromValidation(validate.errors as never, 'body').message;
}
