import { once } from 'node:events';
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { type Response, sendBytesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { until, untilIdle } from '../setup/wait.js';

const service = await startService(t);
const sendBytes = await sendBytesTo(service.app);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const bearer = (sub: string, club: string) =>
  `Authorization: Bearer ${service.token({ sub, clubs: { [club]: 'Admin' } })}`;
const anna = bearer('anna', north);
const otto = bearer('otto', south);
const tenant = `X-Tenant-Id: ${north}`;
const asAnna = `Host: a\r\n${anna}\r\n${tenant}`;
const asOtto = `Host: a\r\n${otto}\r\nX-Tenant-Id: ${south}`;

const BODY = '{"title":"Mow"}';
/** A request that creates a task, with these header lines. */
const post = (lines: string, body: string, { version = '1.1', caller = asAnna } = {}) =>
  `POST /api/tasks HTTP/${version}\r\n${caller}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n${body}`;
/** A request behind or inside of another message: it must not be served. */
const smuggled = post(`Content-Length: ${BODY.length}`, BODY, { caller: asOtto });
const who = (headers: string) => `GET /api/members/me HTTP/1.1\r\n${headers}\r\n\r\n`;
const admin = service.as('anna', 'Admin', north);
const task = `/api/tasks/${(await admin.post('/api/tasks', { title: 'Sweep' })).body.id}`;

/** Sends bytes until the service closes the connection. */
const sendAll = (bytes: Parameters<typeof sendBytes>[0]) => sendBytes(bytes, Number.POSITIVE_INFINITY);
const countTasks = async () => (await service.db.queryAsAdmin('select from app.tasks')).length;
const statuses = (responses: Response[]) => responses.map(({ status }) => status).join();
/** The code of each error with the header that it names; the status of another response. */
const results = (responses: Response[]) =>
  responses
    .map(({ status, body }) =>
      status < 400
        ? status
        : [body.code, ...(body.errors ?? []).map(({ header }: { header?: string }) => header)].join(' '),
    )
    .join();

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

t.test(
  'a malformed message is refused with a problem and closed, and what follows is not served',
  async (t) => {
    const before = await countTasks();
    for (const [what, [bytes, status = 400]] of Object.entries(broken)) {
      const { responses, text } = await sendAll(bytes);
      t.equal(statuses(responses), String(status), `${what}: ${text.slice(0, 300)}`);
      const { headers, body: problem } = responses[0] as Response;
      t.match(
        headers,
        {
          'content-type': 'application/problem+json',
          connection: 'close',
          'x-frame-options': 'DENY',
          'strict-transport-security': /^max-age/,
        },
        what,
      );
      const members = ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'];
      t.same(Object.keys(problem), members, what);
      const code = status === 431 ? 'headers_too_large' : 'invalid_parameter';
      t.match(problem, { status, code, requestId: headers['x-request-id'] }, what);
      t.notMatch(text, /HPE_|parse error|llhttp|node|fastify|\n\s+at /i, what);
      t.equal(await countTasks(), before, what);
    }
  },
);

/** Unusual or incomplete requests: answered with one of these statuses, or closed without a response. */
const unusual: Record<string, [bytes: string, allowed: string[]]> = {
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
  'CONNECT': ['CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', ['']],
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

t.test('an unusual request gets a response or its connection is closed, and creates nothing', async (t) => {
  const before = await countTasks();
  for (const [what, [bytes, allowed]] of Object.entries(unusual)) {
    const mayClose = allowed.includes('') ? 0 : 1;
    const count = allowed.join() === '' ? Number.POSITIVE_INFINITY : mayClose;
    const { responses, text } = await sendBytes(Buffer.from(bytes, 'latin1'), count);
    t.ok(allowed.includes(statuses(responses)), `${what}: ${text.slice(0, 300)}`);
  }
  t.equal(await countTasks(), before);
});

t.test('a message has one Host: with none or two it is refused and its connection closed', async (t) => {
  const none = `${anna}\r\n${tenant}`;
  const before = await countTasks();
  for (const [headers, code] of [
    [none, 'required'],
    [`${asAnna}\r\nHost: a`, 'invalid_value'],
    [`${asAnna}\r\nhOST: b`, 'invalid_value'],
    [`Host: b\r\nHost:\r\n${none}`, 'invalid_value'],
  ]) {
    for (const line of ['GET /api/tasks', 'GET /livez', 'POST /api/tasks']) {
      const at = `${line} ${headers}`;
      const { responses } = await sendAll(
        `${line} HTTP/1.1\r\n${headers}\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
      );
      t.equal(results(responses), 'invalid_parameter Host', at);
      const [{ headers: received, body } = { headers: {}, body: {} } as Response] = responses;
      t.match(received, { 'content-type': 'application/problem+json', connection: 'close' }, at);
      t.match(body, { status: 400, requestId: received['x-request-id'], errors: [{ code }] }, at);
    }
    const behind = await sendAll(`GET /livez HTTP/1.1\r\n${headers}\r\n\r\n${smuggled}`);
    t.equal(results(behind.responses), 'invalid_parameter Host', 'the next request is not served');
  }
  t.equal(await countTasks(), before);
  const empty = await sendBytes(`GET /api/tasks HTTP/1.1\r\nHost:\r\n${none}\r\n\r\n`, 1);
  t.equal(statuses(empty.responses), '200', 'an empty Host counts as a host');
  const old = await sendBytes(`GET /api/tasks HTTP/1.0\r\n${none}\r\n\r\n`, 1);
  t.equal(statuses(old.responses), '200', 'HTTP/1.0 needs none');
});

t.test('a header counts after any number of other header lines', async (t) => {
  const get = `GET /api/tasks HTTP/1.1\r\n${asAnna}\r\n`;
  const patch = `PATCH ${task} HTTP/1.1\r\n${asAnna}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`;
  for (const [first, last, expected, content = ''] of [
    [get, '', '200'],
    [get, tenant, 'tenant_header_invalid'],
    [get, 'Authorization: Bearer x', 'invalid_token'],
    [get, 'Host: b', 'invalid_parameter Host'],
    [`GET /api/tasks HTTP/1.1\r\nHost: a\r\n${anna}\r\n`, tenant, '200'],
    [patch, 'If-Match: "77"', 'precondition_failed', BODY],
  ] as const) {
    for (const count of [0, 990, 1_000, 1_100, 2_000, 3_500]) {
      const lines = `${'a:\r\n'.repeat(count)}${last}${last === '' ? '' : '\r\n'}`;
      const { responses } = await sendBytes(`${first}${lines}Connection: close\r\n\r\n${content}`, 1);
      t.equal(results(responses), expected, `${last} after ${count} lines`);
    }
  }
  t.match((await admin.get(task)).body, { title: 'Sweep', version: 1 }, 'If-Match counts for the change');
});

t.test('a body has a length or plain chunks; after any other body nothing is read', async (t) => {
  const before = await countTasks();
  const chunks = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
  for (const [version, lines, content = chunks] of [
    ['1.1', 'Transfer-Encoding: gzip, chunked'],
    ['1.1', 'Transfer-Encoding: x, chunked'],
    ['1.1', 'Transfer-Encoding: ,chunked'],
    ['1.1', 'Transfer-Encoding: identity, chunked'],
    ['1.1', 'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked'],
    // Node 20 does not read the body; later versions refuse the header themselves, and name none.
    ['1.1', 'Transfer-Encoding:', ''],
    ['1.0', 'Transfer-Encoding: chunked'],
    ['1.0', 'Connection: keep-alive\r\nTransfer-Encoding: chunked'],
  ] as const) {
    const { responses } = await sendAll(`${post(lines, content, { version })}${smuggled}`);
    t.match(results(responses), /^invalid_parameter( Transfer-Encoding)?$/, lines);
    t.equal(responses[0]?.headers.connection, 'close', lines);
  }
  t.equal(await countTasks(), before);
  const both = await sendBytes(`${post('Transfer-Encoding: Chunked', chunks)}${smuggled}`, 2);
  t.equal(results(both.responses), '201,201', 'in any letter case');
  t.equal(await countTasks(), before + 2);
});

t.test('a body with two content types is a 415', async (t) => {
  const before = await countTasks();
  const json = 'application/json';
  for (const [first, second] of [
    [json, 'text/plain'],
    ['text/plain', json],
    [json, json],
    [json, ''],
  ]) {
    const types = `Content-Type: ${first}\r\ncontent-type: ${second}`;
    const { responses } = await sendBytes(
      `POST /api/tasks HTTP/1.1\r\n${asAnna}\r\n${types}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      1,
    );
    t.equal(results(responses), 'unsupported_media_type', types);
  }
  t.equal(await countTasks(), before);
});

t.test('an Upgrade header is ignored, and nothing after it is read as a request', async (t) => {
  const before = await countTasks();
  const offer = `${asAnna}\r\nConnection: Upgrade\r\nUpgrade: h2c`;
  const get = who(offer);
  const upgraded = post(`Content-Length: ${BODY.length}`, BODY, { caller: offer });
  const around = `POST /api/tasks HTTP/1.1\r\n${asAnna}\r\nContent-Length: ${smuggled.length}\r\n\r\n`;
  for (const [what, parts, status, body] of [
    ['alone', [get], 200, { externalUserId: 'anna' }],
    ['with a request in the same piece', [get + smuggled], 200, { externalUserId: 'anna' }],
    ['with a request in the next piece', [get, smuggled], 200, { externalUserId: 'anna' }],
    ['with a request whose body is one', [get + around, smuggled], 200, { externalUserId: 'anna' }],
    ['with a body', [upgraded + smuggled], 201, { title: 'Mow' }],
    ['at an invalid path', [`GET /% HTTP/1.1\r\n${offer}\r\n\r\n`], 400, { code: 'invalid_parameter' }],
  ] as const) {
    const pieces = async function* () {
      for (const part of parts) {
        yield part;
        // Sent separately, and before the response.
        await new Promise(setImmediate);
      }
    };
    const { responses } = await sendAll(pieces());
    t.equal(statuses(responses), String(status), what);
    t.match(responses[0], { headers: { connection: 'close' }, body }, what);
  }
  t.equal(await countTasks(), before + 1);
});

t.test('an unknown Expect header is ignored', async (t) => {
  for (const expected of ['nonsense', '100-continued', '']) {
    const { responses } = await sendBytes(
      `GET /api/members/me HTTP/1.1\r\n${asAnna}\r\nExpect: ${expected}\r\n\r\n`,
      1,
    );
    t.match(responses[0]?.body, { externalUserId: 'anna' }, expected);
    const anonymous = await sendBytes(
      `POST /api/tasks HTTP/1.1\r\nHost: a\r\nExpect: ${expected}\r\n\r\n`,
      1,
    );
    t.match(anonymous.responses[0]?.body, { code: 'unauthenticated' }, expected);
  }
});

t.test('the error of a malformed message gives the cause', async (t) => {
  for (const [line, detail] of [
    ['patch /api/tasks HTTP/1.1', /PATCH, not patch/],
    ['GET /api/members?q=Jörg HTTP/1.1', /Percent-encode/],
    ['GET /livez HTTP/1.1\r\nno colon', /Check the request line/],
    ['GET /livez HTTP/2.0', /Send the request in HTTP\/1\.1\./],
  ] as const) {
    const { responses } = await sendAll(Buffer.from(`${line}\r\nHost: a\r\n\r\n`));
    t.match(responses[0], { status: 400, body: { code: 'invalid_parameter', detail } }, line);
  }
});

t.test('pipelined requests are answered in order, each for its own caller', async (t) => {
  const callers = [asAnna, asOtto, 'Host: a', asOtto, asAnna];
  const { responses } = await sendBytes(callers.map(who).join(''), 5);
  t.equal(statuses(responses), '200,200,401,200,200');
  const names = responses.map(({ body }) => body.externalUserId);
  t.same(names, ['anna', 'otto', undefined, 'otto', 'anna']);
  t.equal(new Set(responses.map(({ headers }) => headers['x-request-id'])).size, 5);
});

t.test('a request behind a response that closes its connection is not handled', async (t) => {
  const before = await countTasks();
  const { responses } = await sendAll(`${post('Content-Length: 1', '{')}${smuggled}`);
  t.equal(results(responses), 'malformed_json');
  t.equal(responses[0]?.headers.connection, 'close');
  // One that is handled in spite of it is ahead of a later one.
  t.equal(statuses((await sendBytes(who(asAnna), 1)).responses), '200');
  await untilIdle(service.database);
  t.equal(await countTasks(), before);
});

/** Resolves when the next request that arrives has been answered. */
const untilAnswered = () =>
  new Promise<void>((resolve) => {
    service.app.server.once('request', (_, response) => response.once('finish', resolve));
  });

t.test('a malformed message never changes the response to the complete request before it', async (t) => {
  for (const [what, malformed] of Object.entries({
    'a request line': 'FOO / HTTP/1.1\r\n\r\n',
    'a body': post('Transfer-Encoding: chunked', `zz\r\n${smuggled}`),
  })) {
    const later = async function* () {
      const end = untilAnswered();
      yield who(asAnna);
      await end;
      yield malformed;
    };
    const after = await sendAll(later());
    t.equal(statuses(after.responses), '200,400', `${what}, once the request was answered`);
    t.match(after.responses[0]?.body, { externalUserId: 'anna' });

    await withClient(service.db.adminUrl, async (holder) => {
      await holder.query('begin; lock table app.members in access exclusive mode');
      const held = await sendAll(who(asAnna) + malformed);
      t.equal(held.text, '', `${what}, while the request waits: the connection is closed without a response`);
      await holder.query('commit');
    });
  }
});

t.test('a body that becomes malformed after the response gets no second response', async (t) => {
  const refused = async function* () {
    const arrived = once(service.app.server, 'request');
    yield post('Transfer-Encoding: chunked', '', { caller: 'Host: a' });
    const [, response] = await arrived;
    // It is sent at once, and ends with the body.
    await until(() => response.headersSent, Boolean);
    yield 'zz\r\n';
  };
  t.equal(statuses((await sendAll(refused())).responses), '401');
});

t.test('a request with an absolute URL gets links to this service only', async (t) => {
  await admin.post('/api/tasks', { title: 'Another' });
  const get = (path: string) => sendBytes(`GET http://evil.example${path} HTTP/1.1\r\n${asAnna}\r\n\r\n`, 1);
  const [listed, missing] = [await get('/api/tasks?limit=1'), await get('/api/nothing')];
  t.match(listed.responses[0]?.headers.link, /^<\/api\/tasks\?limit=1&cursor=[\w-]+>; rel="next"$/);
  t.equal(missing.responses[0]?.body.instance, '/api/nothing');
  t.notMatch(listed.text + missing.text, /evil/, 'an absolute URL is not repeated');
});

t.test('after all of these the process serves as before', async (t) => {
  const { responses } = await sendBytes(post(`Connection: close\r\nContent-Length: ${BODY.length}`, BODY), 1);
  t.equal(statuses(responses), '201');
});
