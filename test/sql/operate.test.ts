import pg from 'pg';
import t from 'tap';
import { startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const anna = service.as('anna', 'Manager', north);
const ben = service.as('ben', 'Member', north);

const operator = new pg.Client(service.db.migrationUrl);
await operator.connect();
await operator.query('set role club_owner');
t.teardown(() => operator.end());

t.test('an operator renames a club; the members see the new name', async (t) => {
  await operator.query('select app.rename_club($1, $2, $3)', [north, ' Rowing Club ', 'rowing']);
  t.match((await anna.get('/api/clubs/current')).body, { name: 'Rowing Club', slug: 'rowing' });
  await t.rejects(operator.query('select app.rename_club($1, $2, $3)', [north, 'North', 'south']), {
    code: '23505',
  });
  await t.rejects(operator.query('select app.rename_club($1, $2, $3)', [north, '', 'north']), {
    code: '23514',
  });
});

t.test(
  'a closed club answers as if it did not exist, and a reopened one as if nothing had been',
  async (t) => {
    const { body: task } = await anna.post('/api/tasks', { title: 'Kept' });
    await operator.query('select app.close_club($1)', [north]);
    const closed = await anna.get(`/api/tasks/${task.id}`);
    t.equal(closed.status, 403);
    t.equal(closed.body.code, 'tenant_forbidden');
    const token = await service.token({ sub: 'anna', clubs: { [north]: 'Manager', [south]: 'Viewer' } });
    const mine = await service.send('GET', '/api/clubs/me', {
      headers: { authorization: `Bearer ${token}` },
    });
    t.same(
      mine.body.map((club: { id: string }) => club.id),
      [south],
    );

    await operator.query('select app.reopen_club($1)', [north]);
    t.equal((await anna.get(`/api/tasks/${task.id}`)).status, 200);
  },
);

t.test(
  'an erased member is nobody, what they did stays, and the same user comes back as a new member',
  async (t) => {
    const before = await ben.memberId();
    const { body: task } = await anna.post('/api/tasks', { title: 'Done by Ben', assigneeId: before });
    await operator.query('select app.erase_member($1, $2)', [north, before]);
    const { body: read } = await anna.get(`/api/tasks/${task.id}`);
    t.match(read, { assigneeId: before, assigneeName: 'Former member' });
    t.match((await service.as('dora', 'Admin', north).get(`/api/members/${before}`)).body, {
      displayName: 'Former member',
      email: null,
      externalUserId: `erased:${before}`,
    });
    t.not(await ben.memberId(), before);
  },
);

t.test(
  'an operator is told when there is no such club or member, also when it is another club’s',
  async (t) => {
    const missing = '99999999-9999-4999-8999-999999999999';
    const annaId = await anna.memberId();
    await t.rejects(operator.query('select app.close_club($1)', [missing]), { code: 'CL002' });
    await t.rejects(operator.query('select app.erase_member($1, $2)', [missing, annaId]), { code: 'CL002' });
    await t.rejects(operator.query('select app.erase_member($1, $2)', [south, annaId]), { code: 'ME001' });
    t.equal(await anna.memberId(), annaId);
  },
);

t.test('the service itself can do nothing of this', async (t) => {
  const runtime = new pg.Client(service.db.url);
  await runtime.connect();
  t.teardown(() => runtime.end());
  for (const call of [
    `app.provision_club('x', 'x')`,
    `app.rename_club('${south}', 'x', 'x')`,
    `app.close_club('${south}')`,
    `app.reopen_club('${south}')`,
    `app.erase_member('${south}', '${south}')`,
  ]) {
    await t.rejects(runtime.query(`select ${call}`), { code: '42501' }, call);
  }
});
