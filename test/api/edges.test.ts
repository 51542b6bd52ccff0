import { gzipSync } from 'node:zlib';
import t from 'tap';
import { endpoints, SHIFT } from '../setup/endpoints.js';
import { type Response, sendLinesTo } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { taskIn } from '../setup/workflow.js';

const service = await startService(t, { testUserHeader: true });
const sendLines = await sendLinesTo(service.app);
const club = await service.db.makeClub('north');
const anna = service.as('anna', 'Manager', club);
const ben = service.as('ben', 'Member', club);
const cleo = service.as('cleo', 'Member', club);
const linesOf = async (role: string): Promise<[string, string][]> => [
  ['authorization', `Bearer ${service.token({ sub: role, clubs: { [club]: role } })}`],
  ['x-tenant-id', club],
  ['content-type', 'application/json'],
];

t.test('a time is in the allowed years as written and in UTC, in bodies and in filters', async (t) => {
  const bounds: [time: string, fits: boolean][] = [
    ['1970-01-01T00:30:00+01:00', false],
    ['1970-01-01T00:59:59.999999+01:00', false],
    ['1970-01-01T01:00:00+01:00', true],
    ['1969-12-31T23:30:00-01:00', false],
    ['2199-12-31T23:30:00-01:00', false],
    ['2199-12-31T23:00:00-01:00', false],
    ['2199-12-31T22:59:59-01:00', true],
    ['2200-01-01T00:30:00+01:00', false],
  ];
  const shift = `/api/shifts/${(await anna.post('/api/shifts', shiftRequest())).body.id}`;
  const task = `/api/tasks/${(await anna.post('/api/tasks', { title: 'Mow' })).body.id}`;
  for (const [time, fits] of bounds) {
    const endsAt = new Date(Date.parse(time) + 1).toISOString();
    const encoded = encodeURIComponent(time);
    const answers = [
      await anna.post('/api/tasks', { title: 'Mow', dueAt: time }),
      await anna.patch(task, { dueAt: time }),
      await anna.post('/api/shifts', { ...SHIFT, startsAt: time, endsAt }),
      await anna.put(shift, { ...SHIFT, startsAt: time, endsAt }),
      ...(await Promise.all(
        ['tasks?dueBefore', 'tasks?dueAfter', 'shifts?from', 'shifts?to'].map((filter) =>
          anna.get(`/api/${filter}=${encoded}`),
        ),
      )),
    ];
    const said = answers.map(({ status }) => (status < 300 ? 200 : status));
    t.same(said, Array(answers.length).fill(fits ? 200 : 400), time);
  }
});

t.test('a wrong method on a public path is a 405 with Allow, also on the files of /docs', async (t) => {
  const paths = ['/docs', '/docs/', '/docs/page.js', '/docs/swagger-ui.css'];
  await runAudit(service.app);
  for (const path of [...paths, '/livez', '/readyz', '/openapi.json']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
      const { status, headers, body } = await sendLines(method, path, []);
      t.same(
        [status, headers.allow, body.code],
        [405, 'GET, HEAD', 'method_not_allowed'],
        `${method} ${path}`,
      );
    }
    t.equal((await sendLines('GET', path, [])).status, 200, path);
  }
});

t.test('a file that /docs does not have is a 404, with any form of path traversal', async (t) => {
  const names = ['nothing.js', '..', '../../package.json', '%2e%2e/package.json', '%5c..%5c', '..%2f..%2fx'];
  for (const name of names) {
    const { status, headers, body } = await sendLines('GET', `/docs/${name}`, []);
    t.match([status, body?.code], [404, 'route_not_found'], name);
    t.match(headers['content-type'], /^application\/problem\+json/, name);
  }
  const file = '/docs/swagger-ui.css';
  const whole = await sendLines('GET', file, []);
  for (const range of ['bytes=0-9', 'bytes=99999999-', 'nonsense']) {
    const { status, text } = await sendLines('GET', file, [['range', range]]);
    t.same([status, text === whole.text], [200, true], range);
  }
});

t.test('If-None-Match and If-Modified-Since on a list are ignored', async (t) => {
  for (const list of ['tasks', 'shifts', 'members', 'clubs/me']) {
    for (const headers of [{ 'if-none-match': '*' }, { 'if-modified-since': new Date().toUTCString() }]) {
      const answer = await anna.get(`/api/${list}`, headers as Record<string, string>);
      t.match(answer, { status: 200, headers: { etag: undefined } }, list);
      t.ok(Array.isArray(answer.body), list);
    }
  }
});

t.test('X-Test-UserId sent twice is a 400, after the role and before the body', async (t) => {
  const id = await ben.memberId();
  const twice: [string, string][] = [
    ['x-test-userid', id],
    ['X-Test-UserId', id],
  ];
  const [manager, viewer] = [await linesOf('Manager'), await linesOf('Viewer')];
  for (const body of ['{"title":"Mow"}', '{"nonsense":1}', '{', `"${'a'.repeat(140_000)}"`]) {
    const codes = [];
    for (const lines of [viewer, manager]) {
      const answer = await sendLines('POST', '/api/tasks', [...lines, ...twice], body);
      codes.push(`${answer.status} ${answer.body.code}`);
    }
    t.same(codes, ['403 insufficient_role', '400 test_user_invalid'], body.slice(0, 20));
  }
  const tenants = await sendLines('POST', '/api/tasks', [...manager, ['x-tenant-id', club], ...twice], '{}');
  t.equal(tenants.body.code, 'tenant_header_invalid', 'the tenant header is checked first');
  const clubs = await sendLines('GET', '/api/clubs/me', [...manager.slice(0, 1), ...twice]);
  t.equal(clubs.status, 200, 'without a tenant it is ignored');
});

t.test('an error of the domain has these members and no others', async (t) => {
  const id = async (body: object) => `/api/shifts/${(await anna.post('/api/shifts', body)).body.id}`;
  const shift = await id(shiftRequest({ capacity: 2 }));
  await anna.post(`${shift}/signup`);
  await ben.post(`${shift}/signup`);
  const past = await id(shiftRequest({ startsAt: '2020-01-01T10:00:00Z', endsAt: '2020-01-01T12:00:00Z' }));
  const { path: task } = await taskIn('InProgress', anna, await ben.memberId());
  const signupsBelow = await anna.put(shift, shiftRequest({ capacity: 1 }));
  const refusals: [Response, number, string, object?][] = [
    [signupsBelow, 409, 'capacity_below_signups', { signupCount: 2 }],
    [await anna.put(shift, { ...SHIFT, version: 7 }), 409, 'shift_version_conflict', { currentVersion: 1 }],
    [await cleo.post(`${past}/signup`), 422, 'shift_in_past'],
    [await cleo.delete(`${past}/signup`), 422, 'shift_in_past'],
    [await cleo.delete(`${shift}/signup`), 404, 'signup_not_found'],
    [await cleo.patch(task, { assigneeId: await cleo.memberId() }), 409, 'task_already_assigned'],
    [await cleo.patch(task, { assigneeId: await anna.memberId() }), 403, 'task_assign_forbidden'],
    [
      await cleo.patch(task, { state: 'Assigned' }),
      403,
      'task_transition_forbidden',
      { currentState: 'InProgress', requestedState: 'Assigned', allowedTransitions: ['Review'] },
    ],
    [
      await ben.post('/api/tasks', { title: 'Mow' }),
      403,
      'insufficient_role',
      { requiredRole: 'Manager', yourRole: 'Member' },
    ],
  ];
  for (const [{ status, body }, expected, code, more = {}] of refusals) {
    const { type, title, detail, instance, requestId, ...rest } = body;
    t.strictSame({ ...rest }, { status: expected, code, ...more }, code);
    t.equal(status, expected, code);
    t.ok(
      [type, title, detail, instance, requestId].every((text) => typeof text === 'string'),
      code,
    );
  }
  const own = await ben.patch(task, { state: 'Open' });
  t.same([...own.body.allowedTransitions].sort(), ['Assigned', 'Review'], 'the assignee has more steps');
});

t.test('a query string that is not UTF-8 is a 400 that names the parameter, after the role', async (t) => {
  const viewer = service.as('viewer', 'Viewer', club);
  for (const part of ['%zz', '%', '%ff', '%ED%A0%80', 'a%2', '%C3%28']) {
    const { status, body } = await ben.get(`/api/tasks?limit=5&q=${part}`);
    t.match([status, body.code, body.errors?.[0]?.parameter], [400, 'invalid_parameter', 'q'], part);
    t.equal((await ben.get(`/api/tasks?${part}=1`)).body.code, 'invalid_parameter', part);
    t.equal((await viewer.get(`/api/tasks?q=${part}`)).body.code, 'insufficient_role', part);
  }
  t.equal((await ben.get('/api/tasks?q=100%25+%C3%A4%F0%9F%8E%BE')).status, 200);
});

t.test('a path with an empty id is a 404, with every method and without a token', async (t) => {
  for (const { method, path } of endpoints.filter(({ path }) => path.includes(':id'))) {
    for (const lines of [[], await linesOf('Admin')]) {
      const answer = await sendLines(method, path.replace(':id', ''), lines);
      t.match([answer.status, answer.body?.code], [404, 'route_not_found'], `${method} ${path}`);
    }
  }
});

t.test('a body with a Content-Encoding is a 415, with any content; identity counts as none', async (t) => {
  const lines = await linesOf('Manager');
  const text = '{"title":"Mow"}';
  const said = async (coding: string, body: string | Buffer) =>
    (await sendLines('POST', '/api/tasks', [...lines, ['content-encoding', coding]], body)).status;
  t.same(
    [await said('gzip', gzipSync(text)), await said('br', text), await said('gzip, identity', text)],
    [415, 415, 415],
  );
  t.same([await said('identity', text), await said('Identity', text)], [201, 201]);
});
