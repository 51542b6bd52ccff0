/** The injection points of a request, from the document: the payloads, and the answers that the contract requires. */
import { fit, MISSING } from '../../setup/endpoints.js';
import type { Method } from '../../setup/send.js';
import type { Operation } from './operations.js';
import { fits, payloads } from './payloads.js';

export interface Injection {
  place: string;
  method: Method;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  expected: (number | string)[];
  /** The field that must be returned as sent, when accepted. */
  stored?: { name: string; text: string };
  /** The text that every row of the answer must contain. */
  sought?: string;
}

/** A row of each list of the own club, by its path. */
export type Rows = Record<string, string>;

/** Headers that no operation uses, and that logs and proxies often use. */
const IGNORED = [
  'user-agent', 'referer', 'cookie', 'x-request-id', 'x-correlation-id', 'traceparent', 'x-forwarded-for', 'x-forwarded-host', 'forwarded',
  'x-real-ip', 'x-test-userid', 'accept', 'accept-language', 'origin', 'if-none-match', 'range', 'x-http-method-override',
]; // biome-ignore format: a list
/** The form of an Idempotency-Key: visible ASCII, with inner spaces. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** Every payload at every injection point of the operation. */
export function injectionsAt(operation: Operation, rows: Rows): Injection[] {
  return payloads.flatMap((payload) => injectionsOf(operation, rows, payload));
}

function injectionsOf(operation: Operation, rows: Rows, payload: string): Injection[] {
  const { method, path, fields, headers } = operation;
  const body = fit(operation.body, rows);
  const own = path.replace('{id}', rows[/^\/api\/[\w-]+/.exec(path)?.[0] ?? ''] ?? MISSING);
  // A lone surrogate has no UTF-8; its would-be bytes are sent, and refused.
  const encoded = /\p{Cs}/u.test(payload) ? '%ED%A0%80' : encodeURIComponent(payload);
  const success = method === 'POST' ? 201 : 200;
  const made: Injection[] = [];
  const put = (place: string, expected: Injection['expected'], request: Partial<Injection>) =>
    made.push({ place, method, path: own, ...(body === undefined ? {} : { body }), expected, ...request });

  if (path.includes('{id}')) {
    put('the path', ['invalid_parameter', 'route_not_found'], { path: path.replace('{id}', encoded) });
  }
  for (const name of Object.keys(operation.query)) {
    const isTaken = name === 'q' && fits(payload, 100) && encoded !== '%ED%A0%80';
    put(`?${name}`, isTaken ? [200] : ['invalid_parameter', 'invalid_cursor'], {
      path: `${own}?${name}=${encoded}`,
      ...(isTaken ? { sought: payload.trim() } : {}),
    });
  }
  put('the name of a parameter', ['invalid_parameter'], { path: `${own}?${encoded}=1` });

  for (const [name, { type, format, pattern, enum: words, maxLength = 0 }] of Object.entries(fields ?? {})) {
    const isText =
      [type].flat().includes('string') && [format, pattern, words].every((rule) => rule === undefined);
    const isTaken = isText && fits(payload, maxLength);
    put(`/${name}`, isTaken ? [success] : ['validation_failed'], {
      body: { ...body, [name]: payload },
      ...(isTaken ? { stored: { name, text: payload.trim() } } : {}),
    });
  }
  if (fields !== undefined) {
    put('the name of a field', ['validation_failed'], { body: { ...body, [payload]: payload } });
    put('the body', ['malformed_json'], { body: payload });
    put('Content-Type', ['unsupported_media_type'], { headers: { 'content-type': payload } });
    put('a text for a body', ['validation_failed'], { body: JSON.stringify(payload) });
  }

  // A key is for one request; another request with it would be an error.
  const key = `${payload} ${method} ${path}`;
  for (const header of headers) {
    const expected: Record<string, Injection['expected']> = {
      'X-Tenant-Id': ['tenant_header_invalid'],
      'If-Match': ['precondition_failed'],
      'Idempotency-Key': KEY.test(key)
        ? [201, 'already_signed_up', 'shift_full']
        : ['idempotency_key_invalid'],
    };
    put(header, expected[header] ?? [], {
      headers: { [header.toLowerCase()]: header === 'Idempotency-Key' ? key : payload },
    });
  }
  put('Authorization', ['unauthenticated'], { headers: { authorization: payload } });
  put('a token', ['invalid_token'], { headers: { authorization: `Bearer ${payload}` } });
  if (method === 'GET') {
    const ignored = Object.fromEntries(IGNORED.map((name) => [name, payload]));
    put('headers that are ignored', [200, 'signup_not_found'], { headers: ignored });
  }
  return made;
}
