import t from 'tap';
import { buildValidator } from '../../src/validation/compiler.js';
import { demoClubs } from '../../tools/people.js';
import { closed } from '../setup/contract.js';
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
      const pointer = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema'];
      const parts = pointer.map((part) => encodeURIComponent(part.replaceAll('/', '~1')));
      const { example } = content['application/json'];
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
  t.same(wrong, []);
});

t.test('the example of a list shows two rows, in the order of the list', async (t) => {
  const orders = {
    listMyClubs: 'name',
    listMembers: 'displayName',
    listTasks: '-createdAt',
    listShifts: 'startsAt',
  };
  for (const [id, order] of Object.entries(orders)) {
    const keys = exampleOf(id).map((row: Part) => row[order.replace('-', '')]);
    t.equal(keys.length, 2, id);
    t.equal(keys[0] < keys[1], !order.startsWith('-'), id);
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
    t.same([...task.allowedTransitions].sort(), allowedTo('a Manager', task.state), task.state);
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

t.test('every header of an answer is described, and its example belongs to the body', async (t) => {
  const all = operations.flatMap(({ operationId, responses }) =>
    Object.entries<Part>(responses).flatMap(([status, { headers }]) =>
      Object.entries<Part>(headers).map(([name, header]) => ({
        at: `${operationId} ${status} ${name}`,
        header,
      })),
    ),
  );
  const bare = all.filter(({ header }) => !header.description || header.example === undefined);
  t.same(
    bare.map(({ at }) => at),
    [],
  );
  for (const { operationId, example, headers } of successes.filter(({ headers }) => headers.ETag)) {
    t.equal(headers.ETag.example, `"${example.version}"`, operationId);
  }
  // A row below another row is the only one of its kind, and its path has no id.
  const wrong = successes.flatMap(({ operationId, method, path, example, headers }) => {
    const place = path.includes('{id}') ? path.replace('{id}', example.shiftId) : `${path}/${example.id}`;
    const list = /^<([^?]+)\?limit=2&cursor=[\w-]{40,}>; rel="next"$/.exec(headers.Link?.example ?? '')?.[1];
    const isRight = [
      headers.Location === undefined ? method !== 'post' : headers.Location.example === place,
      headers.Link === undefined ? !Array.isArray(example) || path === '/api/clubs/me' : list === path,
    ];
    return isRight.includes(false) ? [operationId] : [];
  });
  t.same(wrong, []);
});

t.test('every parameter has a description and an example that the service accepts', async (t) => {
  const anna = service.as('anna', 'Manager', await service.db.makeClub('north'));
  for (const { path, method, operationId, parameters = [], responses } of operations) {
    const query = new URLSearchParams();
    for (const { name, in: place, description, required, schema, example } of parameters) {
      const at = `${operationId} ${name}`;
      t.ok(description, at);
      // /docs fills `example` into its form: useful for an id, unwanted for a filter.
      t.equal(example === undefined, !required, at);
      const value = example ?? schema.examples?.[0];
      t.ok(
        compile({ schema: { properties: { value: schema } }, httpPart: 'body' })({ value }),
        `${at}: ${value}`,
      );
      if (place === 'path') {
        const [list = ''] = /^\/api\/\w+/.exec(path) ?? [];
        const rows = successes.find((success) => success.path === list && success.method === 'get')?.example;
        // A caller with a place cannot sign up, and a caller without one cannot cancel.
        const isOther = ['getMySignup', 'cancelSignUp'].includes(operationId);
        t.equal(value, rows[isOther ? 1 : 0].id, at);
      } else if (place === 'query' && name !== 'cursor') {
        query.set(name, String(value));
      }
    }
    if (method === 'get' && query.size > 0) {
      t.equal((await anna.get(`${path}?${query}`)).status, 200, `${path}?${query}`);
      t.ok(responses[200].headers.Link, path);
    }
  }
});
