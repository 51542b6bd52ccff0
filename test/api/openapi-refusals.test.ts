import t from 'tap';
import { endpoints, MISSING, pathOf, SHIFT } from '../setup/endpoints.js';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const { body: document } = await service.send('GET', '/openapi.json');
const club = await service.db.makeClub();
const people = {
  Viewer: service.as('viewer', 'Viewer', club),
  Member: service.as('member', 'Member', club),
  Manager: service.as('manager', 'Manager', club),
  Admin: service.as('admin', 'Admin', club),
};
type Role = keyof typeof people;

/** The documented answer and the real one, both without the parts that differ for each request. */
function comparison(method: string, path: string, { status, body }: Response) {
  const operation = document.paths[path.replace(':id', '{id}')][method.toLowerCase()];
  const examples = operation.responses[status]?.content?.['application/problem+json']?.examples;
  const { instance: _its, requestId: _example, ...shown } = examples?.[body.code]?.value ?? {};
  const { instance: _own, requestId: _answer, ...said } = body;
  return { name: `${method} ${path} ${body.code}`, shown, said };
}

/** Those whose documented answer differs from the real one. */
function differing(comparisons: ReturnType<typeof comparison>[]) {
  return comparisons.filter(({ shown, said }) => JSON.stringify(shown) !== JSON.stringify(said));
}

/** The schema of the request body of an operation. */
function bodySchemaOf(method: string, path: string): { required?: string[] } {
  const { requestBody } = document.paths[path.replace(':id', '{id}')][method.toLowerCase()];
  const { schema } = requestBody.content['application/json'];
  return schema.$ref ? document.components.schemas[schema.$ref.replace('#/components/schemas/', '')] : schema;
}

function call(role: Role, method: string, path: string, body?: unknown): Promise<Response> {
  const person = people[role];
  const verb = method.toLowerCase() as 'get' | 'delete' | 'post' | 'put' | 'patch';
  return verb === 'get' || verb === 'delete' ? person[verb](path) : person[verb](path, body);
}

t.test(
  'the error of a role that is too low names it and the needed role, as the document shows',
  async (t) => {
    const roles = ['Viewer', 'Member', 'Manager', 'Admin'] as const;
    const compared = [];
    for (const { method, path, role, body } of endpoints.filter(({ role }) => role !== 'Viewer')) {
      const below = roles[roles.indexOf(role) - 1] as Role;
      const answer = await call(below, method, pathOf({ path } as never), body);
      t.equal(
        answer.body.detail,
        `This needs the role ${role} in the club; yours is ${below}.`,
        `${method} ${path}`,
      );
      compared.push(comparison(method, path, answer));
    }
    t.ok(compared.length >= 12);
    t.same(differing(compared), []);
  },
);

t.test('a wrong parameter or body is refused with the error that the document shows', async (t) => {
  const compared = [];
  for (const endpoint of endpoints) {
    const { method, path, answer: usual } = endpoint;
    const isList =
      usual === 200 && path !== '/api/clubs/me' && path !== '/api/clubs/current' && !path.endsWith('/me');
    const wrong = path.includes(':id')
      ? path.replace(':id', 'nonsense')
      : `${path}?${isList ? 'limit=1000' : 'verbose=1'}`;
    compared.push(comparison(method, path, await call('Admin', method, wrong, endpoint.body)));
    if (endpoint.body !== undefined) {
      const [required] = bodySchemaOf(method, path).required ?? [];
      const faulty = required
        ? Object.fromEntries(Object.entries(endpoint.body as object).filter(([name]) => name !== required))
        : { ...(endpoint.body as object), comment: 'x' };
      compared.push(comparison(method, path, await call('Admin', method, pathOf(endpoint), faulty)));
    }
  }
  t.ok(compared.length > endpoints.length);
  t.same(differing(compared), []);
});

t.test('the document shows the errors of a task’s or shift’s state with all their members', async (t) => {
  const task = '/api/tasks/:id';
  const shift = '/api/shifts/:id';
  const { Admin, Member } = people;
  const open = `/api/tasks/${(await Admin.post('/api/tasks', { title: 'Mow' })).body.id}`;
  const compared = [comparison('PATCH', task, await Admin.patch(open, { state: 'Done' }))];

  await Admin.patch(open, { title: 'Mow the lawn' });
  await Admin.patch(open, { title: 'Mow all lawns' });
  compared.push(comparison('PATCH', task, await Admin.patch(open, { title: 'Mow', version: 1 })));
  compared.push(comparison('DELETE', task, await Admin.delete(open, { 'if-match': '"1"' })));
  await Admin.patch(open, { state: 'Assigned' });
  compared.push(comparison('PATCH', task, await Member.patch(open, { state: 'Assigned' })));
  compared.push(
    comparison('PATCH', task, await Member.patch(open, { assigneeId: await people.Manager.memberId() })),
  );
  compared.push(comparison('PATCH', task, await Admin.patch(open, { assigneeId: MISSING })));
  await Admin.patch(open, { state: 'InProgress' });
  await Admin.patch(open, { state: 'Review' });
  compared.push(comparison('PATCH', task, await Member.patch(open, { state: 'InProgress' })));

  const place = `/api/shifts/${(await Admin.post('/api/shifts', { ...SHIFT, capacity: 2 })).body.id}`;
  await Admin.post(`${place}/signup`, {});
  compared.push(comparison('POST', `${shift}/signup`, await Admin.post(`${place}/signup`, {})));
  await Member.post(`${place}/signup`, {});
  compared.push(comparison('POST', `${shift}/signup`, await people.Manager.post(`${place}/signup`, {})));
  compared.push(comparison('PUT', shift, await Admin.put(place, { ...SHIFT, capacity: 1 })));
  await Admin.put(place, { ...SHIFT, capacity: 3 });
  compared.push(comparison('PUT', shift, await Admin.put(place, { ...SHIFT, version: 1 })));

  t.same(differing(compared), []);
  t.same(
    compared.map(({ name }) => name.split(' ')[2]),
    [
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
    ],
  );
});

t.test('the error of a refused step names the allowed steps', async (t) => {
  const { Admin, Member } = people;
  const made = await Admin.post('/api/tasks', { title: 'Mow' });
  const path = `/api/tasks/${made.body.id}`;
  const said = async (patch: object, person = Admin) => (await person.patch(path, patch)).body.detail;
  t.equal(
    await said({ state: 'Done' }),
    'The task is Open and cannot become Done with this request. You may set Assigned.',
  );
  await Admin.patch(path, { state: 'Assigned' });
  const [fit, either] = [
    /^The assignee does not fit: .* You may set Open or InProgress\.$/,
    await said({ state: 'Review' }),
  ];
  t.match(await said({ state: 'Assigned', assigneeId: null }), fit);
  t.match(await said({ state: 'InProgress', assigneeId: null }), fit);
  t.equal(
    either,
    'The task is Assigned and cannot become Review with this request. You may set Open or InProgress.',
  );
  t.equal(
    await said({ state: 'Open' }, Member),
    'The step from Assigned to Open is for the assignee or a Manager, and you are a Member. You may set InProgress.',
  );
  for (const state of ['InProgress', 'Review', 'Done']) {
    t.equal((await Admin.patch(path, { state })).status, 200);
  }
  t.match(
    await said({ state: 'Open' }),
    /cannot become Open with this request\. You may not set another state now\.$/,
  );
});
