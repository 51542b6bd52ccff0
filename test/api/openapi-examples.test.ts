import t, { type Test } from 'tap';
import { Catalogue } from '../../src/errors/catalogue.js';
import { complete } from '../../src/openapi/document.js';
import { ROLES, type Role } from '../../src/roles.js';
import { buildValidator } from '../../src/validation/compiler.js';
import { listsOfIds } from '../../tools/document.js';
import { demoClubs } from '../../tools/people.js';
import { closed } from '../setup/contract.js';
import {
  type Endpoint,
  endpoints,
  fit,
  MISSING,
  makeClubFor,
  makeRows,
  makers,
  makeStartedShift,
  operationOf,
  pathOf,
  SHIFT,
  withQuery,
} from '../setup/endpoints.js';
import { bodySchemaOf } from '../setup/fields.js';
import type { Method, Person, Response } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { allowedTo } from '../setup/workflow.js';

// biome-ignore lint/suspicious/noExplicitAny: the document and its examples have every shape
type Part = any;

const service = await startService(t, { testUserHeader: true });
const { body: document } = await service.send('GET', '/openapi.json');
const operations = Object.entries<Part>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Part>(methods).map(([method, operation]) => ({ path, method, ...operation })),
);
const successes = operations.flatMap(({ path, method, operationId, responses }) =>
  Object.entries<Part>(responses)
    .filter(([status, { content }]) => status.startsWith('2') && content !== undefined)
    .map(([status, { content, headers }]) => {
      const [[media, { example }]] = Object.entries<Part>(content) as [[string, Part]];
      const pointer = ['paths', path, method, 'responses', status, 'content', media, 'schema'];
      const parts = pointer.map((part) => encodeURIComponent(part.replaceAll('/', '~1')));
      const schema = { $ref: `document#/${parts.join('/')}` };
      return { operationId, method, path, status, schema, example, headers };
    }),
);
const compile = buildValidator({ document: closed(document) });
const exampleOf = (id: string): Part =>
  successes.find(({ operationId }) => operationId === id)?.example ?? t.fail(`${id} has no example`);

/** Every object in an example, however deep. */
function objectsIn(value: Part): Part[] {
  const inner = typeof value === 'object' && value !== null ? Object.values(value).flatMap(objectsIn) : [];
  return inner.concat(typeof value === 'object' && value !== null && !Array.isArray(value) ? [value] : []);
}

t.test('every success body has an example with exactly the properties of its schema', async (t) => {
  t.ok(successes.length >= 16);
  const wrong = successes.flatMap(({ operationId, schema, example }) => {
    const validate = compile({ schema, httpPart: 'body' });
    return validate(structuredClone(example)) ? [] : [[operationId, validate.errors]];
  });
  t.same(wrong, [], 'the examples of each DTO have its fields');
});

t.test('every request has an example that the service accepts and returns unchanged', async (t) => {
  for (const maker of makers) {
    const { path } = maker;
    const { clubId, body: sent } = await makeClubFor(service, maker);
    const admin = service.as('anna', 'Admin', clubId);
    const { status, headers, body: row } = await admin.post(path, sent);
    t.equal(status, 201, `${path}: ${row.detail} An id in its example is that of an example of another list`);
    t.same(differences(sent as object, row), [], `${path} returns the values of its example`);
    t.same((await admin.get(String(headers.location))).body, row, `${path}, read again`);
  }
  const club = await service.db.makeClub();
  const admin = service.as('anna', 'Admin', club);
  const ids = await makeRows(service, club);
  for (const endpoint of endpoints.filter((one) => one.body !== undefined && !makers.includes(one))) {
    const { method, path } = endpoint;
    for (const example of examplesOf(endpoint)) {
      const { version: _seen, ...changes } = fit(example, ids);
      const { status, body: row } = await sendAs(admin, endpoint, pathOf(endpoint, ids), changes);
      const at = `${method} ${path} with its example ${JSON.stringify(changes)}`;
      t.ok(status < 300, `${at}: ${row?.detail}`);
      t.same(differences(changes, row), [], `${at} returns these values`);
    }
  }
});

/** The examples of the body of an endpoint. */
function examplesOf(endpoint: Pick<Endpoint, 'method' | 'path'>): Part[] {
  return (bodySchemaOf(endpoint) as Part).examples ?? [{}];
}

/** The fields that were returned changed; `25.5` equals `25.50`, and a time equals itself in any offset. */
function differences(sent: object, row: Record<string, unknown>): string[] {
  const plain = (value: unknown) => {
    const text = String(value);
    return /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : /^[\d.]+$/.test(text) ? Number(text) : value;
  };
  return Object.entries(sent)
    .filter(([name]) => name in row)
    .filter(([name, value]) => JSON.stringify(plain(value)) !== JSON.stringify(plain(row[name])))
    .map(([name, value]) => `${name}: ${value} became ${row[name]}`);
}

t.test('the example of a list shows two rows or more, in the order of the list', async (t) => {
  const orders = operations.flatMap(({ operationId, parameters = [] }) => {
    const sort = parameters.find(({ name }: Part) => name === 'sort');
    return sort === undefined ? [] : [[operationId, sort.schema.default] as const];
  });
  t.ok(orders.length >= 3);
  for (const [id, order] of [['listMyClubs', 'name'] as const, ...orders]) {
    const [first, second] = exampleOf(id);
    t.ok(second !== undefined, `${id}: the DTO of its rows has two examples`);
    const field = order.replace('-', '');
    // A row does not have to show the key of its order.
    if (field in first) {
      const isRising = first[field] < second[field];
      t.equal(
        isRising,
        !order.startsWith('-'),
        `${id}: the examples of the DTO of its rows are in the order ${order}`,
      );
    }
  }
});

t.test('the examples show one club and its members, as its Manager sees them', async (t) => {
  const [club, me] = [exampleOf('getCurrentClub'), exampleOf('getMyMembership')];
  t.same([club.role, me.role, me.clubId], ['Manager', 'Manager', club.id]);
  t.equal(club.id, demoClubs.north.id, 'the examples that /docs fills in exist with `make run`');
  t.same(exampleOf('listMyClubs')[0], club);
  const names = new Map(exampleOf('listMembers').map((row: Part) => [row.id, row.displayName]));
  t.equal(names.get(me.id), me.displayName);
  const emails = exampleOf('listMembers').map((row: Part) => [typeof row.email, row.externalUserId === null]);
  t.same(emails, [
    ['string', false],
    ['string', true],
    ['string', true],
  ]);

  const objects = successes.flatMap(({ example }) => objectsIn(example));
  const isKnown = (object: Part, role: string) => {
    const [id, name] = [object[`${role}Id`], object[`${role}Name`]];
    return !id || (names.has(id) && (name === undefined || name === names.get(id)));
  };
  const strangers = objects.filter(
    (object) =>
      (object.clubId ?? club.id) !== club.id ||
      !['assignee', 'member', 'createdBy'].every((role) => isKnown(object, role)),
  );
  t.same(strangers, []);
  const times = objects.flatMap((object) => Object.entries(object).filter(([key]) => key.endsWith('At')));
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;
  t.same(
    times.filter(([, time]) => time !== null && !isTime.test(String(time))),
    [],
  );
  t.ok(objects.every(({ createdAt, joinedAt, updatedAt }) => !((createdAt ?? joinedAt) > updatedAt)));
});

t.test('the examples of a task follow the workflow', async (t) => {
  const [made, read] = [exampleOf('createTask'), exampleOf('getTask')];
  t.match([made.version, made.state, read.state], [1, 'Open', 'Assigned']);
  t.ok(made.id === read.id && made.createdAt === made.updatedAt && read.version > 1);
  for (const task of [made, read, exampleOf('updateTask')]) {
    t.same(task.allowedTransitions, allowedTo('a Manager', task.state), task.state);
    t.equal(task.completedAt === null, task.state !== 'Done', task.state);
  }
  for (const task of [made, read, ...exampleOf('listTasks')]) {
    t.equal(task.assigneeId === null, task.state === 'Open', task.title);
    t.equal(task.assigneeName === null, task.assigneeId === null, task.title);
  }
  const { clubId, description, createdById, completedAt, allowedTransitions, ...row } = read;
  t.same(exampleOf('listTasks')[0], row, 'the list shows the same task');
});

t.test('the examples of a shift have correct counts', async (t) => {
  const me = exampleOf('getMyMembership').id;
  const [made, read] = [exampleOf('createShift'), exampleOf('getShift')];
  const details = [made, read, exampleOf('replaceShift')];
  for (const shift of [...details, ...exampleOf('listShifts')]) {
    t.equal(shift.freeSlots, shift.capacity - shift.signupCount, shift.title);
    t.ok(shift.freeSlots >= 0 && shift.startsAt < shift.endsAt, shift.title);
  }
  for (const { signups, signupCount, isSignedUp, id } of details) {
    t.equal(signups.length, signupCount);
    t.equal(
      signups.some(({ memberId }: Part) => memberId === me),
      isSignedUp,
    );
    const times = signups.map(({ createdAt }: Part) => createdAt);
    t.same(times, [...times].sort());
    t.ok(signups.every(({ shiftId }: Part) => shiftId === id));
  }
  t.match([made.version, made.signups, read.signups.length], [1, [], 2]);
  t.same(read.signups[0], exampleOf('signUp'), 'signing up makes what the shift then shows');
  const [, other] = exampleOf('listShifts');
  t.match(exampleOf('getMySignup'), { shiftId: other.id, memberId: me });
  t.equal(other.isSignedUp, true);
  const { clubId, description, signups, createdById, createdAt, updatedAt, ...row } = read;
  t.same(exampleOf('listShifts')[0], row, 'the list shows the same shift');
});

t.test('the example of a link to a calendar has its URL only where the link is created', async (t) => {
  const links = successes.filter(({ operationId }) => operationId.endsWith('CalendarLink'));
  t.same(links.map(({ method, status, example }) => [method, status, example.url !== null]).sort(), [
    ['get', '200', false],
    ['put', '200', true],
    ['put', '201', true],
  ]);
  const feed = `/calendars/${exampleOf('getCurrentClub').id}/`;
  t.ok(new URL(exampleOf('createCalendarLink').url).pathname.startsWith(feed));
});

t.test('the example of a header matches the example of the body', async (t) => {
  for (const { operationId, example, headers } of successes.filter(
    ({ headers, example }) => headers.ETag && example instanceof Object,
  )) {
    const tag = Array.isArray(example) ? /^W\/"[\w-]{43}"$/ : new RegExp(`^"${example.version}"$`);
    t.match(headers.ETag.example, tag, `${operationId}: the version of its example, or a weak tag`);
  }
  // A row below another row is at the path of its request, and rows that were created together are in a list.
  const wrong = successes.flatMap(({ operationId, method, path, status, example, headers }) => {
    const [{ shiftId, memberId }] = [example].flat();
    const ids = { '{id}': shiftId, '{memberId}': memberId };
    const filled = path.replaceAll(/\{\w+\}/g, (name: string) => ids[name as '{id}']);
    const [{ batchId }] = [example].flat();
    const list = path.replace('/batch', '');
    const row = example.id === undefined ? list : `${path}/${example.id}`;
    const place = filled !== path ? filled : batchId ? `${list}?batchId=${batchId}` : row;
    const paged = /^<([^?]+)\?limit=2&cursor=[\w-]{40,}>; rel="next"$/.exec(headers.Link?.example ?? '')?.[1];
    const isRight = [
      headers.Location === undefined ? status !== '201' : headers.Location.example === place,
      headers.Link === undefined
        ? !Array.isArray(example) || method === 'post' || path === '/api/clubs/me'
        : paged === filled,
    ];
    return isRight.includes(false) ? [operationId] : [];
  });
  t.same(wrong, []);
});

t.test('every parameter has an example that the service accepts', async (t) => {
  const anna = service.as('anna', 'Manager', await service.db.makeClub('north'));
  for (const { path, method, operationId, parameters = [], responses } of operations) {
    const query = new URLSearchParams();
    for (const { name, in: place, required, schema, example } of parameters) {
      const at = `${operationId} ${name}`;
      // /docs fills `example` into its form: useful for an id, unwanted for a filter.
      t.equal(example === undefined, !required, at);
      const value = example ?? schema.examples?.[0];
      t.ok(
        compile({ schema: { properties: { value: schema } }, httpPart: 'body' })({ value }),
        `${at}: ${value}`,
      );
      if (place === 'path' && schema.format === 'uuid') {
        const isShift = ['listAttendance', 'listWaits']
          .flatMap(exampleOf)
          .some(({ shiftId }: Part) => shiftId === value);
        t.ok(isShift || listsOfIds(document).has(value), `${at} is an id of the example of a list`);
      } else if (place === 'query' && !['cursor', 'after'].includes(name)) {
        query.set(name, String(value));
      }
    }
    if (method === 'get' && query.size > 0) {
      const url = path.replace('{id}', await makeStartedShift(anna));
      t.equal((await anna.get(`${url}?${query}`)).status, 200, `${path}?${query}`);
      t.ok(responses[200].headers.Link, path);
    }
  }
});

t.test('a parameter without an example is named', async (t) => {
  const parameter = { name: 'beds', in: 'query', schema: { type: 'integer' } };
  const operation = { method: 'GET', url: '/api/huts', requestHeaders: [], responseHeaders: [], errors: [] };
  t.throws(
    () =>
      complete(
        { paths: { '/api/huts': { get: { parameters: [parameter] } } } },
        [operation as never],
        new Catalogue(),
      ),
    { message: 'The parameter beds of GET /api/huts has no example: add `examples` to its schema.' },
  );
});

const club = await service.db.makeClub();
const people = {
  Viewer: service.as('viewer', 'Viewer', club),
  Member: service.as('member', 'Member', club),
  Manager: service.as('manager', 'Manager', club),
  Admin: service.as('admin', 'Admin', club),
};

/** Sends a request to an endpoint. */
function sendAs(person: Person, { method }: Pick<Endpoint, 'method'>, url: string, body?: unknown) {
  const verb = method.toLowerCase() as 'get' | 'delete' | 'post' | 'put' | 'patch';
  return verb === 'get' || verb === 'delete' ? person[verb](url) : person[verb](url, body);
}

/** Asserts that a problem is the one that the document shows, but for the parts that differ for each request. */
function isDocumented(
  t: Test,
  endpoint: Pick<Endpoint, 'method' | 'path'>,
  { status, body }: Response,
): void {
  const { content } = operationOf(endpoint).responses[status] ?? {};
  const example = content?.['application/problem+json']?.examples?.[body.code] as Part;
  const withoutRequest = ({ instance, requestId, ...problem }: Part) => JSON.stringify(problem);
  const place = `${endpoint.method} ${endpoint.path} ${body.code}`;
  t.equal(withoutRequest(body), withoutRequest(example?.value ?? {}), place);
}

t.test(
  'the error of a role that is too low contains it and the required role, as the document shows',
  async (t) => {
    const ofHigherRoles = endpoints.filter(({ role }) => role !== 'Viewer');
    t.ok(ofHigherRoles.length >= 12);
    for (const endpoint of ofHigherRoles) {
      const { role, body } = endpoint;
      const below = ROLES[ROLES.indexOf(role) - 1] as Role;
      const response = await sendAs(people[below], endpoint, pathOf(endpoint), body);
      t.equal(response.body.detail, `This needs the role ${role} in the club; yours is ${below}.`);
      isDocumented(t, endpoint, response);
    }
  },
);

t.test('a wrong parameter or body is refused with the error that the document shows', async (t) => {
  for (const endpoint of endpoints) {
    const { path, body } = endpoint;
    const isList = operationOf(endpoint).parameters?.some(({ name }) => name === 'limit');
    const url = path.includes(':id')
      ? pathOf(endpoint, { id: 'nonsense' })
      : withQuery(pathOf(endpoint), isList ? 'limit=1000' : 'verbose=1');
    isDocumented(t, endpoint, await sendAs(people.Admin, endpoint, url, body));
    if (body !== undefined) {
      const [required] = bodySchemaOf(endpoint).required ?? [];
      const wrong = { ...body, ...(required === undefined ? { comment: 'x' } : { [required]: undefined }) };
      isDocumented(t, endpoint, await sendAs(people.Admin, endpoint, pathOf(endpoint), wrong));
    }
  }
});

t.test('the document shows the errors of a task’s or shift’s state with all their members', async (t) => {
  const { Admin, Manager, Member } = people;
  const codes: string[] = [];
  const check = (method: Method, path: string, response: Response) => {
    isDocumented(t, { method, path }, response);
    codes.push(response.body.code);
  };
  const task = '/api/tasks/:id';
  const open = `/api/tasks/${(await Admin.post('/api/tasks', { title: 'Mow' })).body.id}`;
  check('PATCH', task, await Admin.patch(open, { state: 'Done' }));
  await Admin.patch(open, { title: 'Mow the lawn' });
  await Admin.patch(open, { title: 'Mow all lawns' });
  check('PATCH', task, await Admin.patch(open, { title: 'Mow', version: 1 }));
  check('DELETE', task, await Admin.delete(open, { 'if-match': '"1"' }));
  await Admin.patch(open, { state: 'Assigned' });
  check('PATCH', task, await Member.patch(open, { state: 'Assigned' }));
  check('PATCH', task, await Member.patch(open, { assigneeId: await Manager.memberId() }));
  check('PATCH', task, await Admin.patch(open, { assigneeId: MISSING }));
  await Admin.patch(open, { state: 'InProgress' });
  await Admin.patch(open, { state: 'Review' });
  check('PATCH', task, await Member.patch(open, { state: 'InProgress' }));

  const shift = '/api/shifts/:id';
  const place = `/api/shifts/${(await Admin.post('/api/shifts', { ...SHIFT, capacity: 2 })).body.id}`;
  await Admin.post(`${place}/signup`);
  check('POST', `${shift}/signup`, await Admin.post(`${place}/signup`));
  await Member.post(`${place}/signup`);
  check('POST', `${shift}/signup`, await Manager.post(`${place}/signup`));
  check('PUT', shift, await Admin.put(place, { ...SHIFT, capacity: 1 }));
  await Admin.put(place, { ...SHIFT, capacity: 3 });
  check('PUT', shift, await Admin.put(place, { ...SHIFT, version: 1 }));
  t.same(codes, [
    'invalid_task_transition',
    'task_version_conflict',
    'precondition_failed',
    'task_already_assigned',
    'task_assign_forbidden',
    'assignee_not_member',
    'task_transition_forbidden',
    'already_signed_up',
    'shift_full',
    'capacity_below_signups',
    'shift_version_conflict',
  ]);
});
