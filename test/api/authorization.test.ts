import t from 'tap';
import { ROLES, type Role } from '../../src/roles.js';
import { comparablePart } from '../setup/comparable.js';
import {
  contract,
  type Endpoint,
  endpointsFor,
  idFor,
  MEMBER,
  MISSING,
  makeClubFor,
  makeRows,
  operationOf,
  parametersOf,
  pathOf,
  SHIFT,
  varied,
  watchRoutes,
  withQuery,
} from '../setup/endpoints.js';
import { walk } from '../setup/paging.js';
import { type Response, sendLinesTo, sendTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { withoutRequest } from '../setup/shifts.js';
import { fingerprint } from '../setup/testbed.js';

const routes = watchRoutes();
const service = await startService(t);
const sendLines = await sendLinesTo(service.app);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const rows = { [north]: await makeRows(service, north), [south]: await makeRows(service, south) };
const endpoints = endpointsFor(rows[north] ?? {});
const inClubs = endpoints.filter(({ path }) => path !== '/api/clubs/me');

const suffices = (role: Role, least: Role) => ROLES.indexOf(role) >= ROLES.indexOf(least);
const bearer = (clubs: unknown, sub = 'anna') => `Bearer ${service.token({ sub, clubs })}`;
const call = ({ method, body }: Endpoint, path: string, headers: Record<string, string>) =>
  service.send(method, path, { headers, body });
const membersWith = (sub: string) =>
  service.db.queryAsAdmin('select from app.members where external_user_id = $1', [sub]);

const as = (sub: string, role: Role, clubId: string) => ({
  authorization: bearer({ [clubId]: role }, sub),
  'x-tenant-id': clubId,
});

/** The endpoint's path with the ids of rows of this club. */
const pathIn = (clubId: string, endpoint: Endpoint) => pathOf(endpoint, rows[clubId]);

/** Whether an endpoint is about something below a row or a member, such as a signup. */
const isBelow = ({ path }: Endpoint) => path.split('/').length > 4;

/** Creates everything that requests create below the rows of a club and below a member, all of it about this member. */
async function addBelow(clubId: string, rows: Record<string, string>, sub: string): Promise<void> {
  const memberId = await service.as(sub, 'Admin', clubId).memberId();
  const ids = { ...rows, '/api/members': memberId };
  for (const endpoint of endpointsFor(ids).filter(isBelow)) {
    // Not a POST that creates nothing, such as a merge.
    const creates = endpoint.method === 'PUT' || operationOf(endpoint).responses['201'] !== undefined;
    if (creates && parametersOf(endpoint).every((parameter) => idFor(parameter, ids) !== MISSING)) {
      const { status, text } = await call(endpoint, pathOf(endpoint, ids), as(sub, 'Admin', clubId));
      if (status >= 300) {
        throw new Error(`${endpoint.method} ${endpoint.path}: ${text}`);
      }
    }
  }
}

/** Whether a Member reads their own rows only: a request that names another member is refused. */
async function readsOwn(endpoint: Endpoint): Promise<boolean> {
  const url = pathIn(north, endpoint);
  const ofOther = [url, withQuery(url, `memberId=${rows[north]?.['/api/members']}`)];
  const read = async (path: string) => (await call(endpoint, path, as('Member', 'Member', north))).body?.code;
  return (
    endpoint.method === 'GET' &&
    suffices('Member', endpoint.role) &&
    (await Promise.all(ofOther.map(read))).includes('insufficient_role')
  );
}

/** Reads that name other members even to roles that the route refuses, or to a Member who reads their own rows; with the reason. */
const namesOthers: Record<string, string> = {
  'GET /api/members': 'a Viewer reads the names of members, of those who signed up for a shift',
  'GET /api/members/:id': 'a Viewer reads the names of members, of those who signed up for a shift',
  'GET /api/hours': 'every member has a row, which is 0 for another member',
};

t.test('every endpoint is in the contract, and has the policy of its role', async (t) => {
  const stated = contract.map(({ method, path, role }) => `${method} ${path} Require${role}`);
  const found = routes
    .filter(({ url }) => url.startsWith('/api/'))
    .map(({ method, url, policy }) => `${method} ${url} ${policy}`);
  t.same(
    found.filter((line) => !stated.includes(line)),
    [],
    'if the policy is right, add or correct the line { method, path, role } in contract, in test/setup/endpoints.ts',
  );
  t.same(
    stated.filter((line) => !found.includes(line)),
    [],
    'contract, in test/setup/endpoints.ts, has no line without a route',
  );
});

t.test('an endpoint serves callers with its role or a higher one, and refuses all others', async (t) => {
  const before = await fingerprint(service.db, north);
  for (const endpoint of endpoints) {
    for (const method of endpoint.method === 'GET' ? (['GET', 'HEAD'] as const) : [endpoint.method]) {
      for (const role of ROLES.filter((role) => !suffices(role, endpoint.role))) {
        const headers = { authorization: bearer({ [north]: role }, role), 'x-tenant-id': north };
        const refused = await call({ ...endpoint, method }, pathIn(north, endpoint), headers);
        t.equal(refused.status, 403, `${role} ${method} ${endpoint.path}`);
        if (method !== 'HEAD') {
          const members = { code: 'insufficient_role', requiredRole: endpoint.role, yourRole: role };
          t.match(refused.body, members, `${role} ${method} ${endpoint.path}`);
        }
      }
    }
  }
  t.same(await fingerprint(service.db, north), before, 'nothing has changed');

  for (const endpoint of endpoints) {
    for (const role of ROLES.filter((role) => suffices(role, endpoint.role))) {
      const { clubId, body: example } = await makeClubFor(service, endpoint);
      const headers = as(role, role, clubId);
      // A Member may read some rows about themself only.
      const path = pathOf(endpoint, { memberId: await service.as(role, role, clubId).memberId() });
      const { status, body } = await call({ ...endpoint, body: example }, path, headers);
      t.equal(
        status < 300 ? status : body.code,
        endpoint.answer,
        `${role} ${endpoint.method} ${endpoint.path}: the first 404 of its errors, or its success`,
      );
      if (endpoint.method === 'GET') {
        const head = await call({ ...endpoint, method: 'HEAD' }, path, headers);
        t.equal(head.status, status, `${role} HEAD ${endpoint.path}`);
      }
    }
  }
});

t.test('the policies of the database refuse nothing that the routes allow', async (t) => {
  for (const endpoint of endpoints) {
    for (const role of ROLES.filter((role) => suffices(role, endpoint.role))) {
      const title = `${role} ${endpoint.method} ${endpoint.path}`;
      const { clubId, ids, body } = await makeClubFor(service, endpoint);
      for (const sub of isBelow(endpoint) ? [role, MEMBER] : []) {
        await addBelow(clubId, ids, sub);
      }
      const members = [await service.as(role, role, clubId).memberId(), ids['/api/members'] ?? MISSING];
      for (const url of new Set(members.map((id) => pathOf(endpoint, { ...ids, '/api/members': id })))) {
        const before = await fingerprint(service.db, clubId);
        const { status } = await call({ ...endpoint, body }, url, as(role, role, clubId));
        t.notOk(
          [404, 500].includes(status),
          `${title}: ${status}: sql/policies refuse what the route allows`,
        );
        if (endpoint.method === 'DELETE' && status < 300) {
          // If a policy hides the row, DELETE succeeds and deletes nothing.
          t.strictNotSame(await fingerprint(service.db, clubId), before, `${title} deletes the row`);
        }
      }
    }
  }
});

t.test('the policies of the database alone refuse what the routes refuse', async (t) => {
  const cases: [Endpoint, Role][] = [];
  for (const endpoint of endpoints) {
    const lower = ROLES.filter((role) => !suffices(role, endpoint.role));
    const roles = (await readsOwn(endpoint)) ? [...lower, 'Member' as const] : lower;
    cases.push(...roles.map((role): [Endpoint, Role] => [endpoint, role]));
  }
  t.ok(cases.some(([endpoint, role]) => suffices(role, endpoint.role)));
  const send = sendTo(service.app);
  // The policies of routes and readAboutMembers compare places in this list: from here on every caller passes them.
  t.intercept(ROLES, 'indexOf', { value: () => 0 });

  for (const [endpoint, role] of cases) {
    const name = `${endpoint.method} ${endpoint.path}`;
    const { clubId, ids, url, body: example } = await makeClubFor(service, endpoint);
    // Another body than that of the row that exists, without its version.
    const changes = { ...(example as Record<string, unknown>), version: undefined };
    const body = example === undefined ? undefined : varied(endpoint, changes, ['number', 'string']);
    for (const members of [[], [role, MEMBER]]) {
      for (const sub of members) {
        await addBelow(clubId, ids, sub);
      }
      const callerId = await service.as(role, role, clubId).memberId();
      const before = await fingerprint(service.db, clubId);
      const response = await send(endpoint.method, url, { headers: as(role, role, clubId), body });
      t.not(response.body?.code, 'insufficient_role', `${role} ${name} reaches the database`);
      t.same(
        await fingerprint(service.db, clubId),
        before,
        `${role} ${name} changes nothing: sql/policies must require what the route requires`,
      );
      const others = await service.db.queryAsAdmin<{ id: string }>(
        'select id from app.members where tenant_id = $1 and id <> $2',
        [clubId, callerId],
      );
      const foreign = [response.status < 300 ? response.body : []]
        .flat()
        .filter((row) => others.some(({ id }) => JSON.stringify(row ?? null).includes(id)));
      const reason = namesOthers[name];
      t.equal(
        foreign.length > 0,
        reason !== undefined,
        `${role} ${name}: ${reason ?? 'no row names another member: sql/policies must require more, or namesOthers give a reason'}`,
      );
      if (reason !== undefined) {
        t.notMatch(JSON.stringify(foreign), /":[1-9]/, `${role} ${name}: no number about another member`);
      }
    }
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
  for (const endpoint of inClubs) {
    const found: typeof cases = [];
    for (const [tenant] of cases) {
      const lines: [string, string][] = [
        ['authorization', bearer({ [north]: endpoint.role })],
        ['content-type', 'application/json'],
        ...tenant.map((value): [string, string] => ['x-tenant-id', value]),
      ];
      const body = endpoint.body === undefined ? undefined : JSON.stringify(endpoint.body);
      const answer = await sendLines(endpoint.method, pathOf(endpoint), lines, body);
      const helps = answer.body.detail.includes('GET /api/clubs/me lists your clubs.');
      found.push([tenant, `${answer.status} ${answer.body.code}${helps ? '' : ' without help'}`]);
    }
    t.same(found, cases, `${endpoint.method} ${endpoint.path}`);
  }
});

t.test('a club without a role and a missing club are the same 403', async (t) => {
  for (const endpoint of inClubs) {
    const request = (named: string, tenant: string) =>
      call(endpoint, pathOf(endpoint), {
        authorization: bearer({ [named]: 'Admin' }),
        'x-tenant-id': tenant,
      });
    const foreign = await request(north, south);
    const never = [await request(north, MISSING), await request(MISSING, MISSING)];
    t.match(foreign, { status: 403, body: { code: 'tenant_forbidden' } });
    t.same(
      never.map(withoutRequest),
      Array(2).fill(withoutRequest(foreign)),
      `${endpoint.method} ${endpoint.path}`,
    );
  }
});

t.test('a row of another club gets the response of a missing one, and nothing changes', async (t) => {
  // The caller is an Admin of both clubs: the club of the request hides the row.
  const headers = {
    authorization: bearer({ [north]: 'Admin', [south]: 'Admin' }, 'ada'),
    'x-tenant-id': north,
  };
  const before = await fingerprint(service.db, south);
  for (const endpoint of endpoints) {
    // Each parameter with a foreign id, beside ids of the own club in the others.
    for (const parameter of parametersOf(endpoint)) {
      for (const condition of [{}, { 'if-match': '"7"' }, { 'if-match': '*' }]) {
        const request = async (id: string): Promise<[Response, unknown]> => {
          const url = pathOf(endpoint, { ...rows[north], [parameter.name]: id });
          const answer = await call(endpoint, url, { ...headers, ...condition });
          t.equal(answer.body.instance, url.split('?')[0]);
          return [answer, comparablePart(answer, id)];
        };
        const [foreign, compared] = await request(idFor(parameter, rows[south]));
        const [, never] = await request(MISSING);
        const title = `${endpoint.method} ${endpoint.path}, ${parameter.name}`;
        t.match(foreign, { status: 404 }, title);
        t.same(compared, never, title);
      }
    }
  }
  t.same(await fingerprint(service.db, south), before);
  for (const endpoint of endpoints.filter(({ method, path }) => method === 'GET' && path.endsWith('/:id'))) {
    t.equal((await call(endpoint, pathIn(north, endpoint), headers)).status, 200, endpoint.path);
  }
});

t.test('a list has the rows of its club only', async (t) => {
  for (const list of Object.keys(rows[north] ?? {}).filter((key) => key.startsWith('/'))) {
    const idsIn = async (club: string) =>
      (await walk(service.as('ada', 'Admin', club), list)).map(({ id }) => id);
    const [own, foreign] = [await idsIn(north), await idsIn(south)];
    t.ok(own.includes(rows[north]?.[list]) && foreign.includes(rows[south]?.[list]), list);
    t.same(
      own.filter((id) => foreign.includes(id)),
      [],
      list,
    );
  }
});

t.test('a club’s id is the same in any letter case', async (t) => {
  const authorization = bearer({ [north.toUpperCase()]: 'Viewer' });
  for (const tenant of [north, north.toUpperCase()]) {
    const headers = { authorization, 'x-tenant-id': tenant };
    t.match(await service.send('GET', '/api/clubs/current', { headers }), {
      status: 200,
      body: { id: north },
    });
  }
  const { body } = await service.send('GET', '/api/clubs/me', { headers: { authorization } });
  t.match(body, [{ id: north, role: 'Viewer' }]);
});

t.test('a role counts only in its own club, and only by its exact name', async (t) => {
  const result = async (clubs: unknown) => {
    const headers = { authorization: bearer(clubs), 'x-tenant-id': north };
    const { status, body } = await service.send('GET', '/api/tasks', { headers });
    return status === 200 ? status : body.code;
  };
  t.equal(await result({ [north]: 'Member' }), 200);
  t.equal(await result({ [north]: 'Viewer', [south]: 'Admin' }), 'insufficient_role');
  t.equal(await result({ [south]: 'Admin' }), 'tenant_forbidden');
  const names = ['admin', 'ADMIN', 'Admin ', 'Owner', '', null, 3, true, ['Admin'], { role: 'Admin' }];
  const shapes = [
    undefined,
    null,
    5,
    'Admin',
    ['Admin'],
    [north],
    [{ [north]: 'Admin' }],
    {},
    { north: 'Admin' },
  ];
  for (const clubs of [...names.map((name) => ({ [north]: name })), ...shapes]) {
    t.equal(await result(clubs), 'tenant_forbidden', JSON.stringify(clubs));
    const mine = await service.send('GET', '/api/clubs/me', { headers: { authorization: bearer(clubs) } });
    t.same([mine.status, mine.body], [200, []], JSON.stringify(clubs));
  }
});

t.test('the role comes from the token of this request, never from an earlier token', async (t) => {
  const read = (role: Role) => service.as('riser', role, north).get('/api/tasks');
  t.equal((await read('Viewer')).status, 403);
  t.equal((await read('Admin')).status, 200);
  t.equal((await read('Viewer')).status, 403);
});

t.test('a request that is refused before the database creates no member', async (t) => {
  const admin = { authorization: bearer({ [north]: 'Admin' }, 'early'), 'x-tenant-id': north };
  const viewer = { ...admin, authorization: bearer({ [north]: 'Viewer' }, 'early') };
  for (const endpoint of inClubs) {
    const path = pathOf(endpoint);
    const refused = [
      await call(endpoint, path, { ...viewer, authorization: 'Bearer nonsense' }),
      await call(endpoint, path, { ...viewer, 'x-tenant-id': '' }),
      await call(endpoint, path, { ...viewer, 'x-tenant-id': south }),
      await call(endpoint, withQuery(path, 'nonsense=1'), admin),
      ...(endpoint.role === 'Viewer' ? [] : [await call(endpoint, path, viewer)]),
    ];
    t.same(
      refused.map(({ status }) => status),
      [401, 400, 403, 400, 403].slice(0, refused.length),
      `${endpoint.method} ${endpoint.path}`,
    );
  }
  t.same(await membersWith('early'), []);
});

t.test('every endpoint of a club refuses a member who has left, and changes nothing', async (t) => {
  const headers = as('leaver', 'Admin', north);
  const memberId = await service.as('leaver', 'Admin', north).memberId();
  const admin = service.as('ada', 'Admin', north);
  await admin.put(`/api/members/${memberId}/membership`, { status: 'Left' });
  const before = await fingerprint(service.db, north);
  for (const endpoint of inClubs) {
    for (const path of [pathIn(north, endpoint), pathOf(endpoint)]) {
      const refused = { status: 403, body: { code: 'membership_ended' } };
      t.match(await call(endpoint, path, headers), refused, `${endpoint.method} ${endpoint.path}`);
    }
  }
  t.same(await fingerprint(service.db, north), before);
  t.equal((await service.send('GET', '/api/clubs/me', { headers })).status, 200);
});

t.test('a request that is refused by the database has created the member', async (t) => {
  const admin = service.as('admin', 'Admin', north);
  const full = await admin.post('/api/shifts', { ...SHIFT, capacity: 1 });
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
    t.equal((await membersWith(sub)).length, 1, sub);
  }
});
