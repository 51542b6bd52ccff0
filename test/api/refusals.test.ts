import t, { type Test } from 'tap';
import { endpoints, pathOf } from '../setup/endpoints.js';
import type { Method } from '../setup/send.js';
import { runAudit, startService, type TestService } from '../setup/service.js';

const service = await startService(t);
const club = await service.db.makeClub();
const other = await service.db.makeClub();
const ID = '99999999-9999-4999-8999-999999999999';

/** Every operation below /api, from the document: a new one is tested automatically. */
const { body: document } = await service.send('GET', '/openapi.json');
interface Documented {
  requestBody?: object;
  parameters?: { name: string }[];
  responses: object;
}
const operations = Object.entries<Record<string, Documented>>(document.paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, parameters = [], responses }]) => ({
      method: method.toUpperCase() as Method,
      path: path.replace('{id}', ID),
      hasTenant: path !== '/api/clubs/me',
      takesBody: requestBody !== undefined,
      hasPages: parameters.some(({ name }) => name === 'cursor'),
      responses: Object.keys(responses),
    })),
  )
  .filter(({ path }) => path.startsWith('/api/'));

/** What the document does not say of an operation: its role, and a valid body. */
function endpointOf({ method, path }: Operation) {
  const endpoint = endpoints.find((one) => one.method === method && pathOf(one) === path);
  if (endpoint === undefined) {
    throw new Error(`test/setup/endpoints.ts does not know ${method} ${path}.`);
  }
  return endpoint;
}

async function tokenOf(role: string, ...clubs: string[]): Promise<string> {
  const roles = Object.fromEntries(clubs.map((id) => [id, role]));
  return `Bearer ${service.token({ sub: 'anna', clubs: roles })}`;
}

type Operation = (typeof operations)[number];
interface Refused {
  headers: Record<string, string>;
  body?: string;
  query?: string;
}

async function refuse(
  t: Test,
  service: TestService,
  operation: Operation,
  how: Refused,
  status: number,
  code: string,
) {
  const { method, path } = operation;
  const { headers, body, query = '' } = how;
  const answer = await service.send(method, path + query, {
    headers,
    ...(body === undefined ? {} : { body }),
  });
  t.equal(answer.status, status, `${method} ${path} ${code}`);
  t.equal(answer.body?.code, code, `${method} ${path} ${code}`);
  return answer;
}

t.test(
  'every operation needs a token: a missing or wrong one is a 401 that says how to authenticate',
  async (t) => {
    for (const operation of operations) {
      const none = await refuse(t, service, operation, { headers: {} }, 401, 'unauthenticated');
      t.equal(none.headers['www-authenticate'], 'Bearer');
      const wrong = await refuse(
        t,
        service,
        operation,
        { headers: { authorization: 'Bearer a.b.c' } },
        401,
        'invalid_token',
      );
      t.match(wrong.headers['www-authenticate'], /^Bearer error="invalid_token"/);
    }
  },
);

t.test('every operation but GET /api/clubs/me needs a club of the caller', async (t) => {
  const authorization = await tokenOf('Admin', club);
  for (const operation of operations.filter(({ hasTenant }) => hasTenant)) {
    const lost: string[] = [];
    const ask = async (headers: Record<string, string>, status: number, code: string) => {
      const { body } = await refuse(t, service, operation, { headers }, status, code);
      if (!body.detail.includes('GET /api/clubs/me lists your clubs.')) {
        lost.push(`${operation.method} ${operation.path} ${code}`);
      }
    };
    await ask({ authorization }, 400, 'tenant_header_missing');
    for (const id of ['', 'north', `${club},${club}`, `{${club}}`, `urn:uuid:${club}`]) {
      await ask({ authorization, 'x-tenant-id': id }, 400, 'tenant_header_invalid');
    }
    for (const id of [other, ID]) {
      await ask({ authorization, 'x-tenant-id': id }, 403, 'tenant_forbidden');
    }
    t.same(lost, [], 'each links to the caller’s clubs');
  }
});

t.test('malformed parameters, bodies, sizes and types are refused without the database', async (t) => {
  const headers = { authorization: await tokenOf('Admin', club), 'x-tenant-id': club };
  const json = { ...headers, 'content-type': 'application/json' };
  for (const operation of operations) {
    await refuse(
      t,
      service,
      operation,
      { headers, query: '?unknown=1' },
      400,
      operation.takesBody ? codeOfEmpty(operation) : 'invalid_parameter',
    );
    if (operation.method === 'GET') {
      continue;
    }
    await refuse(t, service, operation, { headers: json, body: '{' }, 400, 'malformed_json');
    await refuse(
      t,
      service,
      operation,
      { headers: json, body: `"${'x'.repeat(131_072)}"` },
      413,
      'payload_too_large',
    );
    const xml = { ...headers, 'content-type': 'text/xml' };
    await refuse(t, service, operation, { headers: xml, body: '<a/>' }, 415, 'unsupported_media_type');
    if (operation.takesBody) {
      const answer = await refuse(
        t,
        service,
        operation,
        { headers: json, body: '{"unknown":1}' },
        400,
        'validation_failed',
      );
      t.ok(answer.body.errors.some((fault: { pointer: string }) => fault.pointer === '/unknown'));
    }
  }
});

/** A missing required body is the first fault; signing up needs none. */
function codeOfEmpty({ path }: Operation): string {
  return path.endsWith('/signup') ? 'invalid_parameter' : 'validation_failed';
}

t.test('a valid body does not excuse an unknown query parameter', async (t) => {
  const headers = { authorization: await tokenOf('Admin', club), 'x-tenant-id': club };
  for (const operation of operations.filter(
    ({ takesBody, path }) => takesBody && !path.endsWith('/signup'),
  )) {
    const body = JSON.stringify(endpointOf(operation).body);
    await refuse(t, service, operation, { headers, body, query: '?unknown=1' }, 400, 'invalid_parameter');
  }
});

t.test('every list refuses a forged cursor', async (t) => {
  const headers = { authorization: await tokenOf('Admin', club), 'x-tenant-id': club };
  const lists = operations.filter(({ hasPages }) => hasPages);
  t.ok(lists.length >= 3);
  for (const operation of lists) {
    await refuse(t, service, operation, { headers, query: '?cursor=nonsense' }, 400, 'invalid_cursor');
  }
});

t.test('an X-Test-UserId that is not a UUID is a 400 for every operation of a club', async (t) => {
  const testing = await startService(t, { testUserHeader: true });
  const authorization = `Bearer ${testing.token({ sub: 'anna', clubs: { [club]: 'Admin' } })}`;
  const headers = { authorization, 'x-tenant-id': club, 'x-test-userid': 'anna' };
  for (const operation of operations.filter(({ hasTenant }) => hasTenant)) {
    await refuse(t, testing, operation, { headers }, 400, 'test_user_invalid');
  }
});

t.test(
  'while the database is unreachable, every operation and readiness are a 503 with Retry-After',
  async (t) => {
    const broken = await startService(t);
    await broken.database.close();
    const authorization = `Bearer ${broken.token({ sub: 'anna', clubs: { [club]: 'Admin' } })}`;
    const headers = { authorization, 'x-tenant-id': club, 'content-type': 'application/json' };
    for (const operation of operations) {
      const { body } = endpointOf(operation);
      const how = body === undefined ? { headers } : { headers, body: JSON.stringify(body) };
      const answer = await refuse(t, broken, operation, how, 503, 'service_unavailable');
      t.match(String(answer.headers['retry-after']), /^\d+$/);
    }
    await runAudit(service.app);
    t.equal((await service.send('GET', '/readyz')).status, 200);
    t.equal((await broken.send('GET', '/readyz')).status, 503);
    t.equal((await broken.send('GET', '/livez')).status, 200);
    for (const path of ['/livez?x=1', '/readyz?x=1']) {
      t.equal((await broken.send('GET', path)).body.code, 'invalid_parameter');
    }
  },
);
