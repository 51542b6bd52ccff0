/** The requests with which a caller may try to reach another club. */
import { fit, MISSING } from '../../setup/endpoints.js';
import type { Method } from '../../setup/send.js';
import { type CanaryClub, kindOf } from './clubs.js';
import { fillPath, type Operation, parametersOf } from './operations.js';

/** Requests that differ in one id or word only: an id that does not exist, and the ids of another club. */
export interface Attempt {
  name: string;
  operation: Operation;
  method: Method;
  variants: Variant[];
}

export interface Variant {
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Fields, parameters and headers with which a request may try to set its own identity. */
const CLAIMS = ['tenantId', 'tenant_id', 'clubId', 'id', 'memberId', 'createdById', 'role'];
const HEADERS = [
  'x-test-userid',
  'x-club-id',
  'x-tenant',
  'x-http-method-override',
  'x-original-url',
  'x-user',
];

/** All attempts at an operation, by a caller in one club for the rows of another. */
export function attemptsAt(operation: Operation, own: CanaryClub, other: CanaryClub): Attempt[] {
  const { method, path, query, headers, fields } = operation;
  const body = fit(operation.body, own.rows);
  const kind = kindOf(path);
  const hasId = path.includes('{');
  // An id in one place of the path, and rows of the own club in the others.
  const at = (id: string, search = '', place = 'id') =>
    fillPath(path, (of, name) => (name === place ? id : String(own.ids[of]))) + search;
  const foreign = [other.id, ...Object.values(other.ids), other.ids.task.toUpperCase()];
  const ids = [MISSING, ...foreign];
  const attempt = (name: string, variants: Variant[], verb: Method = method): Attempt => ({
    name,
    operation,
    method: verb,
    variants: variants.map((variant) => ({ ...(body === undefined ? {} : { body }), ...variant })),
  });
  const found: Attempt[] = [];
  for (const place of parametersOf(path)) {
    // Rows of the own club of another kind too.
    const strays = Object.entries(own.ids).filter(([name]) => name !== place.kind && name !== 'open');
    const variants = [...ids, ...strays.map(([, id]) => id)].map((id) => ({ path: at(id, '', place.name) }));
    found.push(attempt(`ids as ${place.name} in the path`, variants));
  }
  if (method === 'GET') {
    found.push(attempt('HEAD', (hasId ? ids : ['']).map((id) => ({ path: at(id) })), 'HEAD'));
  }
  for (const name of Object.keys(fields ?? {}).filter((field) => fields?.[field]?.format === 'uuid')) {
    const target = at(kind === 'task' ? own.ids.open : String(own.ids[kind]));
    found.push(attempt(`ids as ${name}`, ids.map((id) => ({ path: target, body: { ...body, [name]: id } }))));
  }
  const isId = ({ format, pattern }: Operation['query'][string]) => format === 'uuid' || pattern?.includes('0-9a-f');
  for (const name of Object.keys(query).filter((one) => one.endsWith('Id') || isId(query[one] ?? {}))) {
    found.push(attempt(`?${name}`, ids.map((id) => ({ path: at('', `?${name}=${id}`) }))));
  }
  if (query.q !== undefined) {
    const words = ['nothing-of-the-kind', other.inside, other.front, other.mail, other.subject];
    found.push(attempt('a search', words.map((word) => ({ path: at('', `?q=${word}`) }))));
  }
  for (const claim of CLAIMS) {
    const values = [MISSING, other.id];
    if (query[claim] === undefined) {
      found.push(attempt(`?${claim}`, values.map((id) => ({ path: at(MISSING, `?${claim}=${id}`) }))));
    }
    if (fields !== undefined && fields[claim] === undefined) {
      found.push(attempt(`${claim} in the body`, values.map((id) => ({ path: at(MISSING), body: { ...body, [claim]: id } }))));
    }
  }
  for (const header of HEADERS) {
    const values = [MISSING, other.id, other.ids.member];
    found.push(attempt(header, values.map((id) => ({ path: at(MISSING), headers: { [header]: id } }))));
  }
  if (headers.includes('If-Match')) {
    found.push(attempt('If-Match', ids.map((id) => ({ path: at(id), headers: { 'if-match': '*' } }))));
  }
  if (headers.includes('Idempotency-Key') && hasId) {
    found.push(attempt('another club’s key', ids.map((id) => ({ path: at(id), headers: { 'idempotency-key': other.key } }))));
  }
  return found;
} // biome-ignore format: an attempt a line
