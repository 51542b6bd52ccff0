import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import t from 'tap';
import { type Response, sendBytesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const sendBytes = await sendBytesTo(service.app);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const bearer = async (sub: string, club: string) =>
  `Authorization: Bearer ${service.token({ sub, clubs: { [club]: 'Admin' } })}`;
const anna = await bearer('anna', north);
const otto = await bearer('otto', south);
const asAnna = `Host: a\r\n${anna}\r\nX-Tenant-Id: ${north}`;
const asOtto = `Host: a\r\n${otto}\r\nX-Tenant-Id: ${south}`;

const BODY = '{"title":"Smuggled"}';
const smuggled = `POST /api/tasks HTTP/1.1\r\n${asOtto}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const post = (lines: string, body: string) =>
  `POST /api/tasks HTTP/1.1\r\n${asAnna}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n${body}`;

const served = () => service.db.queryAsAdmin('select from app.tasks');
const statuses = (responses: Response[]) => responses.map(({ status }) => status).join();

/** Messages that Node's parser refuses, and the expected error. */
const broken: Record<string, [bytes: string | Buffer, status?: number]> = {
  'an unknown method': ['FOO / HTTP/1.1\r\nHost: a\r\n\r\n'],
  'a method in lower case': ['get /livez HTTP/1.1\r\nHost: a\r\n\r\n'],
  'a TLS handshake': [Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc])],
  'random bytes': [Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 197 + 128) % 256))],
  'a request line without a path': ['GET\r\n\r\n'],
  'HTTP/3.7': ['GET /livez HTTP/3.7\r\nHost: a\r\n\r\n'],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  'a path without a slash': ['GET livez HTTP/1.1\r\nHost: a\r\n\r\n'],
  'a space in the path': ['GET /a b HTTP/1.1\r\nHost: a\r\n\r\n'],
  'NUL in the path': ['GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n'],
  'bare line feeds': [`GET /api/tasks HTTP/1.1\n${asAnna.replaceAll('\r', '')}\n\n`],
  'a bare carriage return': ['GET /livez HTTP/1.1\rHost: a\r\r'],
  'NUL in a header': ['GET /livez HTTP/1.1\r\nHost: a\r\nX-A: a\0b\r\n\r\n'],
  'a control character in a header': ['GET /livez HTTP/1.1\r\nHost: a\r\nX-A: a\x01b\r\n\r\n'],
  'a control character in X-Tenant-Id': [`GET /api/tasks HTTP/1.1\r\n${asAnna}\x7f\r\n\r\n`],
  'a space before the colon': ['GET /livez HTTP/1.1\r\nHost : a\r\n\r\n'],
  'a header without a colon': ['GET /livez HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n'],
  'headers over 16 KiB': [`GET /livez HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(17_000)}\r\n\r\n`, 431],
  'many headers over 16 KiB': [`GET /livez HTTP/1.1\r\nHost: a\r\n${'X-A: aaaaaaaa\r\n'.repeat(1_500)}\r\n`, 431],
  'a huge URL': [`GET /${'a'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
  'Content-Length and Transfer-Encoding': [post(`Content-Length: 4\r\nTransfer-Encoding: chunked`, `0\r\n\r\n${smuggled}`)],
  'Transfer-Encoding and Content-Length': [post(`Transfer-Encoding: chunked\r\nContent-Length: ${smuggled.length}`, `0\r\n\r\n${smuggled}`)],
  'two lengths': [post(`Content-Length: 0\r\nContent-Length: ${smuggled.length}`, smuggled)],
  'two lengths in one header': [post(`Content-Length: 0, ${smuggled.length}`, smuggled)],
  'a negative length': [post('Content-Length: -1', smuggled)],
  'a length in hex': [post('Content-Length: 0x10', smuggled)],
  'a length with a sign': [post('Content-Length: +0', smuggled)],
  'a length of forty digits': [post(`Content-Length: ${'9'.repeat(40)}`, smuggled)],
  'a folded Transfer-Encoding': [post('Transfer-Encoding:\r\n chunked\r\nContent-Length: 4', `0\r\n\r\n${smuggled}`)],
  'an unknown Transfer-Encoding': [post('Transfer-Encoding: chunked, nonsense', `0\r\n\r\n${smuggled}`)],
  'a chunk size that is no number': [post('Transfer-Encoding: chunked', `zz\r\n${smuggled}`)],
  'a negative chunk size': [post('Transfer-Encoding: chunked', `-1\r\n${smuggled}`)],
  'a chunk size of thirty digits': [post('Transfer-Encoding: chunked', `${'f'.repeat(30)}\r\n${smuggled}`)],
  'a chunk longer than its size': [post('Transfer-Encoding: chunked', `1\r\n{}\r\n0\r\n\r\n${smuggled}`)],
  'a chunk that ends in a line feed': [post('Transfer-Encoding: chunked', `2\n{}\n0\n\n${smuggled}`)],
}; // biome-ignore format: one a line

for (const [what, [bytes, status = 400]] of Object.entries(broken)) {
  t.test(
    `${what}: refused with a problem, the connection is closed, and what follows is not served`,
    async (t) => {
      const before = (await served()).length;
      const { responses, text } = await sendBytes(bytes, Number.POSITIVE_INFINITY);
      t.equal(statuses(responses), String(status), text.slice(0, 300));
      const { headers, body: problem } = responses[0] as Response;
      t.equal(headers['content-type'], 'application/problem+json');
      t.equal(headers.connection, 'close');
      const members = ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'];
      t.same(Object.keys(problem), members);
      t.match(headers, { 'x-frame-options': 'DENY', 'strict-transport-security': /^max-age/ });
      const code = status === 431 ? 'headers_too_large' : 'invalid_parameter';
      t.match(problem, { status, code, requestId: headers['x-request-id'] });
      t.notMatch(text, /HPE_|parse error|llhttp|node|fastify|\n\s+at /i);
      t.equal((await served()).length, before);
    },
  );
}

/** Unusual or incomplete requests: answered with one of these statuses, or closed without an answer. */
const strange: Record<string, [bytes: string, allowed: string[]]> = {
  'two Authorization headers': [`GET /api/tasks HTTP/1.1\r\n${asAnna}\r\n${otto}\r\n\r\n`, ['401']],
  'the same Authorization twice': [`GET /api/tasks HTTP/1.1\r\n${asAnna}\r\n${anna}\r\n\r\n`, ['401']],
  'two X-Tenant-Id headers': [`GET /api/tasks HTTP/1.1\r\n${asAnna}\r\nX-Tenant-Id: ${south}\r\n\r\n`, ['400']],
  'the same X-Tenant-Id twice': [`GET /api/tasks HTTP/1.1\r\n${asAnna}\r\nx-tenant-id: ${north}\r\n\r\n`, ['400']],
  'an absolute URI': [`GET http://a/api/tasks HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['200', '400', '404']],
  'an absolute URI of another host': [`GET http://169.254.169.254/latest HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400', '404']],
  'an absolute URI with a method that the route lacks': [`PUT http://a/api/tasks?b HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['405']],
  'an asterisk': [`OPTIONS * HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400', '404', '405']],
  'an asterisk with GET': [`GET * HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400']],
  'an asterisk in place of the first slash': [`GET *api/tasks HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400']],
  'a fragment': [`GET /api/tasks#state=Open HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400']],
  'a fragment behind a query': [`GET http://a/api/tasks?limit=1#x HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400']],
  'CONNECT': ['CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', ['', '400', '404', '405']],
  'TRACE': [`TRACE /api/tasks HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['404', '405']],
  'a method that Node.js knows and no route has': ['PROPFIND /api/tasks HTTP/1.1\r\nHost: a\r\n\r\n', ['404', '405']],
  'a dot path': [`GET /api/../api/tasks/%2e%2e/%2e%2e HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400', '404']],
  'an encoded NUL': [`GET /api/tasks/%00 HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400']],
  'bytes beyond ASCII in a token': [`GET /api/tasks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \xff\xfe\r\n\r\n`, ['401']],
  'an upgrade': ['GET /api/tasks HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n', ['401']],
  'a long URL': [`GET /api/tasks/${'a'.repeat(12_000)} HTTP/1.1\r\n${asAnna}\r\n\r\n`, ['400']],
  'HTTP/0.9': ['GET /livez\r\n\r\n', ['200', '400']],
  'HTTP/1.0': ['GET /livez HTTP/1.0\r\n\r\n', ['200']],
  'no bytes': ['', ['', '400']],
  'an incomplete request line': ['GET /livez HT', ['', '400']],
  'incomplete headers': [`GET /api/tasks HTTP/1.1\r\n${asAnna}\r\n`, ['', '400']],
  'an incomplete body': [post('Content-Length: 100', '{"title":"Half"}'), ['', '400']],
  'chunks without the last one': [post('Transfer-Encoding: chunked', `${BODY.length.toString(16)}\r\n${BODY}\r\n`), ['', '400']],
}; // biome-ignore format: one a line

t.test('an unusual request is answered or its connection closed, and creates nothing', async (t) => {
  const before = (await served()).length;
  for (const [what, [bytes, allowed]] of Object.entries(strange)) {
    const { responses, text } = await sendBytes(Buffer.from(bytes, 'latin1'), allowed.includes('') ? 0 : 1);
    t.ok(allowed.includes(statuses(responses)), `${what}: ${text.slice(0, 300)}`);
  }
  t.equal((await served()).length, before);
});

t.test('a message has one Host: with none or two it is refused and its connection closed', async (t) => {
  const none = asAnna.slice('Host: a\r\n'.length);
  const before = (await served()).length;
  const wrong: string[] = [];
  for (const [headers, code] of [
    [none, 'required'],
    [`${asAnna}\r\nHost: a`, 'invalid_value'],
    [`${asAnna}\r\nhOST: b`, 'invalid_value'],
    [`Host: b\r\nHost:\r\n${none}`, 'invalid_value'],
  ]) {
    for (const line of ['GET /api/tasks', 'GET /livez', `POST /api/tasks`]) {
      const { responses, text } = await sendBytes(
        `${line} HTTP/1.1\r\n${headers}\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
        Number.POSITIVE_INFINITY,
      );
      const [{ headers: sent, body: problem } = { headers: {} as Response['headers'], body: {} }] = responses;
      const [error] = problem.errors ?? [];
      const said = [statuses(responses), sent['content-type'], sent.connection, problem.code, error?.header];
      said.push(error?.code, String(problem.requestId === sent['x-request-id']));
      if (said.join() !== `400,application/problem+json,close,invalid_parameter,Host,${code},true`) {
        wrong.push(text);
      }
    }
  }
  t.same(wrong, []);
  t.equal((await served()).length, before);
  const empty = await sendBytes(`GET /api/tasks HTTP/1.1\r\nHost:\r\n${none}\r\n\r\n`, 1);
  t.equal(statuses(empty.responses), '200', 'an empty Host counts as a host');
  const old = await sendBytes(`GET /api/tasks HTTP/1.0\r\n${none}\r\n\r\n`, 1);
  t.equal(statuses(old.responses), '200', 'HTTP/1.0 needs none');
});

t.test('an unknown Expect header is ignored', async (t) => {
  for (const expected of ['nonsense', '100-continued', '']) {
    const { responses } = await sendBytes(
      `GET /api/members/me HTTP/1.1\r\n${asAnna}\r\nExpect: ${expected}\r\n\r\n`,
      1,
    );
    t.match(responses[0]?.body, { externalUserId: 'anna' }, expected);
    const nobody = await sendBytes(`POST /api/tasks HTTP/1.1\r\nHost: a\r\nExpect: ${expected}\r\n\r\n`, 1);
    t.match(nobody.responses[0]?.body, { code: 'unauthenticated' }, expected);
  }
});

t.test('the error of an unknown method or a URL that is not ASCII names the cause', async (t) => {
  for (const [line, detail] of [
    ['patch /api/tasks', /PATCH, not patch/],
    ['GET /api/members?q=Jörg', /Percent-encode/],
    ['GET /livez HTTP/1.1\r\nno colon', /Check the request line/],
  ] as const) {
    const { responses } = await sendBytes(
      Buffer.from(`${line} HTTP/1.1\r\nHost: a\r\n\r\n`),
      Number.POSITIVE_INFINITY,
    );
    t.match(responses[0]?.body, { code: 'invalid_parameter', detail });
  }
});

t.test('pipelined requests are answered in order, each for its own caller', async (t) => {
  const who = (headers: string) => `GET /api/members/me HTTP/1.1\r\n${headers}\r\n\r\n`;
  const nobody = who('Host: a');
  const { responses } = await sendBytes(
    [who(asAnna), who(asOtto), nobody, who(asOtto), who(asAnna)].join(''),
    5,
  );
  t.equal(statuses(responses), '200,200,401,200,200');
  const names = responses.map(({ body }) => body.externalUserId);
  t.same(names, ['anna', 'otto', undefined, 'otto', 'anna']);
  t.equal(new Set(responses.map(({ headers }) => headers['x-request-id'])).size, 5);
});

t.test('a request behind a response that closes its connection is not handled', async (t) => {
  const before = (await served()).length;
  const { responses } = await sendBytes(
    `${post('Content-Length: 1', '{')}${smuggled}`,
    Number.POSITIVE_INFINITY,
  );
  t.equal(statuses(responses), '400');
  t.equal(responses[0]?.headers.connection, 'close');
  // A request that is handled in spite of it creates its task within some milliseconds.
  await sleep(300);
  t.equal((await served()).length, before);
});

/** Resolves when the next request that arrives has been answered. */
const answered = () =>
  new Promise<void>((resolve) => {
    service.app.server.once('request', (_, response) => response.once('finish', resolve));
  });

/** A malformed message after a complete request: an invalid request line, or a body with invalid chunks. */
const brokenBehind = {
  'a request line': 'FOO / HTTP/1.1\r\n\r\n',
  'a body': post('Transfer-Encoding: chunked', `zz\r\n${smuggled}`),
};

t.test('a malformed message never changes the answer to the complete request before it', async (t) => {
  const good = `GET /api/members/me HTTP/1.1\r\n${asAnna}\r\n\r\n`;
  for (const [what, bytes] of Object.entries(brokenBehind)) {
    const later = async function* () {
      const end = answered();
      yield good;
      await end;
      yield bytes;
    };
    const after = await sendBytes(later(), Number.POSITIVE_INFINITY);
    t.equal(statuses(after.responses), '200,400', `${what}, once the request was answered`);
    t.match(after.responses[0]?.body, { externalUserId: 'anna' });

    const holder = new pg.Client(service.db.adminUrl);
    await holder.connect();
    await holder.query('begin; lock table app.members in access exclusive mode');
    const held = await sendBytes(good + bytes, Number.POSITIVE_INFINITY);
    await holder.query('commit');
    await holder.end();
    t.equal(held.text, '', `${what}, while the request waits: the connection is closed without an answer`);
  }
});

t.test('a body that becomes malformed after the answer gets no second answer', async (t) => {
  const refused = async function* () {
    const end = answered();
    yield `POST /api/tasks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    await end;
    yield 'zz\r\n';
  };
  t.equal(statuses((await sendBytes(refused(), Number.POSITIVE_INFINITY)).responses), '401');
});

t.test('a request with an absolute URL gets links to this service only', async (t) => {
  const admin = service.as('anna', 'Admin', north);
  await admin.post('/api/tasks', { title: 'One' });
  await admin.post('/api/tasks', { title: 'Two' });
  const listed = await sendBytes(
    `GET http://evil.example/api/tasks?limit=1 HTTP/1.1\r\n${asAnna}\r\n\r\n`,
    1,
  );
  t.match(listed.responses[0]?.headers.link, /^<\/api\/tasks\?limit=1&cursor=[\w-]+>; rel="next"$/);
  const missing = await sendBytes(`GET http://evil.example/api/nothing HTTP/1.1\r\n${asAnna}\r\n\r\n`, 1);
  t.equal(/evil/.test(listed.text + missing.text), false, 'an absolute URL is not repeated');
  t.equal(missing.responses[0]?.body.instance, '/api/nothing', 'nor in instance');
});

t.test('HTTP/2.0 in a request line is refused; a tunnel is closed without an answer', async (t) => {
  const refusal = await sendBytes('GET /livez HTTP/2.0\r\nHost: a\r\n\r\n', Number.POSITIVE_INFINITY);
  t.match(refusal.text, /^HTTP\/1\.1 400 [\s\S]*Send the request in HTTP\/1\.1\./);
  const tunnel = await sendBytes('CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', Number.POSITIVE_INFINITY);
  t.equal(tunnel.text, '');
});

t.test('after all of these the process serves as before', async (t) => {
  const { responses } = await sendBytes(post(`Connection: close\r\nContent-Length: ${BODY.length}`, BODY), 1);
  t.equal(statuses(responses), '201');
});
