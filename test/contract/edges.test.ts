import t from 'tap';
import { SHIFT } from '../setup/endpoints.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { openWire } from '../setup/wire.js';

const service = await startService(t);
const wire = await openWire(service.app);
const club = await service.db.makeClub('north');
const anna = service.as('anna', 'Manager', club);

t.test('a time is in its years both as it is written and in UTC, in bodies and in filters', async (t) => {
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

t.test('a wrong method is 405 with Allow on what needs no token, the files of /docs too', async (t) => {
  const paths = ['/docs', '/docs/', '/docs/json', '/docs/static/swagger-ui.css'];
  for (const path of [...paths, '/livez', '/readyz', '/openapi.json']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
      const { status, headers, body } = await wire(method, path, []);
      t.same(
        [status, headers.allow, body.code],
        [405, 'GET, HEAD', 'method_not_allowed'],
        `${method} ${path}`,
      );
    }
    t.equal((await wire('GET', path, [])).status, 200, path);
  }
});

t.test('a file that /docs does not have is a 404, whatever way its path takes', async (t) => {
  const names = ['nothing.js', '..', '../../package.json', '%2e%2e/package.json', '%5c..%5c', '..%2f..%2fx'];
  for (const name of names) {
    const { status, headers, body } = await wire('GET', `/docs/static/${name}`, []);
    t.match([status, body?.code], [404, 'route_not_found'], name);
    t.match(headers['content-type'], /^application\/problem\+json/, name);
  }
  const file = '/docs/static/swagger-ui.css';
  const whole = await wire('GET', file, []);
  for (const range of ['bytes=0-9', 'bytes=99999999-', 'nonsense']) {
    const { status, text } = await wire('GET', file, [['range', range]]);
    t.same([status, text === whole.text], [200, true], range);
  }
  const stale = await wire('GET', file, [['if-match', '"1"']]);
  t.match([stale.status, stale.body?.code], [412, 'precondition_failed']);
});
