import t from 'tap';
import { ROLES, type Role } from '../../src/roles.js';
import {
  contract,
  type Endpoint,
  endpointsFor,
  MISSING,
  pathOf,
  SHIFT,
  watchRoutes,
} from '../setup/endpoints.js';
import { type Response, sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';

const routes = watchRoutes();
const service = await startService(t);
const sendLines = await sendLinesTo(service.app);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const endpoints = await endpointsFor(service, north);
const inClubs = endpoints.filter(({ path }) => path !== '/api/clubs/me');

const suffices = (role: Role, least: Role) => ROLES.indexOf(role) >= ROLES.indexOf(least);
const bearer = async (role: Role, sub: string = role) =>
  `Bearer ${service.token({ sub, clubs: { [north]: role } })}`;
const call = (endpoint: Endpoint, headers: Record<string, string>) =>
  service.send(endpoint.method, pathOf(endpoint), { headers, body: endpoint.body });
const codeOf = ({ status, body }: Response) => (status < 300 ? status : body.code);
const rowsOf = (sub: string) =>
  service.db.queryAsAdmin('select from app.members where external_user_id = $1', [sub]);

t.test(
  'every endpoint of the contract has the policy of its role, and every other endpoint has a policy',
  async (t) => {
    const found = routes
      .filter(({ url }) => url.startsWith('/api/'))
      .map(({ method, url, policy }) => `${method} ${url} ${policy}`);
    const missing = contract
      .map(({ method, path, role }) => `${method} ${path} Require${role}`)
      .filter((line) => !found.includes(line));
    t.same(missing, []);
    t.same(
      found.filter((line) => !/ Require(Viewer|Member|Manager|Admin)$/.test(line)),
      [],
    );
  },
);

t.test('an endpoint serves callers with its role or a higher one, and refuses all others', async (t) => {
  for (const endpoint of endpoints) {
    const answers = ROLES.map(async (role) => {
      const answer = await call(endpoint, { authorization: await bearer(role), 'x-tenant-id': north });
      const { requiredRole, yourRole } = answer.body ?? {};
      return answer.status === 403
        ? [role, answer.status, answer.body.code, requiredRole, yourRole]
        : [role, codeOf(answer)];
    });
    const expected = ROLES.map((role) =>
      suffices(role, endpoint.role)
        ? [role, endpoint.answer]
        : [role, 403, 'insufficient_role', endpoint.role, role],
    );
    t.same(await Promise.all(answers), expected, `${endpoint.method} ${endpoint.path}`);
  }
});

t.test('HEAD needs the same role as GET', async (t) => {
  for (const endpoint of endpoints.filter(({ method }) => method === 'GET')) {
    const statuses = ROLES.map(async (role) => {
      const headers = { authorization: await bearer(role), 'x-tenant-id': north };
      const get = await call(endpoint, headers);
      const head = await call({ ...endpoint, method: 'HEAD' }, headers);
      return [get.status, head.status];
    });
    const pairs = await Promise.all(statuses);
    t.same(
      pairs.map(([, head]) => head),
      pairs.map(([get]) => get),
      endpoint.path,
    );
    t.same(
      pairs.map(([, head]) => head === 403),
      ROLES.map((role) => !suffices(role, endpoint.role)),
      endpoint.path,
    );
  }
});

t.test('an endpoint of a club needs exactly one X-Tenant-Id, with a club of the caller', async (t) => {
  const cases: [tenant: string[], answer: string][] = [
    [[], '400 tenant_header_missing'],
    [[''], '400 tenant_header_invalid'],
    [['north'], '400 tenant_header_invalid'],
    [[`{${north}}`], '400 tenant_header_invalid'],
    [[`urn:uuid:${north}`], '400 tenant_header_invalid'],
    [[north.replaceAll('-', '')], '400 tenant_header_invalid'],
    [[`${north},${north}`], '400 tenant_header_invalid'],
    [[north, north], '400 tenant_header_invalid'],
    [[north, south], '400 tenant_header_invalid'],
    [[south], '403 tenant_forbidden'],
    [[MISSING], '403 tenant_forbidden'],
  ];
  const answers = async (endpoint: Endpoint, authorization: string) => {
    const found: typeof cases = [];
    for (const [tenant] of cases) {
      const lines: [string, string][] = [
        ['authorization', authorization],
        ['content-type', 'application/json'],
        ...tenant.map((value): [string, string] => ['x-tenant-id', value]),
      ];
      const body = endpoint.body && JSON.stringify(endpoint.body);
      const answer = await sendLines(endpoint.method, pathOf(endpoint), lines, body as string | undefined);
      found.push([tenant, `${answer.status} ${answer.body.code}`]);
    }
    return found;
  };
  for (const role of ROLES) {
    const authorization = await bearer(role);
    for (const endpoint of inClubs) {
      t.same(await answers(endpoint, authorization), cases, `${role} ${endpoint.method} ${endpoint.path}`);
    }
  }
});

t.test('a club’s id is the same in any letter case', async (t) => {
  const token = service.token({ sub: 'anna', clubs: { [north.toUpperCase()]: 'Viewer' } });
  for (const tenant of [north, north.toUpperCase()]) {
    const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': tenant };
    const answer = await service.send('GET', '/api/clubs/current', { headers });
    t.match(answer, { status: 200, body: { id: north } });
  }
});

t.test('a role counts only in its own club, and only by its exact name', async (t) => {
  const tasks = async (clubs: unknown) => {
    const authorization = `Bearer ${service.token({ sub: 'anna', clubs })}`;
    const headers = { authorization, 'x-tenant-id': north };
    return codeOf(await service.send('GET', '/api/tasks', { headers }));
  };
  t.equal(await tasks({ [north]: 'Member' }), 200);
  t.equal(await tasks({ [north]: 'Viewer', [south]: 'Admin' }), 'insufficient_role');
  t.equal(await tasks({ [south]: 'Admin' }), 'tenant_forbidden');
  for (const role of ['admin', 'ADMIN', 'Admin ', 'Owner', '', null, 3, true, ['Admin'], { role: 'Admin' }]) {
    t.equal(await tasks({ [north]: role }), 'tenant_forbidden', JSON.stringify(role));
  }
});

t.test('the role comes from the token of this request, never from an earlier token', async (t) => {
  const read = (role: Role) => service.as('riser', role, north).get('/api/tasks');
  t.equal((await read('Viewer')).status, 403);
  t.equal((await read('Admin')).status, 200);
  t.equal((await read('Viewer')).status, 403);
});

t.test('a request that is refused before the database creates no member', async (t) => {
  const viewer = { authorization: await bearer('Viewer', 'early'), 'x-tenant-id': north };
  const admin = { ...viewer, authorization: await bearer('Admin', 'early') };
  for (const endpoint of inClubs) {
    const refused = [
      await call(endpoint, { ...viewer, authorization: 'Bearer nonsense' }),
      await call(endpoint, { ...viewer, 'x-tenant-id': '' }),
      await call(endpoint, { ...viewer, 'x-tenant-id': south }),
      await call({ ...endpoint, path: `${endpoint.path}?nonsense=1` }, admin),
      ...(endpoint.role === 'Viewer' ? [] : [await call(endpoint, viewer)]),
    ];
    t.same(
      refused.map(({ status }) => status),
      [401, 400, 403, 400, 403].slice(0, refused.length),
      `${endpoint.method} ${endpoint.path}`,
    );
  }
  t.same(await rowsOf('early'), []);
});

t.test('a request that is refused by the database has created the member', async (t) => {
  const admin = service.as('admin', 'Admin', north);
  const full = await admin.post('/api/shifts', SHIFT);
  const times = { startsAt: '2000-01-01T10:00:00Z', endsAt: '2000-01-01T12:00:00Z' };
  const past = await admin.post('/api/shifts', { ...SHIFT, ...times });
  t.equal((await admin.post(`/api/shifts/${full.body.id}/signup`)).status, 201);
  for (const [status, id] of [
    [404, MISSING],
    [409, full.body.id],
    [422, past.body.id],
  ]) {
    const sub = `late-${status}`;
    t.equal((await service.as(sub, 'Member', north).post(`/api/shifts/${id}/signup`)).status, status);
    t.equal((await rowsOf(sub)).length, 1, sub);
  }
});
