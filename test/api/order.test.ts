import t, { type Test } from 'tap';
import { CALENDAR_SECRET, STARTED_SHIFT_ID } from '../../src/examples.js';
import { ROLES, type Role } from '../../src/roles.js';
import {
  type Endpoint,
  endpointsFor,
  MISSING,
  makeRows,
  operationOf,
  operationsAt,
  parametersOf,
  pathOf,
} from '../setup/endpoints.js';
import { bodySchemaOf } from '../setup/fields.js';
import { type Method, type Response, sendLinesTo } from '../setup/send.js';
import { runAudit, startService, type TestService } from '../setup/service.js';

const service = await startService(t, { testUserHeader: true });
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const rows = await makeRows(service, north);
// A Member reads rows about themself only, and a record of attendance has a version.
rows.memberId = await service.as('anna', 'Member', north).memberId();
await service
  .as('recorder', 'Manager', north)
  .put(`/api/shifts/${rows[STARTED_SHIFT_ID]}/attendance/${rows.memberId}`, { status: 'Attended' });
const endpoints = endpointsFor(rows);

/** A request: it is valid, apart from its mistakes. */
interface Message {
  method: Method;
  /** What follows the path. */
  suffix: string;
  /** The ids in the URL. */
  ids: Record<string, string>;
  /** A further part of the query string. */
  query: string;
  /** The clubs and roles of the token. */
  clubs: Record<string, Role>;
  tenant: string | undefined;
  /** Other headers; `authorization` replaces the token. */
  headers: Record<string, string>;
  body: string | undefined;
}

/** A mistake in a request to any endpoint that it `applies` to, and the error that reports it. */
interface Mistake {
  name: string;
  applies?: (endpoint: Endpoint) => boolean;
  change(message: Message, endpoint: Endpoint): Partial<Message>;
  /** The status and code of the response, and what else it contains. */
  result: string | ((endpoint: Endpoint) => string);
  details?: object;
}

const isOfClub = ({ path }: Endpoint) => path !== '/api/clubs/me';
const hasId = (endpoint: Endpoint) => parametersOf(endpoint).length > 0;
const hasBody = ({ body }: Endpoint) => body !== undefined;
const takes = (name: string) => (endpoint: Endpoint) =>
  operationOf(endpoint).parameters?.some((parameter) => parameter.name === name) ?? false;
const conflictOf = (endpoint: Endpoint) =>
  Object.keys(
    operationOf(endpoint).responses['409']?.content?.['application/problem+json']?.examples ?? {},
  ).find((code) => code.endsWith('_version_conflict')) ?? '';
const below = (role: Role) => ROLES[ROLES.indexOf(role) - 1] as Role;
const withHeaders = (headers: Record<string, string>) => (message: Message) => ({
  headers: { ...message.headers, ...headers },
});

/** A method that no endpoint with this path has. */
function wrongMethod({ path }: Endpoint): Method {
  const known = Object.keys(operationsAt(path));
  return (
    (['PATCH', 'PUT', 'DELETE', 'POST'] as const).find((method) => !known.includes(method.toLowerCase())) ??
    'OPTIONS'
  );
}

/** The checks in the order of the contract, each with the mistakes that it finds. */
const checks: Mistake[][] = [
  [
    {
      name: 'no such path',
      change: () => ({ suffix: '/no/such/path' }),
      result: '404 route_not_found',
      details: { headers: { allow: undefined } },
    },
    {
      name: 'a method that the path does not have',
      change: (_message, endpoint) => ({ method: wrongMethod(endpoint) }),
      result: '405 method_not_allowed',
      details: { headers: { allow: String } },
    },
  ],
  [
    {
      name: 'no token',
      change: withHeaders({ authorization: '' }),
      result: '401 unauthenticated',
      details: { headers: { 'www-authenticate': /^Bearer$/ } },
    },
    {
      name: 'a wrong token',
      change: withHeaders({ authorization: 'Bearer a.b.c' }),
      result: '401 invalid_token',
      details: { headers: { 'www-authenticate': /^Bearer error="invalid_token"/ } },
    },
  ],
  [
    {
      name: 'no tenant header',
      applies: isOfClub,
      change: () => ({ tenant: undefined }),
      result: '400 tenant_header_missing',
    },
    {
      name: 'a wrong tenant header',
      applies: isOfClub,
      change: () => ({ tenant: 'north' }),
      result: '400 tenant_header_invalid',
    },
  ],
  [
    {
      name: 'a club without a role',
      applies: isOfClub,
      change: () => ({ tenant: south }),
      result: '403 tenant_forbidden',
    },
  ],
  [
    {
      name: 'a role that is too low',
      applies: ({ role }) => role !== 'Viewer',
      change: ({ tenant = north }, { role }) => ({ clubs: { [tenant]: below(role) } }),
      result: '403 insufficient_role',
    },
  ],
  [
    {
      name: 'a wrong X-Test-UserId',
      applies: isOfClub,
      change: withHeaders({ 'x-test-userid': 'anna' }),
      result: '400 test_user_invalid',
    },
  ],
  [
    {
      name: 'an unknown query parameter',
      change: () => ({ query: 'nonsense=1' }),
      result: '400 invalid_parameter',
      details: { body: { errors: [{ parameter: 'nonsense' }] } },
    },
    {
      name: 'a query string that cannot be decoded',
      change: () => ({ query: 'q=%zz' }),
      result: '400 invalid_parameter',
    },
    {
      name: 'an id that is not a UUID',
      applies: hasId,
      change: ({ ids }, endpoint) => ({
        ids: { ...ids, [String(parametersOf(endpoint)[0]?.name)]: 'nonsense' },
      }),
      result: '400 invalid_parameter',
      details: { body: { errors: [{ parameter: /^id$|Id$/ }] } },
    },
    {
      name: 'a wrong cursor',
      applies: takes('cursor'),
      change: () => ({ query: 'cursor=nonsense' }),
      result: '400 invalid_cursor',
    },
    {
      name: 'no body',
      applies: (endpoint) => operationOf(endpoint).requestBody?.required === true,
      change: () => ({ body: undefined }),
      result: '400 validation_failed',
      details: { body: { errors: [{ pointer: '' }] } },
    },
    {
      name: 'a body with an unknown field',
      applies: hasBody,
      change: () => ({ body: '{"nonsense":1}' }),
      result: '400 validation_failed',
    },
    {
      name: 'a body that is not JSON',
      applies: ({ method }) => method !== 'GET',
      change: () => ({ body: '{' }),
      result: '400 malformed_json',
    },
    {
      name: 'a body that is too large',
      applies: ({ method }) => method !== 'GET',
      change: () => ({ body: `{"title":"${'a'.repeat(131_072)}"}` }),
      result: '413 payload_too_large',
    },
    {
      name: 'a body of another type',
      applies: ({ method }) => method !== 'GET',
      change: (message) => ({ ...withHeaders({ 'content-type': 'text/xml' })(message), body: '<a/>' }),
      result: '415 unsupported_media_type',
    },
  ],
  [
    {
      name: 'a club of the token that does not exist',
      applies: isOfClub,
      change: () => ({ tenant: MISSING, clubs: { [MISSING]: 'Admin' } }),
      result: '403 tenant_forbidden',
    },
  ],
  [
    {
      name: 'a row that does not exist',
      applies: hasId,
      change: ({ ids: { memberId = '' } }) => ({ ids: { memberId } }),
      result: ({ answer }) => `404 ${answer}`,
    },
  ],
  [
    {
      name: 'If-Match with another version',
      applies: takes('If-Match'),
      change: withHeaders({ 'if-match': '"77"' }),
      result: '412 precondition_failed',
    },
  ],
  [
    {
      name: 'another version in the body',
      applies: (endpoint) => 'version' in (bodySchemaOf(endpoint).properties ?? {}),
      change: (_message, { body }) => ({ body: JSON.stringify({ ...(body as object), version: 77 }) }),
      result: (endpoint) => `409 ${conflictOf(endpoint)}`,
    },
  ],
  [
    {
      // No error, but it comes after all of them.
      name: 'If-None-Match with the current tag',
      applies: (endpoint) => endpoint.method === 'GET' && takes('If-None-Match')(endpoint),
      change: withHeaders({ 'if-none-match': '*' }),
      result: '304',
    },
  ],
];

/** The checks before a transaction begins. */
const beforeDatabase = checks.slice(
  0,
  checks.findIndex((mistakes) =>
    mistakes.some(({ name }) => name === 'a club of the token that does not exist'),
  ),
);

const applies = ({ applies = () => true }: Mistake, endpoint: Endpoint) => applies(endpoint);

/** Sends a request with these mistakes; of two in one place the first stays. */
function sendWith(to: TestService, endpoint: Endpoint, mistakes: Mistake[]) {
  const { method, role, body } = endpoint;
  let message: Message = {
    method,
    suffix: '',
    ids: rows,
    query: '',
    clubs: { [north]: role },
    tenant: north,
    headers: {},
    body: body === undefined ? undefined : JSON.stringify(body),
  };
  for (const mistake of mistakes.toReversed()) {
    message = { ...message, ...mistake.change(message, endpoint) };
  }
  const { tenant, clubs, headers } = message;
  const token = to.token({ sub: 'anna', clubs });
  const { authorization = `Bearer ${token}`, ...others } = headers;
  const [path, query = ''] = pathOf(endpoint, message.ids).split('?');
  const parts = [query, message.query].filter(Boolean).join('&');
  return to.send(message.method, `${path}${message.suffix}${parts === '' ? '' : `?${parts}`}`, {
    headers: {
      ...(authorization === '' ? {} : { authorization }),
      ...(tenant === undefined || !isOfClub(endpoint) ? {} : { 'x-tenant-id': tenant }),
      ...others,
    },
    body: message.body,
  });
}

/** Asserts that the response to a request with this mistake is the one of its check. */
async function isReported(t: Test, to: TestService, endpoint: Endpoint, mistake: Mistake): Promise<Response> {
  const { name, details = {} } = mistake;
  const result = typeof mistake.result === 'function' ? mistake.result(endpoint) : mistake.result;
  const response = await sendWith(to, endpoint, [mistake]);
  const title = `${endpoint.method} ${endpoint.path}: ${name}`;
  t.equal(`${response.status} ${response.body?.code ?? ''}`.trim(), result, title);
  t.match(response, details, title);
  return response;
}

t.test('of two errors the one of the earlier check is reported, at every endpoint', async (t) => {
  for (const endpoint of endpoints) {
    const name = `${endpoint.method} ${endpoint.path}`;
    const wrong: string[] = [];
    for (const [at, mistakes] of checks.entries()) {
      const later = checks
        .slice(at + 1)
        .flat()
        .filter((mistake) => applies(mistake, endpoint));
      for (const first of mistakes.filter((mistake) => applies(mistake, endpoint))) {
        const alone = await isReported(t, service, endpoint, first);
        for (const second of later) {
          const { status, body } = await sendWith(service, endpoint, [first, second]);
          if (status !== alone.status || body?.code !== alone.body.code) {
            wrong.push(`${status} ${body?.code}: ${first.name}, and ${second.name}`);
          }
        }
      }
    }
    t.same(wrong, [], name);
  }
});

t.test(
  'while the database is unreachable, a valid request and readiness are a 503 with Retry-After, and an invalid one has its error',
  async (t) => {
    const broken = await startService(t, { testUserHeader: true });
    await broken.database.close();
    for (const endpoint of endpoints) {
      const answer = await sendWith(broken, endpoint, []);
      const unavailable = {
        status: 503,
        body: { code: 'service_unavailable' },
        headers: { 'retry-after': /^[1-9]\d*$/ },
      };
      t.match(answer, unavailable, `${endpoint.method} ${endpoint.path}`);
      for (const mistake of beforeDatabase.flat().filter((mistake) => applies(mistake, endpoint))) {
        await isReported(t, broken, endpoint, mistake);
      }
    }
    // A calendar has no token: only a link that has the form of one is looked up.
    const link = (secret: string) => broken.send('GET', `/calendars/${MISSING}/${secret}.ics`);
    t.match(await link(CALENDAR_SECRET), { status: 503, headers: { 'retry-after': /^[1-9]/ } });
    t.match(await link('short'), { status: 404, body: { code: 'calendar_not_found' } });
    await runAudit(service);
    t.equal((await service.send('GET', '/readyz')).status, 200);
    t.match(await broken.send('GET', '/readyz'), { status: 503, headers: { 'retry-after': /^[1-9]/ } });
    t.equal((await broken.send('GET', '/livez')).status, 200);
  },
);

t.test('X-Test-UserId sent twice is a 400, after the role and before the body', async (t) => {
  const sendLines = await sendLinesTo(service.app);
  const linesOf = (role: Role): [string, string][] => [
    ['authorization', `Bearer ${service.token({ sub: role, clubs: { [north]: role } })}`],
    ['x-tenant-id', north],
    ['content-type', 'application/json'],
  ];
  const twice: [string, string][] = ['x-test-userid', 'X-Test-UserId'].map((name) => [
    name,
    rows['/api/members'] as string,
  ]);
  for (const body of ['{"title":"Mow"}', '{"nonsense":1}', '{', `"${'a'.repeat(140_000)}"`]) {
    const codes = [];
    for (const role of ['Viewer', 'Manager'] as const) {
      const answer = await sendLines('POST', '/api/tasks', [...linesOf(role), ...twice], body);
      codes.push(`${answer.status} ${answer.body.code}`);
    }
    t.same(codes, ['403 insufficient_role', '400 test_user_invalid'], body.slice(0, 20));
  }
  const [authorization = ['', ''], ...others] = linesOf('Manager');
  const tenants = await sendLines(
    'POST',
    '/api/tasks',
    [authorization, ...others, ['x-tenant-id', north], ...twice],
    '{}',
  );
  t.equal(tenants.body.code, 'tenant_header_invalid', 'the tenant header is checked first');
  const clubs = await sendLines('GET', '/api/clubs/me', [authorization, ...twice]);
  t.equal(clubs.status, 200, 'without a tenant it is ignored');
});
