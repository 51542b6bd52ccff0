import t, { type Test } from 'tap';
import { requestHeaders, responseHeaders } from '../../src/openapi/components.js';
import { endpoints, MISSING, pathOf } from '../setup/endpoints.js';
import type { Response, SendOptions } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';

const PAGE = 'https://app.example.org';
const service = await startService(t, {
  corsOrigins: ['http://localhost:5173', PAGE],
  rateLimitPerMinute: 3,
});
// /readyz reports the result of an audit.
await runAudit(service);
const closed = await startService(t);
const north = await service.db.makeClub('north');
const anna = service.as('anna', 'Admin', north);

const FOREIGN = [
  ...['https://evil.example', 'http://app.example.org', 'https://app.example.org:8443', 'null', '*', ''],
  ...['https://app.example.org.evil.example', 'https://x.app.example.org', 'https://APP.example.org'],
  ...['https://app.example.org/', 'https://app.example.org, http://localhost:5173', 'http://localhost:51730'],
];
const preflight = (origin: string): SendOptions => ({
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,x-tenant-id',
  },
});
const words = (value: unknown) => String(value).toLowerCase().split(/, */).sort();
const corsHeaders = ({ headers }: Response) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));
const VARY = ['authorization', 'origin', 'x-tenant-id'];

function isReadable(t: Test, response: Response, what: string): void {
  t.equal(response.headers['access-control-allow-origin'], PAGE, what);
  t.same(words(response.headers['access-control-expose-headers']), words(Object.keys(responseHeaders)), what);
  t.equal(response.headers['access-control-allow-credentials'], undefined, what);
  t.same(words(response.headers.vary), VARY, what);
}

t.test('a page from CORS_ORIGINS may read every response and its headers, even of errors', async (t) => {
  const origin = { origin: PAGE };
  const made = await anna.post('/api/tasks', { title: 'Mow' }, origin);
  const responses: [number, Response][] = [
    [201, made],
    [200, await anna.get(`/api/tasks/${made.body.id}`, origin)],
    [400, await anna.post('/api/tasks', '{', origin)],
    [429, await anna.get('/api/tasks', origin)],
    [401, await service.send('GET', '/api/tasks', { headers: origin })],
    [401, await anna.get('/api/tasks', { ...origin, authorization: 'Bearer nonsense' })],
    [403, await anna.get('/api/tasks', { ...origin, 'x-tenant-id': MISSING })],
    [404, await anna.get('/api/nothing', origin)],
    [405, await anna.put('/api/tasks', {}, origin)],
    [204, await service.as('ada', 'Admin', north).delete(`/api/tasks/${made.body.id}`, origin)],
    [200, await service.send('GET', '/openapi.json', { headers: origin })],
    [200, await service.send('GET', '/readyz', { headers: origin })],
  ];
  for (const [status, response] of responses) {
    t.equal(response.status, status);
    isReadable(t, response, `${status} ${response.body?.code}`);
  }
});

t.test('a preflight from such a page is a 204 without a token, for every path', async (t) => {
  const documented = Object.keys(requestHeaders).filter((name) => name !== 'X-Test-UserId');
  for (const path of [
    ...endpoints.map((endpoint) => pathOf(endpoint)),
    '/livez',
    '/openapi.json',
    '/api/nothing',
    '/',
  ]) {
    const response = await service.send('OPTIONS', path, preflight(PAGE));
    t.match([response.status, response.text], [204, ''], path);
    isReadable(t, response, path);
    t.same(words(response.headers['access-control-allow-methods']), words('GET,HEAD,POST,PUT,PATCH,DELETE'));
    t.same(
      words(response.headers['access-control-allow-headers']),
      words(['Authorization', 'Content-Type', ...documented]),
      'what the document asks for',
    );
    t.equal(response.headers['access-control-max-age'], '600');
    t.match(response.headers, { 'x-request-id': /^[0-9a-f-]{36}$/, 'cache-control': 'private, no-cache' });
  }
});

t.test('another origin, and one that is nearly in the list, gets no CORS header', async (t) => {
  const headers = { authorization: `Bearer ${service.token({ sub: 'ben' })}` };
  const found = new Map<string, unknown>();
  for (const origin of FOREIGN) {
    const read = await service.send('GET', '/livez', { headers: { ...headers, origin } });
    const refused = await service.send('GET', '/api/tasks', { headers: { origin } });
    const asked = await service.send('OPTIONS', '/api/tasks', preflight(origin));
    const all = [read, refused, asked];
    const seen = [all.map(({ status }) => status), asked.headers.allow, all.flatMap(corsHeaders)];
    if (JSON.stringify(seen) !== '[[200,401,405],"GET, HEAD, POST",[]]') {
      found.set(origin, seen);
    }
    for (const response of all) {
      t.same(words(response.headers.vary), VARY, origin);
    }
  }
  t.same(Object.fromEntries(found), {});
  const without = await service.send('GET', '/livez');
  t.same([corsHeaders(without), words(without.headers.vary)], [[], VARY]);
});

t.test('an OPTIONS that is not a preflight is a 405', async (t) => {
  const found = new Set<string>();
  for (const endpoint of endpoints) {
    const { path } = endpoint;
    const url = pathOf(endpoint);
    const response = await service.send('OPTIONS', url, { headers: { origin: PAGE }, body: 'nonsense' });
    found.add(
      `${response.status} ${response.body.code} ${String(response.headers.allow).includes('OPTIONS')}`,
    );
    t.same(response.headers.allow, (await closed.send('OPTIONS', url)).headers.allow, path);
    isReadable(t, response, path);
  }
  t.same([...found], ['405 method_not_allowed false']);
  for (const path of ['/api/nothing', '/nothing', '/api/tasks/']) {
    t.match(await service.send('OPTIONS', path), { status: 404, body: { code: 'route_not_found' } }, path);
  }
});

t.test('without CORS_ORIGINS there is no CORS header, and a preflight is a 405 as well', async (t) => {
  const found = new Set<string>();
  for (const origin of [PAGE, ...FOREIGN]) {
    const read = await closed.send('GET', '/livez', { headers: { origin } });
    const asked = await closed.send('OPTIONS', '/api/tasks', preflight(origin));
    found.add(`${read.status} ${asked.status} ${asked.headers.allow} ${read.headers.vary}`);
    t.same([read, asked].flatMap(corsHeaders), [], origin);
  }
  t.same([...found], ['200 405 GET, HEAD, POST Authorization, X-Tenant-Id']);
});

t.test('a page may read the 503 of an unreachable database', async (t) => {
  await service.database.close();
  const response = await service.as('cleo', 'Member', north).get('/api/tasks', { origin: PAGE });
  t.match(response, { status: 503, body: { code: 'service_unavailable' } });
  isReadable(t, response, '503');
});
