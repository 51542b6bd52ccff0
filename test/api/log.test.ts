import { pino } from 'pino';
import t from 'tap';
import { type App, buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { Database } from '../../src/database/database.js';
import { throttle } from '../../src/logger.js';
import { stopClock } from '../setup/clock.js';
import { MISSING } from '../setup/endpoints.js';
import { AUDIENCE, encode, startIssuer } from '../setup/issuer.js';
import { startProxy } from '../setup/proxy.js';
import { sendAndHangUp, sendBytesTo, sendTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { until } from '../setup/wait.js';
import { type BadToken, sameSignatureTokens } from './fixtures/bad-tokens.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const anna = await service.as('anna', 'Admin', north).memberId();
const ben = await service.as('ben', 'Member', north).memberId();

const written: string[] = [];
const logger = pino({ level: 'trace' }, { write: (line: string) => written.push(line) });
const configure = (issuer: string, own: Record<string, string> = {}) =>
  readServerConfig(
    {
      NODE_ENV: 'test',
      DATABASE_URL: service.db.url,
      AUTH_ISSUER: issuer,
      AUTH_AUDIENCE: AUDIENCE,
      ...own,
    },
    {},
  );

/** The service with these settings, whose log is read. */
async function build(
  own: Record<string, string> = {},
  { issuer = service.issuer.url, database = service.database } = {},
): Promise<App> {
  const { app } = await buildApp({ config: configure(issuer, own), database, logger, auditTimes: null });
  t.teardown(() => app.close());
  return app;
}

const app = await build();

const token = service.token({
  sub: 'anna',
  name: 'Anna-of-the-token',
  email: 'anna@in-the-token.example',
  clubs: { [north]: 'Admin' },
});
type Line = Record<string, unknown>;

/** Sends a request; returns its id and its log lines. */
async function log(
  method: 'GET' | 'POST' | 'PATCH',
  url: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<{ id: string; status: number; lines: Line[]; text: string }> {
  written.length = 0;
  const response = await sendTo(app)(method, url, {
    headers: { authorization: `Bearer ${token}`, 'x-tenant-id': north, ...headers },
    body,
  });
  return {
    id: String(response.headers['x-request-id']),
    status: response.status,
    lines: written.map((line) => JSON.parse(line) as Line),
    text: written.join(''),
  };
}

const holds = (line: Line | undefined, value: unknown) => Object.values(line ?? {}).includes(value);

t.test('a request is one JSON log line with its id, route, status, club and member', async (t) => {
  for (const [method, url, route, status, body] of [
    ['GET', '/api/tasks', '/api/tasks', 200],
    ['GET', `/api/members/${ben}`, '/api/members/:id', 200],
    ['GET', `/api/tasks/${MISSING}`, '/api/tasks/:id', 404],
    ['POST', '/api/tasks', '/api/tasks', 201, '{"title":"Mow"}'],
    ['PATCH', `/api/tasks/${MISSING}`, '/api/tasks/:id', 404, '{"title":"Mow"}'],
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
  t.notOk(holds(anonymous.lines[0], north), 'a club in which the caller has no role');
  const invalid = await log('POST', '/api/tasks', '{}');
  t.equal(invalid.lines.length, 1);
  t.ok(holds(invalid.lines[0], invalid.id) && holds(invalid.lines[0], north));
  for (const path of ['/api/nothing', '/api/tasks/%zz']) {
    const lost = await log('GET', path);
    t.equal(lost.lines.length, 1, path);
    t.ok(holds(lost.lines[0], lost.id), path);
  }
});

t.test('a response that does not wait for the body is one log line with its status', async (t) => {
  const sendBytes = await sendBytesTo(app);
  for (const [path, status] of [
    ['/api/tasks', 401],
    ['/api/nothing', 404],
  ] as const) {
    written.length = 0;
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n`;
    const { responses } = await sendBytes(head, 1);
    t.match(responses, [{ status }]);
    const lines = await until(
      () => written.map((line) => JSON.parse(line) as Line),
      ({ length }) => length > 0,
    );
    t.match(lines, [{ method: 'POST', status, reqId: responses[0]?.headers['x-request-id'] }]);
    t.equal(lines.length, 1);
  }
});

t.test('a request whose client closes the connection is one log line too, with 499', async (t) => {
  const created = await service.as('anna', 'Admin', north).post('/api/tasks', { title: 'Mow' });
  written.length = 0;
  await sendAndHangUp(service.db, app, {
    path: `/api/tasks/${created.body.id}`,
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}`, 'x-tenant-id': north },
  });
  const tasks = await until(
    () => service.db.queryAsAdmin('select from app.tasks where id = $1', [created.body.id]),
    ({ length }) => length === 0,
  );
  t.equal(tasks.length, 0, 'the change is made all the same');
  const lines = written.map((line) => JSON.parse(line) as Line);
  t.equal(lines.length, 1);
  t.match(lines[0], { method: 'DELETE', route: '/api/tasks/:id', status: 499, tenant: north, member: anna });
});

t.test('the log line of a refused token has the reason, which the caller does not get', async (t) => {
  const provider = await startIssuer(t);
  const byClient = { AUTH_AUDIENCE_CLAIM: 'client_id' };
  const [byAudience, ofClient] = [
    await build({}, { issuer: provider.url }),
    await build(byClient, { issuer: provider.url }),
  ];
  const now = Math.floor(Date.now() / 1000);
  const altered = provider.sign().replace(/^([^.]+)\.[^.]+/, `$1.${encode({ sub: 'zoe' })}`);
  const [[, respelled]] = sameSignatureTokens(provider.sign()) as [BadToken, ...BadToken[]];
  const tokens: [reason: string | undefined, token: string, app?: App][] = [
    [undefined, provider.sign({ clubs: { [north]: 'Admin' } })],
    ['its aud is not in AUTH_AUDIENCE', provider.sign({ aud: 'account' })],
    ['its aud is not in AUTH_AUDIENCE', provider.sign({ aud: ['account', 'another'] })],
    ['it has no aud', provider.sign({ aud: undefined })],
    ['its iss is not exactly AUTH_ISSUER', provider.sign({ iss: `${provider.url}/` })],
    ['it has expired', provider.sign({ exp: now - 60 })],
    ['its nbf is in the future', provider.sign({ nbf: now + 60 })],
    ['it has no sub', provider.sign({ sub: undefined })],
    ['its sub is missing or invalid', provider.sign({ sub: '' })],
    ['it is not an access token', provider.sign({ typ: 'ID' })],
    ['its signature does not match the key that it names', altered],
    ['no key of the issuer matches its header', provider.sign({}, { header: { kid: 'zoe' } })],
    ['its header is not of an access token', provider.sign({}, { header: { typ: 'zoe' } })],
    ['it is not a signed JWT', 'zoes'],
    ['its signature is not canonical base64url', respelled],
    ['the header Authorization does not contain one token after its scheme', 'zoe zoe'],
    ['it has no client_id', provider.sign(), ofClient],
    ['its client_id is not in AUTH_AUDIENCE', provider.sign({ client_id: 'zoe' }), ofClient],
  ];
  const found = [];
  for (const [, token, asked = byAudience] of tokens) {
    written.length = 0;
    const headers = { authorization: `Bearer ${token}` };
    const { text } = await sendTo(asked)('GET', '/api/clubs/me', { headers });
    const [line = '{}', ...more] = written;
    const { code, reason } = JSON.parse(line);
    const isSilent = !/zoe|account/.test(line) && more.length === 0 && !text.includes(String(reason));
    found.push([reason, isSilent, code]);
  }
  t.same(
    found,
    tokens.map(([reason]) => [reason, true, reason && 'invalid_token']),
  );
});

t.test(
  'no log line contains a token, a header, a body, a parameter or personal data of the token',
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
      ['GET', `/calendars/${MISSING}/${secret.padEnd(43, 'A')}.ics`],
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

t.test(
  'the error and the log line of a lost signup say that its outcome is unknown, the line of a refused one names the member',
  async (t) => {
    const proxy = await startProxy(t, service.db.url);
    const database = new Database({ url: proxy.url, size: 1, prepare: true, readsPerConnection: 1 });
    const behind = await build({}, { database });
    t.teardown(async () => {
      await behind.close();
      await database.close();
    });
    const send = async (method: 'POST', path: string, body?: object) => {
      written.length = 0;
      const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': north };
      const { status, body: sent } = await sendTo(behind)(method, path, { headers, body });
      const line = written.map((one) => JSON.parse(one)).find(({ msg }) => msg === 'request');
      return { status, id: sent.id, detail: sent.detail, line };
    };
    const { id } = await send('POST', '/api/shifts', shiftRequest());
    proxy.onMessage = ({ from, type, text }) =>
      from === 'server' && type === 'D' && text.includes('"accepted":true') ? 'cut before' : 'pass';
    const lost = await send('POST', `/api/shifts/${id}/signup`);
    t.match(lost, { status: 503, line: { code: 'service_unavailable', committed: 'unknown' } });
    t.match(
      lost.detail,
      /^The connection .* unknown whether the change was made\. .* look first whether it was made\.$/,
    );
    proxy.onMessage = () => 'pass';
    const again = await send('POST', `/api/shifts/${id}/signup`);
    t.match(again, { status: 409, line: { code: 'already_signed_up', member: anna } }, 'it was made');
    t.equal(again.line.committed, undefined);
  },
);

t.test('an internal error is logged with its cause and the request’s id, without values', async (t) => {
  await service.db.queryAsAdmin(
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

t.test('a throttled log has the first event at once, and later ones without another event', async (t) => {
  const advance = stopClock(t);
  const logged: [count: number, latest: string][] = [];
  const report = throttle<string>((count, latest) => logged.push([count, latest]), 100);
  for (const event of ['first', 'second', 'third']) {
    report(event);
  }
  await advance(99);
  t.same(logged, [[1, 'first']]);
  await advance(1);
  t.same(logged.slice(1), [[2, 'third']]);
});

t.test(
  'the client address is the peer’s address; X-Forwarded-For counts only from a proxy in TRUST_PROXY',
  async (t) => {
    const client = '203.0.113.7';
    for (const [trusted, cases] of Object.entries({
      '': [
        ['10.0.0.7', '', '10.0.0.7'],
        ['10.0.0.7', client, '10.0.0.7'],
      ],
      '10.0.0.0/8': [
        ['10.0.0.7', '', '10.0.0.7'],
        ['10.0.0.7', client, client],
        ['::ffff:10.0.0.7', client, client],
        ['192.0.2.1', client, '192.0.2.1'],
        ['10.0.0.7', `198.51.100.1, ${client}`, client],
        ['10.0.0.7', `198.51.100.1, ${client}, 10.1.1.1`, client],
      ],
      '192.0.2.1,fd00::/8': [
        ['192.0.2.1', client, client],
        ['fd00::1', '2001:db8::1', '2001:db8::1'],
        ['10.0.0.7', client, '10.0.0.7'],
      ],
    })) {
      const behind = await build({ TRUST_PROXY: trusted });
      for (const [remoteAddress = '', forwarded = '', expected] of cases) {
        for (const url of ['/livez', '/api/tasks', '/api/nothing']) {
          written.length = 0;
          const headers = forwarded === '' ? {} : { 'x-forwarded-for': forwarded };
          await behind.inject({ url, headers, remoteAddress });
          const addresses = written.map((line) => JSON.parse(line).ip);
          t.same(addresses, [expected], `${url} from ${remoteAddress} for ${forwarded}`);
        }
      }
    }
  },
);

t.test('when a trusted proxy forwards something that is no address, the log says unknown', async (t) => {
  const behind = await build({ TRUST_PROXY: '10.0.0.0/8' });
  for (const forwarded of ['x'.repeat(5_000), '"}{"a":1', '999.1.1.1']) {
    written.length = 0;
    const headers = { 'x-forwarded-for': forwarded };
    await behind.inject({ url: '/livez', remoteAddress: '10.0.0.7', headers });
    t.match(JSON.parse(written.at(-1) ?? '{}'), { ip: 'unknown' }, forwarded.slice(0, 20));
  }
});

t.test(
  'a malformed message and an aborted request are logged with the client address, as no error',
  async (t) => {
    const sendBytes = await sendBytesTo(await build());
    const signedIn = `Host: a\r\nAuthorization: Bearer ${token}\r\nX-Tenant-Id: ${north}`;
    const aborted = (type: string) =>
      `POST /api/tasks HTTP/1.1\r\n${signedIn}\r\nContent-Type: ${type}\r\nContent-Length: 9\r\n\r\n`;
    for (const [bytes, responses] of [
      ['GET /api/tasks/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 1],
      ['FOO / HTTP/1.1\r\nHost: a\r\n\r\n', Number.POSITIVE_INFINITY],
      [aborted('application/json'), 0],
      [aborted('text/plain'), 0],
    ] as const) {
      written.length = 0;
      await sendBytes(bytes, responses);
      await until(
        () => written.length,
        (count) => count > 0,
      );
      // An aborted request that got its response just then has a line for each.
      const lines = written.map((line) => JSON.parse(line));
      t.ok(
        lines.every(({ ip, level }) => ip === '127.0.0.1' && level === 30),
        bytes,
      );
    }
  },
);
