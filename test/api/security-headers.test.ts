import t, { type Test } from 'tap';
import { MISSING } from '../setup/endpoints.js';
import type { Response } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';

const service = await startService(t, { corsOrigins: ['https://app.example.org'], rateLimitPerMinute: 6 });
// /readyz reports the result of an audit.
await runAudit(service);
const north = await service.db.makeClub('north');
const anna = service.as('anna', 'Admin', north);

const ALWAYS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'strict-transport-security': 'max-age=31536000',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};
const NO_PAGE = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'";

function isGuarded(t: Test, { headers }: Response, what: string, csp = NO_PAGE): void {
  const found = Object.fromEntries(Object.keys(ALWAYS).map((name) => [name, headers[name]]));
  t.same([found, headers['content-security-policy']], [ALWAYS, csp], what);
  t.same([headers['x-powered-by'], headers.server], [undefined, undefined], what);
}

t.test('every response has the security headers for browsers', async (t) => {
  const made = await anna.post('/api/tasks', { title: 'Mow' });
  const responses: [what: string, Response][] = [
    ['201', made],
    ['200', await anna.get('/api/tasks')],
    ['204', await anna.delete(`/api/tasks/${made.body.id}`)],
    ['400', await anna.post('/api/tasks', '{')],
    ['404', await anna.get(`/api/tasks/${MISSING}`)],
    ['413', await anna.post('/api/tasks', 'a'.repeat(200_000))],
    ['429', await anna.get('/api/tasks')],
    ['401', await service.send('GET', '/api/tasks')],
    ['403', await anna.get('/api/tasks', { 'x-tenant-id': MISSING })],
    ['400 of a path that cannot be decoded', await anna.get('/api/tasks/%zz')],
    ['404 of no route', await anna.get('/api/nothing')],
    ['405', await anna.put('/api/tasks', {})],
    ['200 of /livez', await service.send('GET', '/livez')],
    ['200 of /readyz', await service.send('HEAD', '/readyz')],
    ['200 of the document', await service.send('GET', '/openapi.json')],
    [
      '204 of a preflight',
      await service.send('OPTIONS', '/api/tasks', {
        headers: { origin: 'https://app.example.org', 'access-control-request-method': 'GET' },
      }),
    ],
  ];
  for (const [what, response] of responses) {
    t.equal(response.status, Number(what.slice(0, 3)), what);
    isGuarded(t, response, what);
  }
});

t.test('the pages of /docs may load their own files only, and have no inline script', async (t) => {
  for (const path of ['/docs', '/docs/', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css']) {
    const response = await service.send('GET', path);
    t.equal(response.status, 200, path);
    const csp = String(response.headers['content-security-policy']);
    isGuarded(t, response, path, csp);
    const directives = new Map(csp.split(/; */).map((part) => part.split(/ (.*)/, 2) as [string, string]));
    const own = ['script-src', 'connect-src'].map((name) => directives.get(name));
    t.same(own, ["'self'", "'self'"], path);
    const none = ['default-src', 'base-uri', 'form-action', 'frame-ancestors'].map((name) =>
      directives.get(name),
    );
    t.same([...new Set(none)], ["'none'"], path);
  }
  const page = (await service.send('GET', '/docs')).text;
  t.notMatch(page, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
});
