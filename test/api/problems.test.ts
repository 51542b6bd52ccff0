import t, { type Test } from 'tap';
import { endpoints, MISSING, pathOf, SHIFT } from '../setup/endpoints.js';
import { IMPLEMENTATION } from '../setup/errors.js';
import { startIssuer } from '../setup/issuer.js';
import { type Method, type Response, sendLinesTo } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';
import { shiftRequest, started } from '../setup/shifts.js';
import { startOfflineService } from '../setup/without-database.js';
import { taskIn } from '../setup/workflow.js';

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
/** Asserts that an error is a problem with the standard members and these, and no others. */
function isProblem(t: Test, response: Response, result: string, members: Record<string, unknown> = {}): void {
  const { status, headers } = response;
  const { type, title, detail, instance, requestId, ...others } = response.body;
  const [expected, code] = result.split(' ');
  t.equal(status, Number(expected), result);
  t.strictSame(others, { status, code, ...members }, result);
  t.equal(headers['content-type'], 'application/problem+json', result);
  t.equal(type, `/problems/${code}`, result);
  t.ok(
    [title, detail].every((text) => typeof text === 'string' && text !== ''),
    result,
  );
  t.match(instance, /^\/api\/[\w/-]+$/, result);
  t.match(requestId, UUID, result);
  t.equal(headers['x-request-id'], requestId, result);
  t.notMatch(response.text, IMPLEMENTATION, result);
}

/** Asserts the headers that every response has. */
function carriesHeaders(t: Test, { headers }: Response, what: string): void {
  const words = (value: unknown) => String(value).toLowerCase().split(/, */).sort().join();
  t.match(headers['x-request-id'], UUID, what);
  // A copy of a person's data is not stored at all.
  t.equal(words(headers['cache-control']), /\/me\/data$/.test(what) ? 'no-store' : 'no-cache,private', what);
  t.equal(words(headers.vary), 'authorization,x-tenant-id', what);
}

t.test('an error is a problem with exactly these members', async (t) => {
  const [ben, cleo] = [service.as('ben', 'Member', north), service.as('cleo', 'Member', north)];
  const path = `/api/tasks/${MISSING}`;
  const pathOfNew = async (list: string, body: object) => `${list}/${(await anna.post(list, body)).body.id}`;
  isProblem(t, await service.send('GET', path), '401 unauthenticated');
  isProblem(t, await asAnna('GET', path, undefined, { 'x-tenant-id': '' }), '400 tenant_header_invalid');
  isProblem(t, await asAnna('GET', path, undefined, { 'x-tenant-id': MISSING }), '403 tenant_forbidden');
  isProblem(t, await anna.get(path), '404 task_not_found');
  isProblem(t, await anna.patch(path, '{'), '400 malformed_json');
  isProblem(t, await anna.get('/api/tasks?cursor=x'), '400 invalid_cursor');
  isProblem(t, await anna.get('/api/nothing?a=1'), '404 route_not_found');
  isProblem(t, await anna.put('/api/tasks?a=1', {}), '405 method_not_allowed');
  isProblem(t, await anna.patch(path, {}, { 'content-type': 'text/plain' }), '415 unsupported_media_type');
  isProblem(t, await anna.patch(path, 'a'.repeat(140_000)), '413 payload_too_large');
  t.equal((await anna.get(`${path}?a=1`)).body.instance, path, 'the path without the query');
  isProblem(t, await ben.post('/api/tasks', { title: 'Mow' }), '403 insufficient_role', {
    requiredRole: 'Manager',
    yourRole: 'Member',
  });

  const invalid: [Response, string, object[]][] = [
    [
      await anna.get('/api/shifts?limit=0&sort=x'),
      '400 invalid_parameter',
      [{ parameter: 'limit' }, { parameter: 'sort' }],
    ],
    [
      await anna.patch(path, { title: 5, dueAt: 5 }),
      '400 validation_failed',
      [{ pointer: '/dueAt' }, { pointer: '/title' }],
    ],
  ];
  for (const [response, result, places] of invalid) {
    const { errors, ...body } = response.body;
    isProblem(t, { ...response, body }, result);
    const found = (errors as Record<string, string>[]).map(({ code, detail, ...place }) => {
      t.match([code, detail], [/^[a-z_]+$/, /\w/], result);
      return place;
    });
    t.strictSame(
      found.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
      places,
    );
  }

  const shift = await pathOfNew('/api/shifts', shiftRequest({ capacity: 2 }));
  const past = await pathOfNew('/api/shifts', shiftRequest(started()));
  const { path: task } = await taskIn('InProgress', anna, await ben.memberId());
  for (const person of [anna, ben]) {
    await person.post(`${shift}/signup`);
  }
  isProblem(t, await cleo.post(`${shift}/signup`), '409 shift_full', { waitCount: 0 });
  isProblem(t, await anna.post(`${shift}/signup`), '409 already_signed_up');
  isProblem(t, await cleo.post(`${past}/signup`), '422 shift_in_past');
  isProblem(t, await cleo.delete(`${past}/signup`), '422 shift_in_past');
  isProblem(t, await cleo.delete(`${shift}/signup`), '404 signup_not_found');
  isProblem(t, await anna.put(shift, shiftRequest({ capacity: 1 })), '409 capacity_below_signups', {
    signupCount: 2,
  });
  isProblem(t, await anna.put(shift, { ...SHIFT, version: 7 }), '409 shift_version_conflict', {
    currentVersion: 1,
  });
  isProblem(t, await cleo.patch(task, { version: 7 }), '409 task_version_conflict', { currentVersion: 2 });
  isProblem(t, await anna.delete(task, { 'if-match': '"7"' }), '412 precondition_failed', {
    currentVersion: 2,
  });
  isProblem(t, await anna.patch(task, { assigneeId: north }), '422 assignee_not_member');
  isProblem(t, await cleo.patch(task, { assigneeId: await cleo.memberId() }), '409 task_already_assigned');
  isProblem(t, await cleo.patch(task, { assigneeId: await anna.memberId() }), '403 task_assign_forbidden');
  const steps = { currentState: 'InProgress', allowedTransitions: ['Review'] };
  isProblem(t, await cleo.patch(task, { state: 'Assigned' }), '403 task_transition_forbidden', {
    ...steps,
    requestedState: 'Assigned',
  });
  isProblem(t, await cleo.patch(task, { state: 'Done' }), '422 invalid_task_transition', {
    ...steps,
    requestedState: 'Done',
  });
});

t.test('every response has Cache-Control, Vary and a unique X-Request-Id', async (t) => {
  await runAudit(service);
  const made = await anna.post('/api/tasks', { title: 'Mow' });
  const responses: [what: string, Response][] = [
    ['201', made],
    ['204', await anna.delete(`/api/tasks/${made.body.id}`)],
    ['no tenant', await service.send('GET', '/api/clubs/me', { headers: signedIn })],
    ['401', await service.send('GET', '/api/tasks')],
    ['400', await anna.post('/api/tasks', {})],
    ['400 of a parameter', await anna.get('/api/tasks?limit=0')],
    ['403', await asAnna('GET', '/api/tasks', undefined, { 'x-tenant-id': MISSING })],
    ['404 of no route', await anna.get('/api/nothing')],
    ['405', await anna.put('/api/tasks', {})],
    ['413', await anna.post('/api/tasks', { title: 'a'.repeat(140_000) })],
    ['415', await asAnna('POST', '/api/tasks', 'text', { 'content-type': 'text/plain' })],
    ['a path that cannot be decoded', await anna.get('/api/tasks/%zz')],
  ];
  for (const path of [
    ...endpoints.filter(({ method }) => method === 'GET').map((endpoint) => pathOf(endpoint)),
    ...['/livez', '/readyz', '/openapi.json', '/docs'],
  ]) {
    for (const method of ['GET', 'HEAD'] as const) {
      responses.push([`${method} ${path}`, await asAnna(method, path)]);
    }
  }
  for (const [what, response] of responses) {
    carriesHeaders(t, response, what);
  }
  t.equal(new Set(responses.map(([, { headers }]) => headers['x-request-id'])).size, responses.length);
});

t.test('an unreachable database is a 503 with Retry-After', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  const headers = { authorization: `Bearer ${provider.sign({ clubs: { [north]: 'Admin' } })}` };
  const away = await sendLinesTo(offline.app);
  const response = await away('GET', '/api/tasks', Object.entries({ ...headers, 'x-tenant-id': north }));
  isProblem(t, response, '503 service_unavailable');
  carriesHeaders(t, response, '503');
  t.match(response.headers['retry-after'], /^[1-9]\d*$/);
});

t.test('an internal error is a 500 that shows nothing of the database or the code', async (t) => {
  t.equal((await anna.post('/api/tasks', { title: 'Mow' })).status, 201);
  // A database error that the service does not expect.
  await service.db.queryAsAdmin(
    `create function public.surprise() returns uuid language plpgsql as $$ begin raise exception 'a secret of the database'; end $$`,
  );
  await service.db.queryAsAdmin('alter policy tasks_read on app.tasks using (public.surprise() is not null)');
  for (const method of ['GET', 'POST']) {
    const lines = Object.entries({ ...signedIn, 'content-type': 'application/json' });
    const response = await sendLines(
      method,
      '/api/tasks',
      lines,
      method === 'POST' ? '{"title":"Mow"}' : undefined,
    );
    isProblem(t, response, '500 internal_error');
    carriesHeaders(t, response, '500');
  }
  await service.db.queryAsAdmin(
    "alter policy tasks_read on app.tasks using ((select app.role()) >= 'Member')",
  );
  await service.db.queryAsAdmin('drop function public.surprise');
  t.equal((await anna.get('/api/tasks')).status, 200);
});
