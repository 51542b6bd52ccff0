import { METHODS } from 'node:http';
import t from 'tap';
import { endpoints, MISSING, pathOf, watchRoutes } from '../setup/endpoints.js';
import { type Method, sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';

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

t.test('a path that does not exist is a 404 for every method, with or without a token', async (t) => {
  const paths = ['/api', '/api/', '/api/nothing', '/api/clubs', '/API/tasks', `/api/tasks/${MISSING}/x`];
  for (const path of [...paths, '/api/v1/tasks', '//api/tasks', `/api/shifts/${MISSING}/signups`]) {
    const found = new Set();
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      for (const headers of [signedIn, {}]) {
        const answer = await service.send(method, path, { headers });
        found.add(`${answer.status} ${answer.body.code} ${answer.headers.allow}`);
      }
    }
    t.same([...found], ['404 route_not_found undefined'], path);
    t.same((await service.send('HEAD', path)).status, 404, path);
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
  for (const [url, allowed] of paths) {
    const found = new Set();
    // Node answers CONNECT by itself.
    for (const method of METHODS.filter((name) => name !== 'CONNECT' && !allowed.has(name))) {
      const answer = await sendLines(method, url.replace(':id', MISSING), []);
      const allow = String(answer.headers.allow).split(/, */).sort().join();
      const code = method === 'HEAD' ? 'method_not_allowed' : answer.body?.code;
      found.add(`${answer.status} ${code} ${allow}`);
    }
    t.same([...found], [`405 method_not_allowed ${[...allowed].sort().join()}`], url);
  }
});

t.test('GET / redirects to the reference in development, and says where it is in production', async (t) => {
  for (const method of ['GET', 'HEAD'] as const) {
    const said = await service.send(method, '/');
    t.match(said, { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' } });
    t.equal(said.text, method === 'GET' ? 'Club Management Service. The reference is at /docs.\n' : '');
  }
  const development = await startService(t, { isDevelopment: true });
  t.match(await development.send('GET', '/'), { status: 302, headers: { location: '/docs' } });
  t.match(await service.send('POST', '/'), { status: 405, headers: { allow: 'GET, HEAD' } });
  const { body: document } = await service.send('GET', '/openapi.json');
  t.equal(document.paths['/'], undefined, 'it is not part of the API');
});

t.test('a path has the same methods in every spelling', async (t) => {
  t.equal((await anna.get('/api/task%73')).status, 200);
  const { body } = await anna.post('/api/tasks', { title: 'Mow' });
  t.equal((await anna.get(`/api/tasks/${body.id.toUpperCase()}`)).status, 200, 'an id in capital letters');
  t.match(await anna.put('/api/task%73', {}), { status: 405, headers: { allow: 'GET, HEAD, POST' } });
});

t.test('an unknown query parameter, and one given twice, is a 400 that names it', async (t) => {
  for (const endpoint of endpoints) {
    for (const query of ['nonsense=1', 'nonsense=1&nonsense=2', '__proto__=1', 'nonsense']) {
      const name = query.split('=')[0];
      const answer = await asAnna(endpoint.method, `${pathOf(endpoint)}?${query}`, endpoint.body);
      const { status, body } = answer;
      t.same(
        [status, body.code, body.errors?.map(({ parameter }: { parameter: string }) => parameter)],
        [400, 'invalid_parameter', [name]],
        `${endpoint.method} ${endpoint.path}?${query}`,
      );
    }
  }
});

t.test('a path id that is not a UUID is a 400 that names it', async (t) => {
  for (const endpoint of endpoints.filter(({ path }) => path.includes(':id'))) {
    for (const id of [
      '1',
      'nonsense',
      `${MISSING}0`,
      `{${MISSING}}`,
      '%00',
      '%F0%9F%98%80',
      'a'.repeat(4000),
    ]) {
      const path = endpoint.path.replace(':id', encodeURI(id).replaceAll('%25', '%'));
      const { status, body } = await asAnna(endpoint.method, path, endpoint.body);
      t.match([status, body], [400, { code: 'invalid_parameter', errors: [{ parameter: 'id' }] }], path);
    }
  }
});

t.test('a path that cannot be decoded is a 400', async (t) => {
  for (const path of ['/api/tasks/%zz', '/api/tasks/%E0%A4%A', '/%', '/api/shifts/%ff/signup']) {
    const { status, body } = await anna.get(path);
    t.match([status, body], [400, { code: 'invalid_parameter', detail: /percent-encoded/ }], path);
  }
});
