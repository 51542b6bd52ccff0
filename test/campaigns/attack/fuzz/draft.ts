import fc, { type Arbitrary } from 'fast-check';
import type { Described, Operation } from './document.js';
import { type FuzzRequest, ROLES, standIn, tokenOf } from './request.js';
import { id, value } from './values.js';

/** The parts of a request, before it is serialized. */
export interface Draft {
  operation: Operation;
  method: string;
  /** The path parameter; undefined where the path has none. */
  id: string | undefined;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  body: unknown;
}

const NOUN: Record<string, 'task' | 'shift' | 'member'> = {
  tasks: 'task',
  shifts: 'shift',
  members: 'member',
};

/** Undefined this many times for each generated value. */
export function rarely<Value>(arbitrary: Arbitrary<Value>, times: number): Arbitrary<Value | undefined> {
  return fc.oneof({ weight: times, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

/** Valid requests of an operation, by the document. */
export function draft(described: Described, operation: Operation): Arbitrary<Draft> {
  const { parameters, bodies, bodyIsRequired, isSecured, path } = operation;
  const noun = NOUN[path.split('/')[2] ?? ''] ?? 'task';
  const queries = parameters.filter((parameter) => parameter.in === 'query');
  const headers = parameters
    .filter((parameter) => parameter.in === 'header')
    .map(({ name }) => name.toLowerCase());
  const has = (name: string) => headers.includes(name);
  const media = Object.keys(bodies);
  const body = bodies[media[0] ?? ''];

  const token = fc.oneof(
    { weight: 8, arbitrary: fc.constant('Admin') },
    { weight: 2, arbitrary: fc.constantFrom(...ROLES) },
  );
  const tag = fc.constantFrom('"1"', '*', '"2"', '"1", "2"', 'W/"1"', '');
  const key = fc.oneof(fc.constantFrom('a', 'b', 'c d', '~'), fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 8 }).map((drawn) => `k${drawn}k`)); // biome-ignore format: one thing

  return fc
    .record({
      id: path.includes('{id}') ? id(noun) : fc.constant(undefined),
      query: fc.tuple(
        ...queries.map(({ name, schema }) =>
          // A generated cursor belongs to no list.
          (name === 'cursor'
            ? rarely(fc.constantFrom('W10', 'bm8'), 12)
            : rarely(value(described, schema), 3)
          ).map((drawn): Draft['query'] => (drawn === undefined ? [] : [[name, String(drawn)]])),
        ),
      ),
      token,
      match: has('if-match') ? rarely(tag, 2) : fc.constant(undefined),
      key: has('idempotency-key') ? rarely(key, 2) : fc.constant(undefined),
      user: has('x-test-userid') ? rarely(id('member'), 5) : fc.constant(undefined),
      media: fc.constantFrom(
        ...(media.length === 0 ? [''] : media),
        ...(media.length === 0 ? [] : [`${media[0]}; charset=utf-8`]),
      ),
      body: body === undefined ? fc.constant(undefined) : value(described, body),
      isEmpty: fc.boolean(),
      isHead: fc.integer({ min: 0, max: 9 }),
    })
    .map((drawn): Draft => {
      const sendsBody = drawn.body !== undefined && (bodyIsRequired || !drawn.isEmpty);
      const all: Record<string, string | undefined> = {
        authorization: isSecured ? `Bearer ${tokenOf(drawn.token)}` : undefined,
        'x-tenant-id': has('x-tenant-id') ? standIn('club', 0) : undefined,
        'if-match': drawn.match,
        'idempotency-key': drawn.key,
        'x-test-userid': drawn.user,
        'content-type': sendsBody ? drawn.media : undefined,
      };
      return {
        operation,
        method: operation.method === 'GET' && drawn.isHead === 0 ? 'HEAD' : operation.method,
        id: drawn.id,
        query: drawn.query.flat(),
        headers: Object.fromEntries(
          Object.entries(all).filter(([, header]) => header !== undefined),
        ) as Record<string, string>,
        body: sendsBody ? drawn.body : undefined,
      };
    });
}

/** Serializes a draft. */
export function written(kind: FuzzRequest['kind'], change: string, drawn: Draft): FuzzRequest {
  const { operation, method, query, headers, body } = drawn;
  const search = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  const path = operation.path.replace('{id}', encode(drawn.id ?? ''));
  const url = search === '' ? path : `${path}?${search}`;
  return {
    kind,
    change,
    method,
    url,
    headers,
    ...(body === undefined ? {} : { body: { text: JSON.stringify(body) } }),
  };
}

/** Percent-encodes a text; a lone surrogate is encoded as UTF-8 would encode it. */
function encode(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}
