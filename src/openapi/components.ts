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

/** Headers of requests, as parameters. */
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
      'Go on only if the ETag is still this one (RFC 9110, 13.1.1): tags with commas between, or `*`.',
    schema: { type: 'string', examples: ['"1"'] },
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Makes it safe to send this request again: whoever comes with the same key within 24 hours gets the first answer.',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      examples: ['6f1c5d4e-8f0a-4b6e-9a41-0d3c2b7e9f10'],
    },
  },
};

/** An example of an answer, and where it comes from. */
export interface Exchange {
  /** The path of the operation: `/api/tasks/{id}`. */
  path: string;
  /** The path of the request: `/api/tasks/019d4d0b-9d20-7082-8524-56680d21b90d`. */
  url: string;
  status: number;
  body: { id?: string; version?: number } | undefined;
}

type HeaderOf = Omit<Header, 'example'> & { example: (exchange: Exchange) => unknown };

/** Headers of answers; their examples belong to the body beside them. */
export const responseHeaders: Record<string, HeaderOf> = {
  'X-Request-Id': {
    description: 'Names this request in the logs of the service.',
    schema: { type: 'string', format: 'uuid' },
    example: () => REQUEST_ID,
  },
  ETag: {
    description: 'The version, for If-Match.',
    schema: { type: 'string' },
    example: ({ body }) => `"${body?.version}"`,
  },
  Location: {
    description: 'Where the new resource is.',
    schema: { type: 'string', format: 'uri-reference' },
    // What is made below a row is the only one of its kind, and needs no id in its path.
    example: ({ path, url, body }) => (path === url ? `${url}/${body?.id}` : url),
  },
  Link: {
    description: 'Leads to the next page, when there is one (RFC 8288): `<…>; rel="next"`.',
    schema: { type: 'string' },
    example: ({ url }) => `<${url}?limit=2&cursor=${CURSOR}>; rel="next"`,
  },
  'Idempotent-Replayed': {
    description: 'Present when this is the answer to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
    example: () => 'true',
  },
  'Retry-After': {
    description: 'How many seconds to wait.',
    schema: { type: 'integer', minimum: 0 },
    example: ({ status }) => (status === 429 ? 12 : 1),
  },
  'RateLimit-Limit': {
    description: 'How many requests you have in a minute, in this club.',
    schema: { type: 'integer', minimum: 1 },
    example: () => 600,
  },
  'RateLimit-Remaining': {
    description: 'How many of them are left.',
    schema: { type: 'integer', minimum: 0 },
    example: ({ status }) => (status === 429 ? 0 : 588),
  },
  'RateLimit-Reset': {
    description: 'In how many seconds you have all of them again.',
    schema: { type: 'integer', minimum: 0 },
    example: () => 12,
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750).',
    schema: { type: 'string' },
    example: () => 'Bearer',
  },
};

/** The schema of every refusal (RFC 9457); open, as all answers are: clients pass over members they do not know. */
export const problemSchema = ({ types }: Catalogue): Schema => ({
  type: 'object',
  description: 'A refusal (RFC 9457). `code` never changes its meaning; `detail` says what to do.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'The page that says what the code means.' },
    title: { type: 'string', description: 'The code, in words.' },
    status: { type: 'integer', description: 'The status of the answer.' },
    detail: { type: 'string', description: 'What to do, in a sentence; for people, and it may change.' },
    instance: { type: 'string', format: 'uri-reference', description: 'The path of the request.' },
    code: {
      type: 'string',
      enum: types.map(({ code }) => code),
      description: 'What to switch on; it never changes.',
    },
    requestId: {
      type: 'string',
      format: 'uuid',
      description: 'Names this request in the logs of the service.',
    },
    errors: {
      type: 'array',
      description: 'Every fault of the message, each where it is.',
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
          code: { type: 'string', description: 'What kind of fault it is.' },
          detail: { type: 'string', description: 'What is expected there.' },
        },
      },
    },
    ...Object.assign({}, ...types.map(({ members }) => members)),
  },
});
