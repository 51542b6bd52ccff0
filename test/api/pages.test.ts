import t, { type Test } from 'tap';
import { type Person, startService } from '../setup/service.js';

const service = await startService(t);
const club = await service.db.makeClub();
const other = await service.db.makeClub();
const anna = service.as('anna', 'Manager', club);

/** Reads a list page by page, as a client does: by the Link header only. */
async function walk(t: Test, person: Person, path: string): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const answer = await person.get(next);
    t.equal(answer.status, 200, next);
    rows.push(...answer.body);
    next = /^<([^>]+)>; rel="next"$/.exec(String(answer.headers.link ?? ''))?.[1];
  }
  return rows;
}

for (const [index, title] of ['b', 'a', 'C', 'a', 'ä', '50% off', '50_off'].entries()) {
  const dueAt = index % 2 === 0 ? null : `2031-01-0${index + 1}T00:00:00.123456Z`;
  await anna.post('/api/tasks', { title, dueAt });
}

t.test('paging visits every row once, in every order, for every page size', async (t) => {
  for (const sort of ['createdAt', 'updatedAt', 'dueAt', 'title']) {
    for (const order of [sort, `-${sort}`]) {
      const whole = await anna.get(`/api/tasks?sort=${order}&limit=500`);
      t.equal(whole.body.length, 7);
      t.notOk(whole.headers.link, 'the last page has no next link');
      for (const limit of [1, 2, 3, 7]) {
        t.same(
          await walk(t, anna, `/api/tasks?sort=${order}&limit=${limit}`),
          whole.body,
          `${order} by ${limit}`,
        );
      }
      const reverse = order.startsWith('-') ? sort : `-${sort}`;
      t.same((await anna.get(`/api/tasks?sort=${reverse}`)).body, [...whole.body].reverse());
    }
  }
});

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

t.test('a row that is inserted between two pages causes no repeated and no skipped row', async (t) => {
  const first = await anna.get('/api/tasks?limit=3&sort=title');
  await anna.post('/api/tasks', { title: 'A between' });
  await anna.post('/api/tasks', { title: 'aa after' });
  const link = /^<([^>]+)>/.exec(String(first.headers.link))?.[1] as string;
  const rest = await walk(t, anna, link);
  const ids = [...first.body, ...rest].map((task) => task.id);
  t.equal(new Set(ids).size, ids.length);
  t.equal(ids.length, 9, 'both new titles sort after the first page');
});

t.test('a cursor is valid for its filters, order, club, list and caller; the limit may change', async (t) => {
  const link = /cursor=([^&>]+)/.exec(
    String((await anna.get('/api/tasks?limit=1&q=a')).headers.link),
  )?.[1] as string;
  const path = `/api/tasks?q=a&cursor=${link}`;
  t.equal((await anna.get(`${path}&limit=5`)).status, 200);
  const elsewhere = [
    anna.get(`/api/tasks?cursor=${link}`),
    anna.get(`/api/tasks?q=b&cursor=${link}`),
    anna.get(`${path}&sort=title`),
    anna.get(`/api/shifts?q=a&cursor=${link}`),
    service.as('anna', 'Manager', other).get(path),
    anna.get('/api/tasks?cursor=nonsense'),
    anna.get('/api/members?cursor=nonsense'),
    anna.get('/api/tasks?cursor='),
  ];
  for (const answer of await Promise.all(elsewhere)) {
    t.equal(answer.status, 400);
    t.equal(answer.body.code, 'invalid_cursor');
  }
});

t.test('a parameter value with a question mark is kept in the link to the next page', async (t) => {
  for (const title of ['why? one', 'why? two']) {
    await anna.post('/api/tasks', { title });
  }
  const rows = await walk(t, anna, '/api/tasks?q=why?&state=Open&limit=1&sort=title');
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
  },
);
