import { pino } from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { MISSING } from '../setup/endpoints.js';
import { AUDIENCE, startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const anna = await service.as('anna', 'Admin', north).memberId();
const ben = await service.as('ben', 'Member', north).memberId();

const written: string[] = [];
const logger = pino({ level: 'trace' }, { write: (line: string) => written.push(line) });
const app = await buildApp(
  readServerConfig(
    {
      NODE_ENV: 'test',
      DATABASE_URL: service.db.url,
      AUTH_ISSUER: service.issuer.url,
      AUTH_AUDIENCE: AUDIENCE,
    },
    {},
  ),
  service.database,
  logger,
  null,
);
t.teardown(() => app.close());

const token = await service.token({
  sub: 'anna',
  name: 'Anna-of-the-token',
  email: 'anna@in-the-token.example',
  clubs: { [north]: 'Admin' },
});
type Line = Record<string, unknown>;

/** Sends a request and answers with its id and the lines that were written about it. */
async function log(
  method: 'GET' | 'POST' | 'PATCH',
  url: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<{ id: string; status: number; lines: Line[]; text: string }> {
  written.length = 0;
  const answer = await app.inject({
    method,
    url,
    headers: {
      authorization: `Bearer ${token}`,
      'x-tenant-id': north,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { payload: body }),
  });
  return {
    id: String(answer.headers['x-request-id']),
    status: answer.statusCode,
    lines: written.map((line) => JSON.parse(line) as Line),
    text: written.join(''),
  };
}

const holds = (line: Line | undefined, value: unknown) => Object.values(line ?? {}).includes(value);

t.test('a request is one line of JSON with its id, route, status, club and member', async (t) => {
  for (const [method, url, route, status, body] of [
    ['GET', '/api/tasks', '/api/tasks', 200],
    ['GET', `/api/members/${ben}`, '/api/members/:id', 200],
    ['GET', `/api/tasks/${MISSING}`, '/api/tasks/:id', 404],
    ['POST', '/api/tasks', '/api/tasks', 201, '{"title":"Mow"}'],
  ] as const) {
    const { id, lines } = await log(method, url, body);
    t.equal(lines.length, 1, url);
    for (const value of [id, method, route, status, north, anna]) {
      t.ok(holds(lines[0], value), `${url}: ${value}`);
    }
  }
});

t.test('a refused request is logged with its id too, and with the club once that is known', async (t) => {
  const anonymous = await log('GET', '/api/tasks', undefined, { authorization: '' });
  t.equal(anonymous.status, 401);
  t.equal(anonymous.lines.length, 1);
  t.ok(holds(anonymous.lines[0], anonymous.id));
  t.notOk(holds(anonymous.lines[0], north), 'a club that the caller only claims');
  const invalid = await log('POST', '/api/tasks', '{}');
  t.equal(invalid.lines.length, 1);
  t.ok(holds(invalid.lines[0], invalid.id) && holds(invalid.lines[0], north));
  for (const path of ['/api/nothing', '/api/tasks/%zz']) {
    const lost = await log('GET', path);
    t.equal(lost.lines.length, 1, path);
    t.ok(holds(lost.lines[0], lost.id), path);
  }
});

t.test(
  'no line holds a token, a header, a body, a parameter or what the token says of a person',
  async (t) => {
    const secret = 'quite-a-secret';
    const body = JSON.stringify({ title: secret, description: secret });
    const requests: Parameters<typeof log>[] = [
      ['GET', '/api/clubs/me'],
      ['GET', '/api/members/me'],
      ['GET', `/api/tasks?q=${secret}`],
      ['GET', `/api/tasks/${secret}`],
      ['GET', `/api/${secret}`],
      ['GET', `/api/tasks/${secret}%zz`],
      ['GET', `/api/tasks/${MISSING}`],
      ['POST', '/api/tasks', body],
      ['POST', '/api/tasks', `${body}}`],
      ['POST', '/api/tasks', JSON.stringify({ [secret]: secret })],
      ['PATCH', `/api/tasks/${MISSING}`, body],
      ['GET', '/api/tasks', undefined, { 'x-tenant-id': secret }],
      ['GET', '/api/tasks', undefined, { 'x-test-userid': secret, cookie: secret, 'user-agent': secret }],
      ['GET', '/api/tasks', undefined, { authorization: `Bearer ${secret}` }],
      ['GET', '/api/tasks', undefined, { authorization: `Bearer ${token}x` }],
    ];
    const words = [secret, MISSING, 'Anna-of-the-token', 'in-the-token', '"anna"', ...token.split('.')];
    for (const request of requests) {
      const { text } = await log(...request);
      t.same(
        words.filter((word) => text.includes(word)),
        [],
        `${request[0]} ${request[1]}`,
      );
    }
  },
);

t.test('a failure inside leaves its cause in the log under the request’s id, without values', async (t) => {
  await service.db.look(
    `create function public.surprise() returns trigger language plpgsql as $$ begin raise exception 'no %', new.title; end $$;
     create trigger surprise before insert on app.tasks for each row execute function public.surprise()`,
  );
  const { id, status, lines, text } = await log('POST', '/api/tasks', '{"title":"quite-a-secret"}');
  t.equal(status, 500);
  const [failure, ...rest] = lines.filter(({ level }) => Number(level) >= 50);
  t.same(rest, []);
  t.ok(holds(failure, id) && holds(failure, 'P0001'));
  t.notMatch(text, /quite-a-secret|Bearer|eyJ/);
});
