/** The attempts at each endpoint, for every identity and tenant header, with the answer that the contract requires. */
import { fit, MISSING } from '../../setup/endpoints.js';
import { statusOf } from '../../setup/errors.js';
import type { Method } from '../../setup/send.js';
import { type CanaryClub, kindOf } from './clubs.js';
import { accessErrorOf, type Identity, isInClub, type Tenant } from './identities.js';
import type { Operation } from './operations.js';

export interface Attempt {
  name: string;
  operation: Operation;
  identity: Identity;
  tenant: Tenant;
  method: Method;
  /** Requests for different ids, whose answers must not reveal which of them exist. */
  variants: Variant[];
  /** The code of an error, or the status of a success. */
  expected: (number | string)[];
}

export interface Variant {
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

const MALFORMED = ['x', '1', `${MISSING}0`, `{${MISSING}}`, `urn:uuid:${MISSING}`, `${MISSING}%00`, "1'or'1"];
/** Fields and headers with which a request may try to set its own identity. */
const CLAIMS = ['tenantId', 'tenant_id', 'clubId', 'id', 'memberId', 'createdById', 'role'];
const HEADERS = [
  'x-test-userid',
  'x-club-id',
  'x-tenant',
  'x-http-method-override',
  'x-original-url',
  'x-user',
];

/** All attempts of one identity at one operation with one tenant header. */
export function attemptsAt(
  operation: Operation,
  identity: Identity,
  tenant: Tenant,
  clubs: { own: CanaryClub; other: CanaryClub },
): Attempt[] {
  const { method, path, answer } = operation;
  const { own, other } = clubs;
  const body = fit(operation.body, own.rows);
  const accessError = accessErrorOf(operation, identity, tenant);
  const hasId = path.includes('{id}');
  const at = (id: string, query = '') => `${path.replace('{id}', id)}${query}`;
  const attempts: Attempt[] = [];
  const tryOut = (name: string, variants: Omit<Variant, 'body'>[], expected: Attempt['expected'], all = {}) =>
    attempts.push({
      name,
      operation,
      identity,
      tenant,
      method,
      variants: variants.map((variant) => ({ ...(body === undefined ? {} : { body }), ...variant })),
      expected: accessError === undefined ? expected : [accessError],
      ...all,
    });

  // Ids of the other club, of every kind; and ids of the own club of another kind.
  const kind = kindOf(path);
  const strangers = [MISSING, other.id, ...Object.values(other.ids), other.ids.task.toUpperCase()];
  if (hasId) {
    const strays = Object.entries(own.ids).filter(([name]) => name !== kind && name !== 'open');
    const ids = [...strangers, ...strays.map(([, id]) => id)];
    tryOut(
      'another club’s ids',
      ids.map((id) => ({ path: at(id) })),
      [answer],
    );
    for (const id of MALFORMED) {
      tryOut('a malformed id', [{ path: at(id) }], ['invalid_parameter']);
    }
    // With a sufficient role a write would change the rows, so only reads are tried. Some rows only their member sees.
    if (accessError !== undefined || method === 'GET') {
      tryOut('the own club’s id', [{ path: at(String(own.ids[kind])) }], [200, ...operation.missing]);
    }
  } else {
    tryOut('the list', [{ path }], [answer]);
  }

  // Ids in fields and filters.
  for (const [name, { format }] of Object.entries(operation.fields ?? {})) {
    if (format === 'uuid') {
      const target = at(kind === 'task' ? own.ids.open : String(own.ids[kind]));
      const named = strangers.map((id) => ({ path: target, body: { ...body, [name]: id } }));
      tryOut(`another club’s id as ${name}`, named, [...operation.forbidden, 'task_assign_forbidden']);
    }
  }
  for (const name of Object.keys(operation.query)) {
    if (name.endsWith('Id')) {
      tryOut(
        `a filter by ${name}`,
        strangers.map((id) => ({ path: at('', `?${name}=${id}`) })),
        [200],
      );
    }
    if (name === 'q') {
      const words = ['nothing-of-the-kind', other.inside, other.front, other.mail, other.subject];
      tryOut(
        'a search',
        words.map((id) => ({ path: at('', `?q=${id}`) })),
        [200],
      );
    }
  }

  // Fields and headers that must be ignored.
  const ids = [MISSING, other.id];
  for (const claim of CLAIMS) {
    if (operation.query[claim] === undefined) {
      const asked = ids.map((id) => ({ path: at(MISSING, `?${claim}=${id}`) }));
      tryOut(`?${claim}`, asked, ['invalid_parameter']);
    }
    if (operation.fields !== undefined && operation.fields[claim] === undefined) {
      const claimed = ids.map((id) => ({ path: at(MISSING), body: { ...body, [claim]: id } }));
      tryOut(`${claim} in the body`, claimed, ['validation_failed']);
    }
  }
  for (const header of HEADERS) {
    const named = [other.id, other.ids.member].map((id) => ({
      path: at(MISSING),
      headers: { [header]: id },
    }));
    tryOut(header, named, [answer]);
  }
  const shut = [MISSING, ...Object.values(other.ids)];
  if (operation.headers.includes('If-Match')) {
    tryOut(
      'If-Match',
      shut.map((id) => ({ path: at(id), headers: { 'if-match': '*' } })),
      [answer],
    );
  }
  if (operation.headers.includes('Idempotency-Key')) {
    const keyed = (hasId ? shut : ['']).map((id) => ({
      path: at(id),
      headers: { 'idempotency-key': other.key },
    }));
    tryOut('another club’s key', keyed, [answer, 'idempotency_key_reused']);
  }
  if (method === 'GET') {
    const refusal = accessError ?? answer;
    const status = typeof refusal === 'number' ? refusal : statusOf(refusal);
    const heads = (hasId ? strangers : ['']).map((id) => ({ path: at(id) }));
    tryOut('HEAD', heads, [], { method: 'HEAD', expected: [status] });
  }
  return attempts;
}

/** The clubs of a request: the one of its header, or north when it has none. */
export function clubsOf(tenant: Tenant, north: CanaryClub, south: CanaryClub) {
  return tenant.value === south.id ? { own: south, other: north } : { own: north, other: south };
}

/** Whether the caller may see a canary: one of the club they entered, or a name of one of their clubs. */
export function mayShow(attempt: Attempt, club: CanaryClub, word: string): boolean {
  const { operation, identity, tenant } = attempt;
  if (accessErrorOf(operation, identity, tenant) !== undefined) {
    return false;
  }
  const role = identity.roles.get(club.id);
  if (!isInClub(operation)) {
    return role !== undefined && [club.id, club.front].includes(word);
  }
  const isContact = word === club.mail || word === club.subject;
  const sees = word === club.mail ? ['Manager', 'Admin'] : ['Admin'];
  return tenant.value === club.id && word !== club.key && (!isContact || sees.includes(role ?? ''));
}
