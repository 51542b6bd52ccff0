import { createServer, type Server, type ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { provisionClub } from '../../src/deploy/provision-club.js';
import { stopClock } from '../setup/clock.js';
import { freePort } from '../setup/free-port.js';
import { startIssuer } from '../setup/issuer.js';
import { listen, type Response, serve } from '../setup/send.js';
import { startService, type TestService } from '../setup/service.js';
import { until } from '../setup/wait.js';

const issuer = await startIssuer(t);

/** The time limits of fetches, which end when a test says so: otherwise a cell would be missing on a slow machine. */
const limits: { ms: number; controller: AbortController }[] = [];
t.intercept(AbortSignal, 'timeout', {
  value: (ms: number) => {
    const controller = new AbortController();
    limits.push({ ms, controller });
    return controller.signal;
  },
});

/** Ends the limits of the fetches that began first. */
function expire(count: number): void {
  for (const { controller } of limits.splice(0, count)) {
    controller.abort(new DOMException('The time is over.', 'TimeoutError'));
  }
}

/** The log lines of a service. */
type Lines = { level: number; msg: string; missing?: Record<string, string> }[];

/** A service of a cell, which knows these others. */
async function startCell(t: Test, others: Record<string, string> = {}) {
  const lines: Lines = [];
  const log = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const cells = new Map(Object.entries(others));
  const service = await startService(t, { issuer, cells }, undefined, log);
  const warnings = () => lines.filter(({ level, missing }) => level === 40 && missing !== undefined);
  let count = 0;
  // Not those of `list`, which are injected.
  service.app.server.on('request', () => {
    count += 1;
  });
  /** The number of requests from other cells. */
  const received = () => count;
  return { ...service, lines, warnings, received };
}

/** A server in place of a cell; returns its origin and the number of its connections. */
async function startServer(t: Test, server: Server) {
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  return { origin: await serve(t, server), connections: () => connections };
}

const makeClub = ({ db }: Pick<TestService, 'db'>, name: string, slug: string) =>
  provisionClub(db.migrationUrl, { name, slug, timeZone: 'Europe/Berlin' });

/** The caller's list; the clubs of the token are those of these ids. */
function list(
  { send }: Pick<TestService, 'send'>,
  ids: string[],
  { method = 'GET', ...headers }: { method?: 'GET' | 'HEAD'; 'club-cells'?: string } = {},
): Promise<Response> {
  const clubs = Object.fromEntries(ids.map((id) => [id, 'Member']));
  const authorization = `Bearer ${issuer.sign({ sub: 'anna', clubs })}`;
  return send(method, '/api/clubs/me', { headers: { authorization, ...headers } });
}

const namesOf = ({ body }: Response) => body.map(({ name }: { name: string }) => name);
const missingOf = ({ headers }: Response) => headers['club-cells-missing'];

const west = await startCell(t);
const east = await startCell(t);
const origins = { west: await listen(west.app), east: await listen(east.app) };
const home = await startCell(t, origins);
const [anchor, berth] = [await makeClub(west, 'Änchor', 'anchor'), await makeClub(east, 'berth', 'berth')];
const dock = await makeClub(home, 'Dock', 'dock');
const all = [anchor, berth, dock];

t.test('the clubs of all cells are listed, with the role of the token, in every detail', async (t) => {
  const response = await list(home, all);
  t.equal(response.status, 200);
  t.same(namesOf(response), ['Änchor', 'berth', 'Dock']);
  t.equal(missingOf(response), undefined);
  const apart = await Promise.all([west, east, home].map((cell) => list(cell, all, { 'club-cells': 'own' })));
  t.same(
    response.body,
    apart.flatMap(({ body }) => body),
    'as each cell lists them',
  );
  t.match(
    response.body,
    all.map((id) => ({ id, role: 'Member', timeZone: 'Europe/Berlin' })),
  );
  t.same(namesOf(await list(home, [berth])), ['berth'], 'the other clubs are not in the token');
});

t.test('the clubs of several cells have the order in which PostgreSQL sorts those of one', async (t) => {
  const names = [
    ...['zebra', 'Zebra', 'Äpfel', 'apfel', 'Apfel', 'äpfel', 'Öre', 'Oslo', 'oslo 2', 'Straße', 'Strasse', 'strasse b'],
    ...['Łódź', 'Lodz', 'École', 'ecole', '1. FC', '10. FC', '2. FC', 'FC-1', 'FC 1', '_x', '„x“', 'x', 'Зенит', '北京'],
    ...['Østfold', 'ångström', 'co-op', 'coop', 'Coop', 'résumé', 'resume', '🚣 crew', '🎾 crew', 'I', 'ı', 'i'],
  ]; // biome-ignore format: names
  const together = await startCell(t);
  const ids: string[] = [];
  for (const [index, name] of names.entries()) {
    const cell = [west, east, home][index % 3] as typeof home;
    ids.push(await makeClub(cell, name, `order-${index}`), await makeClub(together, name, `order-${index}`));
  }
  const expected = namesOf(await list(together, ids));
  t.equal(expected.length, names.length);
  t.same(namesOf(await list(home, ids)), expected);
});

t.test('cells that list each other send each other one request', async (t) => {
  const port = await freePort();
  const first = await startCell(t, { second: `http://127.0.0.1:${port}` });
  const second = await startCell(t, { first: await listen(first.app) });
  await second.app.listen({ host: '127.0.0.1', port });
  const ids = [await makeClub(first, 'First', 'first'), await makeClub(second, 'Second', 'second')];
  t.same(namesOf(await list(first, ids)), ['First', 'Second']);
  t.same([first.received(), second.received()], [0, 1]);
  t.same(namesOf(await list(second, ids)), ['First', 'Second']);
  t.same([first.received(), second.received()], [1, 1]);
});

t.test('a request with Club-Cells lists the own clubs, without a request to another cell', async (t) => {
  const before = [west.received(), east.received()];
  for (const value of ['own', 'all', '']) {
    const response = await list(home, all, { 'club-cells': value });
    t.same([namesOf(response), missingOf(response)], [['Dock'], undefined], value);
  }
  t.same([west.received(), east.received()], before);
});

t.test('without CELLS the list needs no other service, and has no Club-Cells-Missing', async (t) => {
  let fetched = 0;
  // Reads the keys of the issuer.
  await list(west, all);
  t.intercept(globalThis, 'fetch', {
    value: async () => {
      fetched += 1;
      throw new TypeError('fetch failed');
    },
  });
  const response = await list(west, all);
  t.same([response.status, namesOf(response), missingOf(response)], [200, ['Änchor'], undefined]);
  t.equal(fetched, 0);
  t.equal(missingOf(await list(home, all)), 'east, west', 'this test sees requests to cells');
  t.equal(fetched, 2);
});

const CLUB = {
  id: '0194c0f3-f100-7625-ba42-d9feba922794',
  name: 'Foreign',
  slug: 'foreign',
  timeZone: 'UTC',
  role: 'Viewer',
  createdAt: '2025-02-01T10:00:00Z',
};

t.test(
  'a cell that sends anything but a list of clubs is named in Club-Cells-Missing, in order',
  async (t) => {
    let respond: (response: ServerResponse) => void = () => {};
    const requests: (string | undefined)[] = [];
    const foreign = await startServer(
      t,
      createServer((request, response) => {
        requests.push(request.url);
        respond(response);
      }),
    );
    const gone = `http://127.0.0.1:${await freePort()}`;
    const cell = await startCell(t, { west: origins.west, strange: foreign.origin, gone });
    const club = await makeClub(cell, 'Own', 'own');
    const send = async (status: number, body: unknown, headers: Record<string, string> = {}) => {
      respond = (response) =>
        response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
      return list(cell, [anchor, club]);
    };

    const listed = await send(200, [CLUB]);
    t.same([namesOf(listed), missingOf(listed)], [['Änchor', 'Foreign', 'Own'], 'gone']);
    const elsewhere = { location: `${foreign.origin}/elsewhere` };
    const isMissing = (response: Response, what: string) => {
      t.equal(response.status, 200, what);
      t.same([namesOf(response), missingOf(response)], [['Änchor', 'Own'], 'gone, strange'], what);
    };
    for (const status of [201, 204, 301, 302, 303, 307, 308, 400, 401, 403, 404, 429, 500, 503]) {
      isMissing(await send(status, [CLUB], elsewhere), String(status));
    }
    const invalid: Record<string, unknown[]> = {
      id: ['x', CLUB.id.toUpperCase()],
      role: ['Owner', 'viewer'],
      createdAt: ['yesterday', '2025-02-01T10:00:00+00:00', '2025-02-01'],
    };
    const bodies = [
      ...['', '[{"id":', '<html></html>', 'null', '"x"', '1', '{}', '[null]', '[1]', '[[]]', '[{}]'],
      ...[{ clubs: [CLUB] }, [CLUB, {}], [{ ...CLUB, name: 'x'.repeat(2 * 1024 * 1024) }]],
      ...Object.keys(CLUB).flatMap((name) =>
        [undefined, null, 1, ['x'], {}, ...(invalid[name] ?? [])].map((value) => [
          { ...CLUB, [name]: value },
        ]),
      ),
    ];
    for (const body of bodies) {
      isMissing(await send(200, body), JSON.stringify(body).slice(0, 200));
    }
    t.same([...new Set(requests)], ['/api/clubs/me'], 'no redirect is followed');
  },
);

t.test('of a foreign club only the documented members are passed on', async (t) => {
  const foreign = await startServer(
    t,
    createServer((_request, response) => {
      response.end(`[{"__proto__":{"a":1},"secret":"x",${JSON.stringify(CLUB).slice(1)}]`);
    }),
  );
  const cell = await startCell(t, { west: foreign.origin });
  t.same((await list(cell, [dock])).body, [CLUB]);
});

t.test('a club that several cells list is listed once, as the own database has it', async (t) => {
  const twin = await startCell(t, { east: origins.east, west: origins.west });
  const id = anchor;
  await twin.db.queryAsAdmin(
    `insert into app.clubs (id, name, slug, time_zone) values ($1, 'Zanchor', 'anchor', 'UTC')`,
    [id],
  );
  const response = await list(twin, all);
  t.same(namesOf(response), ['berth', 'Zanchor']);
  t.match(response.body[1], { id, timeZone: 'UTC' });
});

t.test('a cell has one second for its whole response, and the other clubs are listed then', async (t) => {
  let isBodyEndless = false;
  const pending: ServerResponse[] = [];
  const slow = await startServer(
    t,
    createServer((_request, response) => {
      pending.push(response);
      if (isBodyEndless) {
        response.writeHead(200).write('[');
      }
    }),
  );
  const cell = await startCell(t, { slow: slow.origin, west: origins.west });
  await list(cell, all, { 'club-cells': 'own' });
  limits.length = 0;
  for (const [endless, isInTime] of [
    [false, true],
    [false, false],
    [true, false],
  ]) {
    isBodyEndless = endless === true;
    pending.length = 0;
    const response = list(cell, all);
    await until(
      () => pending.length,
      (count) => count === 1,
    );
    t.same(
      limits.map(({ ms }) => ms),
      [1_000, 1_000],
    );
    if (isInTime) {
      pending[0]?.end(JSON.stringify([CLUB]));
    } else {
      expire(1);
    }
    t.same(namesOf(await response), isInTime ? ['Änchor', 'Foreign'] : ['Änchor']);
    t.equal(missingOf(await response), isInTime ? undefined : 'slow');
    expire(limits.length);
  }
});

t.test('the requests to a cell that hangs are limited: beyond them it is missing at once', async (t) => {
  const hanging = await startServer(
    t,
    createServer(() => {}),
  );
  const cell = await startCell(t, { west: hanging.origin });
  await list(cell, all, { 'club-cells': 'own' });
  limits.length = 0;
  const missing: unknown[] = [];
  const sent = Array.from({ length: 150 }, async () => missing.push(missingOf(await list(cell, all))));
  await until(
    () => missing.length,
    (count) => count === 50,
  );
  await until(hanging.connections, (count) => count === limits.length);
  t.equal(limits.length, 100);
  expire(100);
  await Promise.all(sent);
  t.same([missing.length, ...new Set(missing)], [150, 'west']);
  const again = list(cell, all);
  await until(
    () => limits.length,
    (count) => count === 1,
  );
  expire(1);
  t.equal(missingOf(await again), 'west', 'it gets requests again');
});

t.test('HEAD has the headers of GET', async (t) => {
  const cell = await startCell(t, { gone: `http://127.0.0.1:${await freePort()}`, west: origins.west });
  const [get, head] = [await list(cell, all), await list(cell, all, { method: 'HEAD' })];
  t.equal(missingOf(get), 'gone');
  t.same(
    [head.status, head.text, missingOf(head), head.headers['content-length']],
    [200, '', 'gone', get.headers['content-length']],
  );
});

t.test('a line of the log gives the reason for each missing cell, without address or token', async (t) => {
  const gone = `http://127.0.0.1:${await freePort()}`;
  const foreign = await startServer(
    t,
    createServer((_request, response) => response.writeHead(401).end()),
  );
  const cell = await startCell(t, { gone, strange: foreign.origin, west: origins.west });
  const advance = stopClock(t);
  await list(cell, all);
  t.match(cell.warnings(), [
    { requests: 1, missing: { gone: 'The request failed: ECONNREFUSED.', strange: 'The response was 401.' } },
  ]);
  await list(cell, all);
  await list(cell, all);
  t.equal(cell.warnings().length, 1, 'one within ten seconds');
  await advance(10_000);
  t.match(cell.warnings().slice(1), [{ requests: 2 }]);
  t.notMatch(JSON.stringify(cell.lines), /Bearer|eyJ|127\.0\.0\.1:/);
});

t.test('without the own database the response is a 503, even if the other cells respond', async (t) => {
  const cell = await startCell(t, { west: origins.west });
  t.same(namesOf(await list(cell, all)), ['Änchor']);
  await cell.database.close();
  const response = await list(cell, all);
  t.match(response, { status: 503, body: { code: 'service_unavailable' } });
  t.equal(missingOf(response), undefined);
});
