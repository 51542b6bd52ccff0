import type { Catalogue } from '../errors/catalogue.js';
import { BEN, CLUB_ID, CURSOR, REQUEST_ID } from '../examples.js';

export type Schema = Record<string, unknown>;
export type Header = { description: string; schema: Schema; example: unknown };

export interface Parameter {
  name: string;
  in: string;
  schema: Schema;
  [member: string]: unknown;
}

/** The entity tag of a calendar; that of a page of a list is weak. */
const ENTITY_TAG = '"yA0zQ5m1uJfXc0hV3iQd8l6tqk2b9nS7oWgR4pEeTzU"';

/** The request headers, as OpenAPI parameters. */
export const requestHeaders: Record<string, Parameter> = {
  'X-Tenant-Id': {
    name: 'X-Tenant-Id',
    in: 'header',
    required: true,
    description: 'The id of the club. `GET /api/clubs/me` lists yours.',
    schema: { type: 'string', format: 'uuid' },
    example: CLUB_ID,
  },
  'X-Test-UserId': {
    name: 'X-Test-UserId',
    in: 'header',
    required: false,
    description: 'In test set-ups: the id of the member to act as.',
    schema: { type: 'string', format: 'uuid', examples: [BEN.id] },
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'Run the request only if the current ETag is in this list (RFC 9110, 13.1.1): tags separated by commas, or `*`.',
    schema: { type: 'string', examples: ['"1"'] },
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description:
      'Run the request only if the current ETag is not in this list, with `*` only if nothing exists; otherwise 304 for GET and 412 for PUT (RFC 9110, 13.1.2).',
    schema: { type: 'string', examples: [ENTITY_TAG, '*'] },
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Makes retries safe: a repeated request with the same key within 24 hours gets the first response again.',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      examples: ['6f1c5d4e-8f0a-4b6e-9a41-0d3c2b7e9f10'],
    },
  },
  'Club-Cells': {
    name: 'Club-Cells',
    in: 'header',
    required: false,
    description:
      'List only the clubs of the cell that serves the request. Cells send this to each other, to avoid loops.',
    schema: { type: 'string', enum: ['own'], examples: ['own'] },
  },
};

/** An example of a response, and its request. */
export interface Exchange {
  /** The path of the operation: `/api/tasks/{id}`. */
  path: string;
  /** The path of the request: `/api/tasks/019d4d0b-9d20-7082-8524-56680d21b90d`. */
  url: string;
  status: number;
  /** Whether the operation reads a page of a list. */
  isList: boolean;
  /** The body, or the first of its rows. */
  body: { id?: string; version?: number; batchId?: string | null } | undefined;
}

type HeaderOf = Omit<Header, 'example'> & { example: (exchange: Exchange) => unknown };

/** The response headers; each example fits the body of its response. */
export const responseHeaders: Record<string, HeaderOf> = {
  'X-Request-Id': {
    description: 'The id of this request in the logs of the service.',
    schema: { type: 'string', format: 'uuid' },
    example: () => REQUEST_ID,
  },
  ETag: {
    description:
      'The current state, for If-Match and If-None-Match: the version of an object, or a hash of a page of a list or of the file of a calendar.',
    schema: { type: 'string' },
    example: ({ isList, body }) =>
      isList ? `W/${ENTITY_TAG}` : body?.version === undefined ? ENTITY_TAG : `"${body.version}"`,
  },
  Location: {
    description: 'Where the new resource is.',
    schema: { type: 'string', format: 'uri-reference' },
    example: locationOf,
  },
  Link: {
    description: 'The URL of the next page, if there is one (RFC 8288): `<…>; rel="next"`.',
    schema: { type: 'string' },
    example: ({ url }) => `<${url}?limit=2&cursor=${CURSOR}>; rel="next"`,
  },
  'Content-Disposition': {
    description: 'The name of the file to save the response in.',
    schema: { type: 'string' },
    example: () => `attachment; filename="member-${BEN.id}.json"`,
  },
  'Club-Cells-Missing': {
    description:
      'Present when cells did not list their clubs within a second: the names of these cells, with commas between. Their clubs are missing in the response.',
    schema: { type: 'string' },
    example: () => 'east, west',
  },
  'Idempotent-Replayed': {
    description: 'Present when this is the response to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
    example: () => 'true',
  },
  'Retry-After': {
    description: 'The number of seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 0 },
    example: ({ status }) => (status === 429 ? 12 : 1),
  },
  'RateLimit-Limit': {
    description:
      'The maximum number of requests per minute: yours in this club, or those of a calendar link.',
    schema: { type: 'integer', minimum: 1 },
    example: () => 600,
  },
  'RateLimit-Remaining': {
    description: 'The number of requests that are left.',
    schema: { type: 'integer', minimum: 0 },
    example: ({ status }) => (status === 429 ? 0 : 588),
  },
  'RateLimit-Reset': {
    description: 'The number of seconds until the limit is reset.',
    schema: { type: 'integer', minimum: 0 },
    example: () => 12,
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750).',
    schema: { type: 'string' },
    example: () => 'Bearer',
  },
};

/**
 * Where a created resource is. One below a row, such as a signup, or without an id is at the path of the request; a batch is in a
 * list.
 */
function locationOf({ path, url, body }: Exchange): string {
  if (path !== url) {
    return url;
  }
  const { id, batchId } = body ?? {};
  const list = url.replace(/\/batch$/, '');
  if (list !== url) {
    return batchId ? `${list}?batchId=${batchId}` : list;
  }
  return id === undefined ? url : `${url}/${id}`;
}

/** The schema of every error (RFC 9457). Like all responses it allows further members, which clients ignore. */
export const problemSchema = ({ types }: Catalogue): Schema => ({
  type: 'object',
  description: 'An error (RFC 9457). `code` never changes its meaning; `detail` says what to do.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'The page that explains the code.' },
    title: { type: 'string', description: 'A short name of the error.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'What to do, for people. The text may change.' },
    instance: {
      type: 'string',
      format: 'uri-reference',
      description: 'The path of the request, without the secret of a calendar; a URN if the path is unknown.',
    },
    code: {
      type: 'string',
      enum: types.map(({ code }) => code),
      description: 'The error, for programs; it never changes.',
    },
    requestId: {
      type: 'string',
      format: 'uuid',
      description: 'The id of this request in the logs of the service.',
    },
    errors: {
      type: 'array',
      description: 'Every invalid field, parameter or header of the request.',
      items: {
        type: 'object',
        required: ['code', 'detail'],
        properties: {
          pointer: { type: 'string', description: 'A JSON Pointer (RFC 6901) into the body.' },
          parameter: {
            type: 'string',
            description: 'The name of a parameter in the path or the query string.',
          },
          header: { type: 'string', description: 'The name of a header.' },
          code: { type: 'string', description: 'The kind of the error.' },
          detail: { type: 'string', description: 'What is expected there.' },
        },
      },
    },
    ...Object.assign({}, ...types.map(({ members }) => members)),
  },
});
