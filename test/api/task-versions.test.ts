import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { connectAsRuntime } from '../setup/runtime.js';
import { type Response, sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const service = await startService(t);
const club = await service.db.makeClub();
const admin = service.as('ada', 'Admin', club);
const manager = service.as('mona', 'Manager', club);
const member = service.as('max', 'Member', club);
const holder = service.as('hans', 'Member', club);
const session = await connectAsRuntime(t, service.db);
const rival = { clubId: club, subject: 'rival', role: 'Admin' } as const;
await session.join(rival);

const make = async (fields: Record<string, unknown> = {}) => {
  const response = await manager.post('/api/tasks', { title: 'Mow the lawn', ...fields });
  return { task: response.body, path: `/api/tasks/${response.body.id}` };
};

/** Sends the requests while the task is locked, so that each reads it before any can write it. */
const race = async (id: string, sent: number, act: string | null, send: () => Promise<Response>[]) => {
  await session.begin(rival);
  await session.client.query('select from app.tasks where id = $1 for update', [id]);
  const sending = send();
  const blocked = await untilWaitingForLocks(service.db, sent, ...sending);
  if (act !== null) {
    await session.client.query(act, [id]);
  }
  await session.client.query('commit');
  return { blocked, responses: await Promise.all(sending) };
};

const statuses = (responses: Response[]) => responses.map(({ status }) => status).sort();

t.test('every change makes a new version and ETag; reading makes none', async (t) => {
  const { task, path } = await make();
  const changes = [{ title: 'Rake' }, { description: 'Slowly.' }, { dueAt: '2026-05-01T18:00:00Z' }];
  let before = task;
  for (const [index, change] of [...changes, { state: 'Assigned' }, { state: 'InProgress' }].entries()) {
    const { status, headers, body } = await member.patch(path, change);
    t.equal(status, 200);
    t.equal(body.version, index + 2);
    t.equal(headers.etag, `"${index + 2}"`);
    t.match(body, change);
    t.equal(body.createdAt, task.createdAt);
    t.ok(Date.parse(body.updatedAt) >= Date.parse(before.updatedAt) && body.updatedAt !== before.updatedAt);
    const read = await member.get(path, { 'if-none-match': `"${index + 2}"` });
    t.match(read, { status: 200, headers: { etag: `"${index + 2}"` } });
    t.strictSame(read.body, body);
    before = body;
  }
});

t.test('a missing field is unchanged, and null clears a field', async (t) => {
  const fields = {
    description: 'Twice.',
    dueAt: '2026-05-01T18:00:00Z',
    assigneeId: await holder.memberId(),
  };
  const { task, path } = await make(fields);
  const cleared = (await member.patch(path, { description: null })).body;
  const change = { description: null, version: 2, updatedAt: cleared.updatedAt };
  t.strictSame({ ...cleared, allowedTransitions: task.allowedTransitions }, { ...task, ...change });
  t.match((await member.patch(path, { dueAt: null })).body, { dueAt: null, title: task.title, version: 3 });
});

t.test('an edit that changes nothing leaves the task as it was', async (t) => {
  const fields = {
    description: 'Twice.',
    dueAt: '2026-05-01T18:00:00.5Z',
    assigneeId: await holder.memberId(),
  };
  const { path } = await make(fields);
  const before = (await member.get(path)).body;
  const { title, description, dueAt, state, assigneeId } = before;
  for (const change of [
    {},
    { version: 1 },
    { title: ` ${title} ` },
    { description },
    { dueAt },
    { dueAt: '2026-05-01T20:00:00.500000+02:00' },
    { assigneeId: assigneeId.toUpperCase() },
    { state, assigneeId },
    { title, description, dueAt, state, assigneeId, version: 1 },
  ]) {
    const response = await member.patch(path, change, { 'if-match': '"1"' });
    t.equal(response.status, 200, JSON.stringify(change));
    t.equal(response.headers.etag, '"1"');
    t.strictSame(response.body, before, JSON.stringify(change));
  }
  t.strictSame((await member.get(path)).body, before);
});

t.test('an outdated version is refused, and the error has the current one', async (t) => {
  const { path } = await make();
  t.equal((await member.patch(path, { title: 'Rake', version: 1 })).body.version, 2);
  const before = (await member.get(path)).body;
  for (const body of [{ title: 'Late', version: 1 }, { title: 'Early', version: 3 }, { version: 1 }]) {
    const response = await member.patch(path, body);
    t.equal(response.status, 409, JSON.stringify(body));
    t.match(response.body, { code: 'task_version_conflict', currentVersion: 2 });
  }
  t.strictSame((await member.get(path)).body, before);
  t.equal((await member.patch(path, { title: 'Sow', version: 2 })).status, 200);
  t.equal((await member.patch(path, { title: 'Reap' })).status, 200, 'a version is not required');
});

t.test('If-Match is enforced: one tag, one of several, or any', async (t) => {
  const { path } = await make();
  let version = 1;
  for (const tags of ['"9", "%"', '*', '"%"', 'W/"%"']) {
    const ifMatch = tags.replace('%', String(version));
    const response = await member.patch(path, { title: `Because of ${ifMatch}` }, { 'if-match': ifMatch });
    t.equal(response.status, 200, ifMatch);
    version += 1;
  }
  t.equal(version, 5);
  for (const ifMatch of ['"4"', '"40"', 'W/"4"', '"1", "2"', '"6"']) {
    for (const response of [
      await member.patch(path, { title: 'Never' }, { 'if-match': ifMatch }),
      await member.patch(path, {}, { 'if-match': ifMatch }),
      await admin.delete(path, { 'if-match': ifMatch }),
    ]) {
      t.equal(response.status, 412, ifMatch);
      t.equal(response.body.code, 'precondition_failed');
    }
  }
  const bare = await member.patch(path, { title: 'Never' }, { 'if-match': '5' });
  t.equal(bare.status, 412, 'a tag has quotes');
  t.match(bare.body.detail, 'its ETag is now "5", with the quotes');
  t.equal((await admin.delete(path, { 'if-match': '"5"' })).status, 204);
});

t.test(
  'of two concurrent edits without a version exactly one succeeds, and nothing is retried',
  async (t) => {
    const { task, path } = await make();
    const { blocked, responses } = await race(task.id, 2, null, () => [
      member.patch(path, { title: 'Mine' }),
      holder.patch(path, { title: 'Also mine' }),
    ]);
    t.equal(blocked, 2, 'both have read the task');
    t.strictSame(statuses(responses), [200, 409]);
    const winner = responses.find(({ status }) => status === 200);
    const loser = responses.find(({ status }) => status === 409);
    t.match(loser?.body, { code: 'task_version_conflict', currentVersion: 2 });
    t.match((await member.get(path)).body, { title: winner?.body.title, version: 2 });
  },
);

t.test('of two callers who take the same task, exactly one gets it', async (t) => {
  const { task, path } = await make();
  const { blocked, responses } = await race(task.id, 2, null, () => [
    member.patch(path, { state: 'Assigned' }),
    holder.patch(path, { state: 'Assigned' }),
  ]);
  t.equal(blocked, 2);
  t.strictSame(statuses(responses), [200, 409]);
  const winner = responses.findIndex(({ status }) => status === 200);
  t.equal((await member.get(path)).body.assigneeName, ['max', 'hans'][winner]);
  t.match(responses[1 - winner]?.body, { code: 'task_version_conflict', currentVersion: 2 });
});

t.test('an edit of a task that is deleted during the edit is a 404', async (t) => {
  const { task, path } = await make();
  const { responses } = await race(task.id, 1, 'delete from app.tasks where id = $1', () => [
    member.patch(path, { title: 'Mine' }),
  ]);
  t.match(responses, [{ status: 404, body: { code: 'task_not_found' } }]);
});

t.test('a change has the name of an assignee who became a member while it waited', async (t) => {
  const { task, path } = await make();
  await withClient(service.db.adminUrl, async (client) => {
    await client.query(
      'begin; lock table app.tasks in access exclusive mode; set local session_replication_role = replica',
    );
    const response = manager.patch(path, { title: 'Rake' });
    t.equal(await untilWaitingForLocks(service.db, 1, response), 1);
    const nora = await service.as('nora', 'Member', club).memberId();
    await client.query(`update app.tasks set state = 'Assigned', assignee_id = $2 where id = $1`, [
      task.id,
      nora,
    ]);
    await client.query('commit');
    t.match(await response, { status: 200, body: { title: 'Rake', assigneeId: nora, assigneeName: 'nora' } });
  });
});

t.test('of many concurrent edits no two make the same version, and none is lost', async (t) => {
  const { path } = await make();
  const titles = Array.from({ length: 30 }, (_, index) => `Edit ${index}`);
  const responses = await Promise.all(
    titles.map((title) => sendUnderLoad(() => member.patch(path, { title }))),
  );
  t.strictSame(new Set([...statuses(responses), 409]), new Set([200, 409]));
  const won = responses.filter(({ status }) => status === 200).map(({ body }) => body);
  won.sort((one, other) => one.version - other.version);
  t.strictSame(
    won.map(({ version }) => version),
    won.map((_, index) => index + 2),
  );
  const after = (await member.get(path)).body;
  t.match(after, { version: won.length + 1, title: won.at(-1).title });
});
