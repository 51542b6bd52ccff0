import { METHODS } from 'node:http';
import t from 'tap';
import {
  endpoints,
  MISSING,
  makeRows,
  parametersOf,
  pathOf,
  watchRoutes,
  withQuery,
} from '../setup/endpoints.js';
import { type Method, sendLinesTo } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';

const routes = watchRoutes();
const service = await startService(t);
const sendLines = await sendLinesTo(service.app);
const north = await service.db.makeClub('north');
const anna = service.as('anna', 'Admin', north);
const signedIn = {
  authorization: `Bearer ${service.token({ sub: 'anna', clubs: { [north]: 'Admin' } })}`,
  'x-tenant-id': north,
};
const asAnna = (method: Method, path: string, body?: unknown) =>
  service.send(method, path, { headers: signedIn, body });

/** The parameters of all paths. */
const inPath = endpoints.flatMap((endpoint) =>
  parametersOf(endpoint)
    .filter((parameter) => parameter.in === 'path')
    .map(({ name }) => ({ endpoint, name })),
);

/** Messages with any other error: an unknown path and a wrong method are reported first. */
const messages = ['application/json', 'text/plain', 'nonsense', ''].flatMap((type) =>
  ['', '{"title":', '{"nonsense":1}', 'a'.repeat(200_000)].flatMap((body) =>
    [{}, { authorization: 'Bearer nonsense', 'x-tenant-id': 'north' }].map((headers) => ({
      headers: { ...headers, 'content-type': type },
      body,
    })),
  ),
);

t.test('a path that does not exist is a 404, with any method and message', async (t) => {
  const paths = ['/api', '/api/', '/api/nothing', '/api/clubs', '/API/tasks', `/api/tasks/${MISSING}/x`];
  paths.push('/api/v1/tasks', '//api/tasks', `/api/shifts/${MISSING}/signups`);
  // An id that is empty.
  paths.push(...inPath.map(({ endpoint, name }) => pathOf(endpoint, { [name]: '' })));
  for (const path of new Set(paths)) {
    const found = new Set();
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      for (const headers of [signedIn, {}]) {
        const { status, body, headers: received } = await service.send(method, path, { headers });
        found.add(`${status} ${body.code} ${received.allow}`);
      }
    }
    t.same([...found], ['404 route_not_found undefined'], path);
    t.equal((await service.send('HEAD', path)).status, 404, path);
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    const codes = new Set();
    for (const message of messages) {
      codes.add((await service.send(method, '/api/nothing', message)).body.code);
    }
    t.same([...codes], ['route_not_found'], method);
  }
});

t.test('a method that a path does not have is a 405, and Allow lists those it has', async (t) => {
  const paths = new Map<string, Set<string>>();
  for (const { method, url } of routes.filter(({ url }) => /^\/(api|livez|readyz|openapi\.json)/.test(url))) {
    const known = paths.get(url) ?? new Set();
    paths.set(url, known.add(method));
    if (method === 'GET') {
      known.add('HEAD');
    }
  }
  t.equal(paths.size, new Set(endpoints.map(({ path }) => path)).size + 3);
  for (const path of ['/docs', '/docs/', '/docs/page.js', '/docs/swagger-ui.css', '/']) {
    paths.set(path, new Set(['GET', 'HEAD']));
  }
  for (const [url, allowed] of paths) {
    const found = new Set();
    // Node answers CONNECT by itself.
    for (const method of METHODS.filter((name) => name !== 'CONNECT' && !allowed.has(name))) {
      const response = await sendLines(method, url.replaceAll(/:\w+/g, MISSING), []);
      const allow = String(response.headers.allow).split(/, */).sort().join();
      const code = method === 'HEAD' ? 'method_not_allowed' : response.body?.code;
      found.add(`${response.status} ${code} ${allow}`);
    }
    t.same([...found], [`405 method_not_allowed ${[...allowed].sort().join()}`], url);
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    const found = new Set();
    for (const message of messages) {
      const { body, headers } = await service.send(method, '/api/clubs/current', message);
      found.add(`${body.code} ${headers.allow}`);
    }
    t.same([...found], ['method_not_allowed GET, HEAD'], method);
  }
});

t.test('a path has the same methods in every spelling', async (t) => {
  t.equal((await anna.get('/api/task%73')).status, 200);
  const rows = await makeRows(service, north);
  for (const [list, id] of Object.entries(rows).filter(([key]) => key.startsWith('/'))) {
    t.match(await anna.get(`${list}/${id.toUpperCase()}`), { status: 200, body: { id } }, list);
  }
  t.match(await anna.put('/api/task%73', {}), { status: 405, headers: { allow: 'GET, HEAD, POST' } });
});

t.test('HEAD has the length and headers of GET, even for the documentation', async (t) => {
  await runAudit(service);
  const lines = Object.entries(signedIn);
  const paths = endpoints.filter(({ method }) => method === 'GET').map((endpoint) => pathOf(endpoint));
  const task = await anna.post('/api/tasks', { title: 'Mow' });
  paths.push('/livez', '/readyz', '/openapi.json', '/docs', '/api/tasks?limit=1', '/api/nothing');
  paths.push(`/api/tasks/${task.body.id}`, '/api/tasks/nonsense', '/api/tasks?limit=0');
  for (const path of paths) {
    const [get, head] = [await sendLines('GET', path, lines), await sendLines('HEAD', path, lines)];
    t.same([head.status, head.text], [get.status, ''], path);
    // The length may be absent from a HEAD. Every request id has the same length.
    const { 'content-length': length = get.headers['content-length'] } = head.headers;
    t.equal(length, get.headers['content-length'], path);
    for (const name of ['link', 'content-type', 'etag', 'cache-control', 'vary']) {
      t.equal(head.headers[name], get.headers[name], `${path}: ${name}`);
    }
  }
});

t.test('GET / redirects to the reference in development, and links to it in production', async (t) => {
  for (const method of ['GET', 'HEAD'] as const) {
    const response = await service.send(method, '/');
    t.match(response, { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' } });
    t.equal(response.text, method === 'GET' ? 'Club Management Service. The reference is at /docs.\n' : '');
  }
  const development = await startService(t, { isDevelopment: true });
  t.match(await development.send('GET', '/'), { status: 302, headers: { location: '/docs' } });
  const { body: document } = await service.send('GET', '/openapi.json');
  t.equal(document.paths['/'], undefined, 'it is not part of the API');
});

t.test('a file that /docs does not have is a 404, with any form of path traversal', async (t) => {
  const names = ['nothing.js', '..', '../../package.json', '%2e%2e/package.json', '%5c..%5c', '..%2f..%2fx'];
  for (const name of names) {
    const { status, headers, body } = await sendLines('GET', `/docs/${name}`, []);
    t.match([status, body?.code], [404, 'route_not_found'], name);
    t.match(headers['content-type'], /^application\/problem\+json/, name);
  }
  for (const path of ['/docs', '/docs/', '/docs/page.js', '/docs/swagger-ui.css']) {
    t.equal((await sendLines('GET', path, [])).status, 200, path);
  }
  const file = '/docs/swagger-ui.css';
  const whole = await sendLines('GET', file, []);
  for (const range of ['bytes=0-9', 'bytes=99999999-', 'nonsense']) {
    const { status, text } = await sendLines('GET', file, [['range', range]]);
    t.same([status, text === whole.text], [200, true], range);
  }
});

t.test('an unknown query parameter, and one given twice, is a 400 for the parameter', async (t) => {
  const names = [
    'nonsense',
    '__proto__',
    'role',
    'clubId',
    'tenantId',
    'tenant_id',
    'X-Tenant-Id',
    'access_token',
  ];
  const queries = [...names.map((name) => `${name}=${north}`), 'nonsense=1&nonsense=2', 'nonsense'];
  for (const endpoint of endpoints) {
    for (const query of queries) {
      const url = withQuery(pathOf(endpoint), query);
      const { status, body } = await asAnna(endpoint.method, url, endpoint.body);
      t.same(
        [status, body.code, body.errors?.map(({ parameter }: { parameter: string }) => parameter)],
        [400, 'invalid_parameter', [query.split('=')[0]]],
        `${endpoint.method} ${endpoint.path}?${query}`,
      );
    }
  }
  for (const path of ['/livez?x=1', '/readyz?x=1']) {
    t.match(await service.send('GET', path), { status: 400, body: { code: 'invalid_parameter' } }, path);
  }
});

t.test('a query string that is not UTF-8 is a 400 for the parameter, after the role', async (t) => {
  const [member, viewer] = [service.as('ben', 'Member', north), service.as('vera', 'Viewer', north)];
  for (const part of ['%zz', '%', '%ff', '%ED%A0%80', 'a%2', '%C3%28']) {
    const { status, body } = await member.get(`/api/tasks?limit=5&q=${part}`);
    t.match([status, body.code, body.errors?.[0]?.parameter], [400, 'invalid_parameter', 'q'], part);
    t.equal((await member.get(`/api/tasks?${part}=1`)).body.code, 'invalid_parameter', part);
    t.equal((await viewer.get(`/api/tasks?q=${part}`)).body.code, 'insufficient_role', part);
  }
  t.equal((await member.get('/api/tasks?q=100%25+%C3%A4%F0%9F%8E%BE')).status, 200);
});

t.test('a path id that is not a UUID is a 400 for the id', async (t) => {
  for (const { endpoint, name } of inPath) {
    for (const id of [
      '1',
      'nonsense',
      `${MISSING}0`,
      `{${MISSING}}`,
      '%00',
      '%F0%9F%98%80',
      'a'.repeat(4000),
      'null',
      'me2',
      MISSING.slice(1),
      `urn:uuid:${MISSING}`,
    ]) {
      const path = pathOf(endpoint, { [name]: encodeURI(id).replaceAll('%25', '%') });
      const { status, body } = await asAnna(endpoint.method, path, endpoint.body);
      t.match([status, body], [400, { code: 'invalid_parameter', errors: [{ parameter: name }] }], path);
    }
  }
});

t.test('a path that cannot be decoded is a 400', async (t) => {
  for (const path of ['/api/tasks/%zz', '/api/tasks/%E0%A4%A', '/%', '/api/shifts/%ff/signup']) {
    const { status, body } = await anna.get(path);
    t.match([status, body], [400, { code: 'invalid_parameter', detail: /percent-encoded/ }], path);
  }
});
