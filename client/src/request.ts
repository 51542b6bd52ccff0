import { routes } from './generated/operations.js';
import type { OperationId } from './types.js';

/** What a call adds to its operation. */
export interface Call {
  id?: string;
  query?: Record<string, unknown>;
  body?: Record<string, unknown>;
  /** The version that must be the current one, for operations without a body. */
  ifVersion?: number | undefined;
  idempotencyKey?: string;
  signal?: AbortSignal | undefined;
}

/** A request, the same at every attempt but for the token. */
export interface PreparedRequest {
  /** For messages: the query string stays out of them, for it may hold names. */
  name: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  needsToken: boolean;
}

/** The operations that belong to no club. */
const CLUBLESS: OperationId[] = ['listMyClubs', 'isAlive', 'isReady'];

/**
 * Makes the request of a call. Everything that makes it safe to send twice is decided here, once.
 *
 * @throws TypeError when the operation needs a club and there is none
 * @throws RangeError when a Date is no time
 */
export function prepare(
  base: string,
  clubId: string | undefined,
  operation: OperationId,
  call: Call,
): PreparedRequest {
  const [method, template] = routes[operation];
  const headers: Record<string, string> = { accept: 'application/json, application/problem+json' };
  if (!CLUBLESS.includes(operation)) {
    if (clubId === undefined) {
      throw new TypeError('This needs a club: createClient({ clubId }), or client.club(id).');
    }
    headers['x-tenant-id'] = clubId;
  }
  if (call.ifVersion !== undefined) {
    headers['if-match'] = `"${call.ifVersion}"`;
  }
  if (method === 'POST') {
    headers['idempotency-key'] = call.idempotencyKey ?? newKey();
  }
  if (call.body !== undefined) {
    headers['content-type'] = 'application/json';
  }
  const path = template.replace('{id}', encodeURIComponent(call.id ?? ''));
  return {
    name: `${method} ${path}`,
    method,
    url: `${base}${path}${queryString(call.query ?? {})}`,
    headers,
    body: call.body === undefined ? undefined : JSON.stringify(call.body, written),
    needsToken: path.startsWith('/api/'),
  };
}

/** From getRandomValues: a page that came over plain http has no randomUUID. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function queryString(query: Record<string, unknown>): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(said(value))}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function said(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** JSON would write null for a Date that is none, and null clears. */
function written(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const given = this[name];
  return given instanceof Date ? given.toISOString() : value;
}
