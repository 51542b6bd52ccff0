import t from 'tap';
import { walk } from '../setup/paging.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const club = await service.db.makeClub();
const anna = service.as('anna', 'Manager', club);

for (const [index, title] of ['b', 'a', 'C', 'a', 'ä', '50% off', '50_off'].entries()) {
  const dueAt = index % 2 === 0 ? null : `2031-01-0${index + 1}T00:00:00.123456Z`;
  await anna.post('/api/tasks', { title, dueAt });
}

t.test('text sorts by natural language order, and a task without a due time is last', async (t) => {
  const byTitle = await anna.get('/api/tasks?sort=title');
  t.same(
    byTitle.body.map((task: { title: string }) => task.title),
    ['50_off', '50% off', 'a', 'a', 'ä', 'b', 'C'],
  );
  const byDue = await anna.get('/api/tasks?sort=dueAt');
  t.same(
    byDue.body.slice(3).map((task: { dueAt: null }) => task.dueAt),
    [null, null, null, null],
  );
  const last = await anna.get('/api/tasks?sort=-dueAt');
  t.equal(last.body[0].dueAt, null);
});

t.test('a parameter value with a question mark is kept in the link to the next page', async (t) => {
  for (const title of ['why? one', 'why? two']) {
    await anna.post('/api/tasks', { title });
  }
  const rows = await walk(anna, '/api/tasks?q=why?&state=Open&limit=1&sort=title');
  t.same(
    rows.map(({ title }) => title),
    ['why? one', 'why? two'],
  );
});

t.test(
  'limit is 1 to 500; time filters are exclusive; % and _ are literal; an unknown value is refused',
  async (t) => {
    for (const query of [
      'limit=0',
      'limit=501',
      'limit=x',
      'limit=',
      'limit=1.5',
      'sort=id',
      'state=open',
      'state=',
      'assigneeId=x',
      'dueBefore=2031',
      'limit=1&limit=2',
    ]) {
      const answer = await anna.get(`/api/tasks?${query}`);
      t.equal(answer.status, 400, query);
      t.equal(answer.body.code, 'invalid_parameter');
    }
    for (const query of [
      'signedUp=you',
      'hasFreeSlots=false',
      'from=2031-01-02T00:00:00Z&to=2031-01-01T00:00:00Z',
    ]) {
      t.equal((await anna.get(`/api/shifts?${query}`)).status, 400, query);
    }
    const due = '2031-01-02T00:00:00.123456Z';
    t.equal((await anna.get(`/api/tasks?dueBefore=${due}`)).body.length, 0);
    t.equal((await anna.get(`/api/tasks?dueAfter=${due}`)).body.length, 2);
    t.same(
      (await anna.get('/api/tasks?q=50%25')).body.map((task: { title: string }) => task.title),
      ['50% off'],
    );
    t.same(
      (await anna.get('/api/tasks?q=0_O')).body.map((task: { title: string }) => task.title),
      ['50_off'],
    );
    t.equal((await anna.get('/api/tasks?q=%C3%84')).body.length, 1, 'letter case beyond ASCII');
    for (const title of ['ΟΔΟΣΑ', 'οδός', 'Straße']) {
      await anna.post('/api/tasks', { title });
    }
    for (const [q, found] of [
      ['ΟΔΟΣ', 1],
      ['οδοσ', 1],
      ['ΌΣ', 1],
      ['STRASSE', 1],
      ['strasse', 1],
      ['straßen', 0],
    ] as const) {
      const { body } = await anna.get(`/api/tasks?q=${encodeURIComponent(q)}`);
      t.equal(body.length, found, `${q}: letters with two small forms`);
    }
  },
);
