import { routes } from './generated/operations.js';
import type { OperationId } from './types.js';

/** The arguments of a call. */
export interface Call {
  /** The parameters of the path. */
  id?: string;
  memberId?: string;
  query?: Record<string, unknown>;
  body?: Record<string, unknown>;
  /** The version for If-Match, for operations without a body. */
  ifVersion?: number | undefined;
  /** Whether the request only creates, and changes nothing that exists (If-None-Match). */
  onlyNew?: boolean | undefined;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** A request; only the token can differ between its attempts. */
export interface PreparedRequest {
  /** Method and path for error messages, without the query string, which can contain names of people. */
  name: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  needsToken: boolean;
}

/**
 * Prepares the request of a call. Its idempotency key is set here, so that all attempts have the same key.
 *
 * @throws TypeError when the operation needs a club and none is given, or for an invalid idempotency key
 * @throws RangeError when a Date is invalid
 */
export function prepare(
  base: string,
  clubId: string | undefined,
  operation: OperationId,
  call: Call,
): PreparedRequest {
  const { method, path: template, needsToken, needsClub, takesKey } = routes[operation];
  const headers: Record<string, string> = { accept: 'application/json, application/problem+json' };
  if (needsClub) {
    if (clubId === undefined) {
      throw new TypeError('This needs a club: createClient({ clubId }), or client.club(id).');
    }
    headers['x-tenant-id'] = clubId;
  }
  if (call.ifVersion !== undefined) {
    headers['if-match'] = `"${call.ifVersion}"`;
  }
  if (call.onlyNew) {
    headers['if-none-match'] = '*';
  }
  if (takesKey) {
    headers['idempotency-key'] =
      call.idempotencyKey === undefined ? newKey() : checkedKey(call.idempotencyKey);
  }
  if (call.body !== undefined) {
    headers['content-type'] = 'application/json';
  }
  const path = template.replaceAll(/\{(id|memberId)\}/g, (_, name: 'id' | 'memberId') =>
    encodeURIComponent(call[name] ?? ''),
  );
  return {
    name: `${method} ${path}`,
    method,
    url: `${base}${path}${queryString(call.query ?? {})}`,
    headers,
    body: call.body === undefined ? undefined : JSON.stringify(call.body, datesToText),
    needsToken,
  };
}

/** Uses getRandomValues, because randomUUID does not exist in pages that are loaded over plain http. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The keys that the service accepts. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** Checks a key of the caller's own, because the platform trims spaces, and its errors do not name the key. */
function checkedKey(key: string): string {
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw new TypeError(
      'idempotencyKey needs 1 to 255 characters of visible ASCII, with spaces only inside.',
    );
  }
  return key;
}

function queryString(query: Record<string, unknown>): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(toText(value))}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function toText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** JSON.stringify would write null for an invalid Date, and null clears a field; toISOString throws instead. */
function datesToText(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const given = this[name];
  return given instanceof Date ? given.toISOString() : value;
}
