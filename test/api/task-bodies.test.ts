import t from 'tap';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const club = await service.db.makeClub();
const manager = service.as('mona', 'Manager', club);
const member = service.as('max', 'Member', club);

const make = async (fields: Record<string, unknown> = {}) => {
  const answer = await manager.post('/api/tasks', { title: 'Mow the lawn', ...fields });
  return { task: answer.body, path: `/api/tasks/${answer.body.id}` };
};

/** The pointers of an error. */
const pointers = ({ body }: Response): string[] =>
  body.errors.map(({ pointer }: { pointer: string }) => pointer).sort();

/** Faults of a field, for creating and for editing. */
const faulty: Record<string, unknown[]> = {
  '/title': [
    null,
    5,
    '',
    ' \n ',
    'x'.repeat(201),
    '🎾'.repeat(201),
    'two\nlines',
    'a\ttab',
    'a\u0000nul',
    'a\u007fdelete',
    'half \ud83c a pair',
  ],
  '/description': [5, {}, 'x'.repeat(10_001), 'a\u0000nul', 'a\u001bescape', 'half \udfbe a pair'],
  '/dueAt': [
    5,
    '',
    'tomorrow',
    '2026-05-01',
    '2026-05-01T18:00:00',
    '2026-02-30T18:00:00Z',
    '2026-05-01T24:00:00Z',
    '2016-12-31T23:59:60Z',
    '1969-12-31T23:59:59Z',
    '2200-01-01T00:00:00Z',
  ],
  '/assigneeId': [5, '', 'me', 'urn:uuid:99999999-9999-4999-8999-999999999999'],
};

/** Unknown fields of a request: fields of the answer, and fields of no task. */
const unknown = ['id', 'clubId', 'createdAt', 'completedAt', 'allowedTransitions', 'colour', '__proto__'];

t.test('every invalid field is refused with its pointer, and nothing is written', async (t) => {
  const { task, path } = await make();
  for (const [pointer, values] of Object.entries(faulty)) {
    for (const value of values) {
      const field = { [pointer.slice(1)]: value };
      const posted = await manager.post('/api/tasks', { title: 'Faulty', ...field });
      const patched = await member.patch(path, field);
      for (const answer of [posted, patched]) {
        t.equal(answer.status, 400, JSON.stringify(field).slice(0, 60));
        t.equal(answer.headers['content-type'], 'application/problem+json');
        t.equal(answer.body.code, 'validation_failed');
        t.strictSame(pointers(answer), [pointer], JSON.stringify(field).slice(0, 60));
        t.match(answer.body.errors, [{ code: /^[a-z_]+$/, detail: String }]);
      }
    }
  }
  t.strictSame((await member.get(path)).body, task);
  t.strictSame(await service.db.queryAsAdmin(`select from app.tasks where title = 'Faulty'`), []);
});

t.test('an edit accepts only known states and whole versions, and null for neither', async (t) => {
  const { task, path } = await make();
  const states = [null, 'open', 'Closed', '', 1].map((state) => ['/state', { state }] as const);
  const versions = [null, '1', 1.5, true].map((version) => ['/version', { version }] as const);
  for (const [pointer, body] of [...states, ...versions]) {
    const answer = await member.patch(path, body);
    t.equal(answer.status, 400, JSON.stringify(body));
    t.equal(answer.body.code, 'validation_failed');
    t.strictSame(pointers(answer), [pointer], JSON.stringify(body));
  }
  t.strictSame((await member.get(path)).body, task);
});

t.test('an unknown field with any name is refused with its pointer', async (t) => {
  const { path } = await make();
  for (const name of unknown) {
    const field = `"${name}": null`;
    const posted = await manager.post('/api/tasks', `{"title": "Faulty", ${field}}`);
    const patched = await member.patch(path, `{${field}}`);
    for (const answer of [posted, patched]) {
      t.equal(answer.status, 400, name);
      t.strictSame(pointers(answer), [`/${name}`]);
    }
  }
  // The service decides the state and the version of a new task.
  const born = await manager.post('/api/tasks', { title: 'Faulty', state: 'Done', version: 1, 'a/b~c': 1 });
  t.strictSame(pointers(born), ['/a~1b~0c', '/state', '/version']);
});

t.test('all faults are reported at once, also a missing title', async (t) => {
  const { path } = await make();
  const body = { description: 5, dueAt: 'soon', assigneeId: 'me', colour: 'green' };
  const expected = ['/assigneeId', '/colour', '/description', '/dueAt'];
  t.strictSame(pointers(await manager.post('/api/tasks', body)), [...expected, '/title']);
  t.strictSame(pointers(await member.patch(path, body)), expected);
  t.strictSame(pointers(await manager.post('/api/tasks', {})), ['/title']);
});

t.test('an edit is JSON or JSON Merge Patch; other types are refused', async (t) => {
  const { path } = await make();
  const send = (title: string, type: string) => member.patch(path, { title }, { 'content-type': type });
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'application/merge-patch+json',
  ]) {
    t.match(await send(type, type), { status: 200, body: { title: type } }, type);
  }
  for (const type of ['text/plain', 'application/json-patch+json', 'application/x-www-form-urlencoded']) {
    t.match(await send('no', type), { status: 415, body: { code: 'unsupported_media_type' } }, type);
  }
});

t.test('text is trimmed and counted in code points', async (t) => {
  for (const [sent, stored] of [
    [' \n Mow\u00a0the lawn\t', 'Mow\u00a0the lawn'],
    ['🎾'.repeat(200), '🎾'.repeat(200)],
    [`  ${'x'.repeat(200)}  `, 'x'.repeat(200)],
  ] as const) {
    const { task, path } = await make({ title: sent });
    t.equal(task.title, stored);
    const other = await make();
    t.equal((await member.patch(other.path, { title: sent })).body.title, stored);
    t.equal((await member.get(path)).body.title, stored);
  }
  const description = `First.\n\tThen ${'🎾'.repeat(9_980)}`;
  t.equal((await make({ description: ` ${description} ` })).task.description, description);
});

t.test('a time is returned in UTC, truncated to microseconds', async (t) => {
  const { path } = await make();
  for (const [sent, stored] of [
    ['2026-05-01T18:00:00.1234567+02:00', '2026-05-01T16:00:00.123456Z'],
    ['2026-05-01T00:30:00.5-01:00', '2026-05-01T01:30:00.5Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z'],
    ['2199-12-31T23:59:59.999999Z', '2199-12-31T23:59:59.999999Z'],
  ] as const) {
    for (const { dueAt } of [
      (await make({ dueAt: sent })).task,
      (await member.patch(path, { dueAt: sent })).body,
    ]) {
      t.match(dueAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/);
      // The number of trailing zeros of a fraction is not promised.
      const digits = (time: string) => time.slice(0, 19) + time.slice(20, -1).padEnd(6, '0');
      t.equal(digits(dueAt), digits(stored));
    }
  }
});
