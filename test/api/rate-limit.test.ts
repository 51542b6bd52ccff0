import t from 'tap';
import { Environment } from '../../src/variables.js';
import { endpoints, MISSING, makeClubFor, pathOf } from '../setup/endpoints.js';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';

const once = await startService(t, { rateLimitPerMinute: 1 });
const thrice = await startService(t, { rateLimitPerMinute: 3 });
const north = await thrice.db.makeClub('north');
const south = await thrice.db.makeClub('south');

const left = ({ headers }: Response) => headers['ratelimit-remaining'];

/** A caller with a role in both clubs, who names one in each request. */
async function inBoth(subject: string, role = 'Member') {
  const token = thrice.token({ sub: subject, clubs: { [north]: role, [south]: role } });
  return (path: string, club?: string) =>
    thrice.send('GET', path, {
      headers: { authorization: `Bearer ${token}`, ...(club === undefined ? {} : { 'x-tenant-id': club }) },
    });
}

t.test('every operation counts, and over the limit it is a 429 with Retry-After', async (t) => {
  for (const endpoint of endpoints) {
    const { clubId: club, body } = await makeClubFor(once, endpoint);
    const headers = {
      authorization: `Bearer ${once.token({ sub: `${endpoint.method} ${endpoint.path}`, clubs: { [club]: 'Admin' } })}`,
      'x-tenant-id': club,
    };
    const send = () => once.send(endpoint.method, pathOf(endpoint), { headers, body });
    const [first, second] = [await send(), await send()];
    const rule = `${endpoint.method} ${endpoint.path}`;
    t.equal(first.body?.code ?? first.status, endpoint.answer, rule);
    t.match(first.headers, { 'ratelimit-limit': '1', 'ratelimit-remaining': '0' }, rule);
    t.match([second.status, second.body.code], [429, 'rate_limited'], rule);
    t.match(second.headers, { 'ratelimit-limit': '1', 'ratelimit-remaining': '0' }, rule);
    t.match(String(second.headers['content-type']), /^application\/problem\+json/, rule);
    for (const name of ['retry-after', 'ratelimit-reset']) {
      const seconds = Number(second.headers[name]);
      t.ok(seconds >= 1 && seconds <= 60, `${rule} ${name} ${seconds}`);
    }
  }
});

t.test('a caller has one limit per club, for all operations together', async (t) => {
  const get = await inBoth('anna');
  t.equal(left(await get('/api/tasks', north)), '2');
  t.equal(left(await get('/api/shifts?limit=5', north)), '1');
  t.equal(left(await get('/api/members/me', north.toUpperCase())), '0');
  t.equal((await get('/api/clubs/current', north)).status, 429);
  t.equal(left(await get('/api/tasks', south)), '2');
  t.equal(left(await get('/api/clubs/me', north)), '2');
  t.equal(left(await get('/api/clubs/me')), '1', 'this endpoint ignores the club');
  t.equal(left(await get('/api/clubs/me', south)), '0');
  t.equal((await get('/api/clubs/me', 'no club')).status, 429);
  t.equal((await get('/api/tasks', south)).status, 200);
});

t.test('a caller never uses another caller’s limit, even with similar subjects', async (t) => {
  const names = ['ben', 'Ben', 'ben ', ' ben', `${north} ben`, 'ben\u0301', 'constructor', '__proto__'];
  const found = new Set();
  for (const name of names) {
    const get = await inBoth(name);
    found.add(left(await get('/api/tasks', north)));
    found.add(left(await get('/api/clubs/me')));
  }
  t.same([...found], ['2']);
});

t.test('a link to a calendar is read 20 times a minute, in every spelling of its path', async (t) => {
  const linkOf = async (name: string) =>
    (await thrice.as(name, 'Member', north).put('/api/members/me/calendar')).body.url as string;
  const [url, other] = [await linkOf('lena'), await linkOf('lars')];
  const spellings = [url, url.replace(north, north.toUpperCase()), `${url.replace('/c', '/%63')}?a=b`];
  for (let read = 0; read < 20; read += 1) {
    const spelling = spellings[read % spellings.length] as string;
    const response = await thrice.send('GET', spelling);
    t.same([response.status, left(response)], [200, String(19 - read)], spelling);
  }
  const body = { code: 'rate_limited', instance: '/calendars' };
  const headers = { 'ratelimit-limit': '20', 'ratelimit-remaining': '0', 'retry-after': /^\d+$/ };
  t.match(await thrice.send('GET', url), { status: 429, headers, body });
  t.equal(left(await thrice.send('GET', other)), '19');
  for (let read = 0; read < 20; read += 1) {
    t.equal((await thrice.send('GET', '/calendars/x')).status, 404);
  }
  t.equal((await thrice.send('GET', '/calendars/x')).status, 429, 'a malformed one counts too');
});

t.test('HEAD counts like GET', async (t) => {
  const headers = {
    authorization: `Bearer ${thrice.token({ sub: 'head', clubs: { [north]: 'Member' } })}`,
    'x-tenant-id': north,
  };
  t.equal(left(await thrice.send('HEAD', '/api/tasks', { headers })), '2');
  t.equal(left(await thrice.send('GET', '/api/tasks', { headers })), '1');
});

t.test('a request that is refused for its token, club or role counts for no caller', async (t) => {
  const get = await inBoth('cleo', 'Viewer');
  const token = thrice.token({ sub: 'cleo', clubs: { [north]: 'Viewer' } });
  const forged = `Bearer ${token.slice(0, -4)}AAAA`;
  const codes = new Map<string, unknown>();
  for (let round = 0; round < 5; round += 1) {
    for (const answer of [
      await thrice.send('GET', '/api/shifts', { headers: { authorization: forged, 'x-tenant-id': north } }),
      await thrice.send('GET', '/api/shifts', { headers: { 'x-tenant-id': north } }),
      await get('/api/shifts'),
      await get('/api/shifts', 'no club'),
      await get('/api/shifts', MISSING),
      await get('/api/tasks', north),
    ]) {
      codes.set(answer.body.code, answer.headers['ratelimit-limit']);
    }
  }
  t.same(Object.fromEntries(codes), {
    invalid_token: undefined,
    unauthenticated: undefined,
    tenant_header_missing: undefined,
    tenant_header_invalid: undefined,
    tenant_forbidden: undefined,
    insufficient_role: undefined,
  });
  t.equal(left(await get('/api/shifts', north)), '2');
});

t.test(
  'a request that is refused later counts, and over the limit neither the body nor the database is read',
  async (t) => {
    const dora = thrice.as('dora', 'Manager', north);
    t.match(await dora.post('/api/tasks', '{'), { status: 400, headers: { 'ratelimit-remaining': '2' } });
    t.match(await dora.get('/api/tasks/x'), { status: 400, headers: { 'ratelimit-remaining': '1' } });
    t.equal(left(await dora.get('/api/tasks?limit=0')), '0');
    t.equal((await dora.post('/api/tasks', '{')).status, 429);
    t.equal((await dora.post('/api/tasks', 'a'.repeat(200_000))).status, 429);
    t.equal((await dora.post('/api/tasks', { title: 'Mow' })).status, 429);
    t.same(await thrice.db.queryAsAdmin('select from app.tasks'), []);
    t.same(await thrice.db.queryAsAdmin(`select from app.members where external_user_id = 'dora'`), []);
  },
);

t.test('health probes and the document are not counted', async (t) => {
  const headers = { authorization: `Bearer ${once.token({ sub: 'watch' })}` };
  const found = new Set();
  for (const path of ['/livez', '/readyz', '/openapi.json', '/docs', '/docs/page.css', '/api/nothing']) {
    for (let round = 0; round < 3; round += 1) {
      const answer = await once.send('GET', path, { headers });
      found.add(`${answer.status === 429} ${answer.headers['ratelimit-limit']}`);
    }
  }
  t.same([...found], ['false undefined']);
  t.equal((await once.send('GET', '/api/clubs/me', { headers })).status, 200);
});

t.test('after a minute a caller has the full limit again', async (t) => {
  const get = await inBoth('emil');
  const statuses: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    statuses.push((await get('/api/tasks', north)).status);
  }
  t.same(statuses, [200, 200, 200, 429]);
  const now = Date.now;
  t.teardown(() => {
    Date.now = now;
  });
  Date.now = () => now() + 61_000;
  t.equal(left(await get('/api/tasks', north)), '2');
});

t.test('0 means no limit, and the document mentions none', async (t) => {
  const free = await startService(t, { rateLimitPerMinute: 0 });
  const anna = free.as('anna', 'Admin', await free.db.makeClub());
  const answer = await anna.get('/api/tasks');
  t.match([answer.status, left(answer)], [200, undefined]);
  t.equal((await free.send('GET', '/calendars/x')).headers['ratelimit-limit'], undefined);
  const { paths } = (await free.send('GET', '/openapi.json')).body;
  const { responses } = paths['/api/tasks'].get;
  t.same([responses[429], responses[200].headers['RateLimit-Limit']], [undefined, undefined]);
});

t.test(
  'by default 1,000 members of a club can send a request at once, each within their own limit, and no count is lost',
  async (t) => {
    const { default: perMinute } = Environment.properties.RATE_LIMIT_PER_MINUTE;
    const service = await startService(t, { rateLimitPerMinute: perMinute });
    const club = await service.db.makeClub();
    // The keys of the issuer are fetched before the crowd.
    const mara = service.as('mara', 'Manager', club);
    await mara.get('/api/shifts');
    // A request that is refused for its query counts, and needs no database.
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        service.as(`caller-${index}`, 'Member', club).get('/api/shifts?limit=0'),
      ),
    );
    const seen = new Set(answers.map((answer) => `${answer.status} ${left(answer)}`));
    t.same([...seen], [`400 ${perMinute - 1}`]);
    t.equal(left(await mara.get('/api/shifts')), String(perMinute - 2), 'counted since before the crowd');
  },
);
