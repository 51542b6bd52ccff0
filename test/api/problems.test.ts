import t, { type Test } from 'tap';
import { MISSING } from '../setup/endpoints.js';
import { startIssuer } from '../setup/issuer.js';
import { type Method, type Response, sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { startOfflineService } from '../setup/without-database.js';

const service = await startService(t);
const sendLines = await sendLinesTo(service.app);
const north = await service.db.makeClub('north');
const anna = service.as('anna', 'Admin', north);
const signedIn = {
  authorization: `Bearer ${service.token({ sub: 'anna', clubs: { [north]: 'Admin' } })}`,
  'x-tenant-id': north,
};
const asAnna = (method: Method, path: string, body?: unknown, headers = {}) =>
  service.send(method, path, { headers: { ...signedIn, ...headers }, body });

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Words that would reveal the implementation to a caller. */
const INSIDES =
  /permission denied|relation "|\bapp\.\w|club_api|postgres|sqlstate|42501|ECONN|node_modules|\.[jt]s:\d|\n\s+at /i;

/** Asserts the form of every problem. */
function isProblem(t: Test, answer: Response, code: string, path: string, more: string[] = []): void {
  const { body, headers } = answer;
  const members = ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId', ...more];
  t.match(headers['content-type'], /^application\/problem\+json(;|$)/, code);
  t.same(Object.keys(body ?? {}).sort(), members.sort(), code);
  t.match(body, { code, status: answer.status, instance: path.split('?')[0], requestId: UUID }, code);
  t.equal(headers['x-request-id'], body.requestId, code);
  t.ok([body.type, body.title, body.detail].every((text) => typeof text === 'string' && text !== ''));
  t.notMatch(answer.text, INSIDES, code);
}

/** Asserts the headers that every answer has. */
function carriesHeaders(t: Test, { headers }: Response, what: string): void {
  const words = (value: unknown) => String(value).toLowerCase().split(/, */).sort().join();
  t.match(headers['x-request-id'], UUID, what);
  t.equal(words(headers['cache-control']), 'no-cache,private', what);
  t.equal(words(headers.vary), 'authorization,x-tenant-id', what);
}

t.test('an error is a problem with exactly these members', async (t) => {
  const task = `/api/tasks/${MISSING}`;
  const viewer = service.as('viewer', 'Viewer', north);
  isProblem(t, await service.send('GET', task), 'unauthenticated', task);
  isProblem(t, await asAnna('GET', task, undefined, { 'x-tenant-id': '' }), 'tenant_header_invalid', task);
  isProblem(t, await asAnna('GET', task, undefined, { 'x-tenant-id': MISSING }), 'tenant_forbidden', task);
  isProblem(t, await viewer.get(task), 'insufficient_role', task, ['requiredRole', 'yourRole']);
  isProblem(t, await anna.get(task), 'task_not_found', task);
  isProblem(t, await anna.get(`${task}?a=1`), 'invalid_parameter', task, ['errors']);
  isProblem(t, await anna.patch(task, { title: 5 }), 'validation_failed', task, ['errors']);
  isProblem(t, await anna.patch(task, '{'), 'malformed_json', task);
  isProblem(t, await anna.get('/api/nothing?a=1'), 'route_not_found', '/api/nothing');
  isProblem(t, await anna.put('/api/tasks?a=1', {}), 'method_not_allowed', '/api/tasks');
});

t.test('every answer has Cache-Control, Vary and a unique X-Request-Id', async (t) => {
  const made = await anna.post('/api/tasks', { title: 'Mow' });
  const answers: [what: string, Response][] = [
    ['201', made],
    ['200', await anna.get('/api/tasks')],
    ['HEAD', await asAnna('HEAD', '/api/tasks')],
    ['204', await anna.delete(`/api/tasks/${made.body.id}`)],
    ['no tenant', await service.send('GET', '/api/clubs/me', { headers: signedIn })],
    ['401', await service.send('GET', '/api/tasks')],
    ['400', await anna.post('/api/tasks', {})],
    ['403', await asAnna('GET', '/api/tasks', undefined, { 'x-tenant-id': MISSING })],
    ['404', await anna.get(`/api/tasks/${MISSING}`)],
    ['404 of no route', await anna.get('/api/nothing')],
    ['405', await anna.put('/api/tasks', {})],
    ['413', await anna.post('/api/tasks', { title: 'a'.repeat(140_000) })],
    ['415', await asAnna('POST', '/api/tasks', 'text', { 'content-type': 'text/plain' })],
    ['a path that cannot be decoded', await anna.get('/api/tasks/%zz')],
    ['the process', await service.send('GET', '/livez')],
  ];
  for (const [what, answer] of answers) {
    carriesHeaders(t, answer, what);
  }
  t.equal(new Set(answers.map(([, { headers }]) => headers['x-request-id'])).size, answers.length);
});

t.test('an unreachable database is a 503 with Retry-After', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  const headers = { authorization: `Bearer ${provider.sign({ clubs: { [north]: 'Admin' } })}` };
  const away = await sendLinesTo(offline.app);
  const answer = await away('GET', '/api/tasks', Object.entries({ ...headers, 'x-tenant-id': north }));
  isProblem(t, answer, 'service_unavailable', '/api/tasks');
  carriesHeaders(t, answer, '503');
  t.match([answer.status, answer.headers['retry-after']], [503, /^[1-9]\d*$/]);
});

t.test('an internal error is a 500 that shows nothing of the database or the code', async (t) => {
  t.equal((await anna.post('/api/tasks', { title: 'Mow' })).status, 201);
  // A fault in the database that the service does not expect.
  await service.db.queryAsAdmin(
    `create function public.surprise() returns uuid language plpgsql as $$ begin raise exception 'a secret of the database'; end $$`,
  );
  await service.db.queryAsAdmin('alter policy tasks_read on app.tasks using (public.surprise() is not null)');
  for (const method of ['GET', 'POST']) {
    const lines = Object.entries({ ...signedIn, 'content-type': 'application/json' });
    const answer = await sendLines(
      method,
      '/api/tasks',
      lines,
      method === 'POST' ? '{"title":"Mow"}' : undefined,
    );
    t.equal(answer.status, 500);
    isProblem(t, answer, 'internal_error', '/api/tasks');
    carriesHeaders(t, answer, '500');
  }
  await service.db.queryAsAdmin(
    "alter policy tasks_read on app.tasks using ((select app.role()) >= 'Member')",
  );
  await service.db.queryAsAdmin('drop function public.surprise');
  t.equal((await anna.get('/api/tasks')).status, 200);
});
