import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { endpoints, operationOf, pathOf, SHIFT } from '../setup/endpoints.js';
import { type Method, sendBytesTo, sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { HANG_MS } from '../setup/wait.js';

const LIMIT_BYTES = 128 * 1024;
const service = await startService(t);
const sendLines = await sendLinesTo(service.app);
const sendBytes = await sendBytesTo(service.app);
const north = await service.db.makeClub('north');
const admin = service.as('anna', 'Admin', north);
const signedIn: [string, string][] = [
  ['authorization', `Bearer ${service.token({ sub: 'anna', clubs: { [north]: 'Admin' } })}`],
  ['x-tenant-id', north],
];
// The type of a body without content, such as that of a signup, is not checked.
const withBody = endpoints.filter((endpoint) => operationOf(endpoint).requestBody?.required === true);

const sendAs = (type: string | undefined, method: Method, path: string, body: string | Buffer) =>
  sendLines(
    method,
    path,
    [...signedIn, ...(type === undefined ? [] : [['content-type', type] as [string, string]])],
    body,
  );
const post = (body: string | Buffer) => sendAs('application/json', 'POST', '/api/tasks', body);
const padded = (bytes: number) => '{"title":"Mow"}'.padEnd(bytes, ' ');
const counted = async () => (await service.db.queryAsAdmin('select from app.tasks')).length;

t.test('a body of up to 128 KiB is read, and one byte more is a 413', async (t) => {
  t.equal((await post(padded(LIMIT_BYTES))).status, 201);
  const before = await counted();
  t.match(await post(padded(LIMIT_BYTES + 1)), { status: 413, body: { code: 'payload_too_large' } });
  t.equal(await counted(), before);
  for (const endpoint of withBody) {
    const { method, path } = endpoint;
    const answer = await sendAs('application/json', method, pathOf(endpoint), padded(LIMIT_BYTES + 1));
    t.match(answer, { status: 413, body: { code: 'payload_too_large' } }, `${method} ${path}`);
  }
});

/** The status that a client gets that sends its whole request, in two parts, before it reads. */
async function statusAfterSending(head: string[], body: string): Promise<string> {
  const { port } = service.app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1').pause();
  const half = body.length / 2;
  socket.write([...head, `Content-Length: ${body.length}`, '', body.slice(0, half)].join('\r\n'));
  // A response that is late on a slow machine is read at the end too.
  await sleep(50);
  await new Promise((resolve) => socket.write(body.slice(half), resolve));
  await sleep(50);
  const [answer] = await once(socket.resume(), 'data', { signal: AbortSignal.timeout(HANG_MS) });
  socket.destroy();
  return String(answer).slice('HTTP/1.1 '.length, 12);
}

/** Responses that do not depend on the body, with their requests. */
const early = (
  [
    [413, 'POST /api/tasks', 'application/json', signedIn],
    [415, 'POST /api/tasks', 'text/plain', signedIn],
    [401, 'POST /api/tasks', 'application/json', []],
    [404, 'POST /api/nothing', 'application/json', []],
    [405, 'PATCH /api/tasks', 'application/json', []],
    [400, 'POST /api/%zz', 'application/json', []],
    [200, 'GET /livez', 'application/json', []],
  ] as const
).map(([status, line, type, token]) => ({
  status,
  head: [
    `${line} HTTP/1.1`,
    'Host: a',
    `Content-Type: ${type}`,
    ...token.map(([name, value]) => `${name}: ${value}`),
  ],
}));

t.test('an early response reaches a client that sends the whole body before it reads', async (t) => {
  for (const { status, head } of early) {
    for (const connection of ['keep-alive', 'close']) {
      // A body within the limit is not a 413.
      for (const bytes of status === 413 ? [100 * LIMIT_BYTES] : [100_000, 100 * LIMIT_BYTES]) {
        const lines = [...head, `Connection: ${connection}`];
        const seen = await statusAfterSending(lines, padded(bytes)).catch(String);
        t.equal(seen, String(status), `${head[0]}, ${connection}, ${bytes} bytes`);
      }
    }
  }
});

t.test('a response does not wait for a body that it does not depend on', async (t) => {
  for (const { status, head } of early) {
    const { responses } = await sendBytes([...head, 'Content-Length: 2000000', '', ''].join('\r\n'), 1);
    t.match(responses, [{ status, headers: { connection: 'close' } }], String(head[0]));
  }
  const head = ['HEAD /api/nothing HTTP/1.1', 'Host: a', 'Content-Length: 2000000', '', ''];
  t.match((await sendBytes(head.join('\r\n'), 1)).responses, [{ status: 404 }], 'HEAD');
});

/** Sends a body without an end; returns the status, and how many bytes were sent when the service closed the connection. */
async function sendEndlessly(head: string[], piece: string): Promise<{ status: string; sent: number }> {
  const { port } = service.app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (part) => {
    received += part;
  });
  socket.write([...head, '', ''].join('\r\n'));
  const endless = Readable.from(
    (function* () {
      for (;;) {
        yield piece;
      }
    })(),
  );
  await pipeline(endless, socket).catch(() => {});
  return { status: received.slice('HTTP/1.1 '.length, 12), sent: socket.bytesWritten };
}

t.test('of a body that a response does not depend on, some 64 MiB are read', async (t) => {
  const piece = ' '.repeat(1024 * 1024);
  for (const { status, head } of early) {
    for (const [framing, bytes] of [
      ['Content-Length: 9000000000', piece],
      ['Transfer-Encoding: chunked', `${piece.length.toString(16)}\r\n${piece}\r\n`],
    ] as const) {
      const response = await sendEndlessly([...head, framing], bytes);
      t.equal(response.status, String(status), `${head[0]} with ${framing}`);
      // The buffers of the sockets have further bytes.
      t.ok(response.sent < 100 * piece.length, `${response.sent} bytes`);
    }
  }
});

t.test('a body without Content-Length is counted while it arrives', async (t) => {
  const lines: [string, string][] = [...signedIn, ['content-type', 'application/json']];
  const chunked = (bytes: number) =>
    sendLines('POST', '/api/tasks', [...lines, ['transfer-encoding', 'chunked']], padded(bytes));
  t.equal((await chunked(LIMIT_BYTES)).status, 201);
  t.match(await chunked(LIMIT_BYTES + 1), { status: 413, body: { code: 'payload_too_large' } });
});

t.test('a body without a JSON content type is a 415', async (t) => {
  const types = [
    'text/plain',
    'application/xml',
    'application/jsonx',
    'text/json',
    'application/problem+json',
    'application/json-patch+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'json',
    'application/*',
    undefined,
  ];
  for (const endpoint of withBody) {
    for (const type of types) {
      const response = await sendAs(type, endpoint.method, pathOf(endpoint), JSON.stringify(endpoint.body));
      const refused = { status: 415, body: { code: 'unsupported_media_type' } };
      t.match(response, refused, `${endpoint.method} ${endpoint.path} as ${type}`);
    }
  }
});

t.test('an empty body counts as none, with any type; one byte of another type is a 415', async (t) => {
  const task = `/api/tasks/${(await admin.post('/api/tasks', { title: 'Mow' })).body.id}`;
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'json']) {
    for (const framing of ['content-length', 'transfer-encoding']) {
      const shift = `/api/shifts/${(await admin.post('/api/shifts', SHIFT)).body.id}`;
      const chunked: [string, string][] = framing === 'transfer-encoding' ? [[framing, 'chunked']] : [];
      const send = async (method: Method, path: string, body: string) =>
        (await sendLines(method, path, [...signedIn, ['content-type', type], ...chunked], body)).status;
      const statuses = [
        await send('POST', `${shift}/signup`, '<a/>'),
        await send('DELETE', shift, 'x'),
        await send('POST', `${shift}/signup`, ''),
        await send('DELETE', `${shift}/signup`, ''),
        await send('DELETE', shift, ''),
        await send('POST', '/api/tasks', ''),
      ];
      // An unreadable type is refused before the length of the chunks is known.
      const isReadable = type !== 'json' || framing === 'content-length';
      const expected = isReadable ? [415, 415, 201, 204, 204, 400] : Array(6).fill(415);
      t.same(statuses, expected, `${type} with ${framing}`);
    }
  }
  const unframed: [string, string][] = [...signedIn, ['content-type', 'text/plain']];
  t.equal((await sendLines('DELETE', task, unframed)).status, 204, 'no length, no chunks');
});

t.test('a JSON type may be in any letter case, with a charset; merge patch is for PATCH only', async (t) => {
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ]) {
    t.equal((await sendAs(type, 'POST', '/api/tasks', '{"title":"Mow"}')).status, 201, type);
  }
  for (const endpoint of withBody) {
    const { method, path, answer, body } = endpoint;
    for (const type of ['application/merge-patch+json', 'Application/Merge-Patch+JSON; charset=utf-8']) {
      const { body: problem } = await sendAs(type, method, pathOf(endpoint), JSON.stringify(body));
      t.equal(problem.code, method === 'PATCH' ? answer : 'unsupported_media_type', `${method} ${path}`);
    }
  }
});

t.test('a byte order mark at the start of a body is ignored, anywhere else it is an error', async (t) => {
  t.match(await post('\ufeff{"title":"Mow"}'), { status: 201, body: { title: 'Mow' } });
  for (const text of ['\ufeff\ufeff{"title":"Mow"}', '{\ufeff"title":"Mow"}', '{"title":"Mow"}\ufeff']) {
    t.match(await post(text), { status: 400, body: { code: 'malformed_json' } });
  }
});

/** A response may repeat what was sent, and little else. */
const LONGEST_RESPONSE = 300_000;

/** Sends a document to every endpoint that reads a body; returns the wrong responses. */
async function sendToAll(document: string | Buffer, codes: string[]): Promise<unknown[]> {
  const wrong: unknown[] = [];
  for (const endpoint of endpoints.filter(({ body }) => body !== undefined)) {
    const { status, body, text } = await sendAs(
      'application/json',
      endpoint.method,
      pathOf(endpoint),
      document,
    );
    const isRefused = status === 400 && codes.includes(body.code);
    const isInternal = /\n\s+at |RangeError|Maximum call|position \d|Unexpected token/.test(text);
    if (!isRefused || isInternal || text.length > LONGEST_RESPONSE) {
      wrong.push({ endpoint, text: text.slice(0, 500), length: text.length });
    }
  }
  return wrong;
}

t.test('a body that is not JSON in UTF-8 is malformed, and nothing is stored', async (t) => {
  const good = '{"title":"Mow"}';
  const swapped = Buffer.from(good, 'utf16le').swap16();
  const notUtf8 = [[0xff], [0xc3], [0xc3, 0x28], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]];
  const before = await counted();
  for (const document of [
    '{', '{"title":"Mow"', '{"title":"Mow",}', "{'title':'Mow'}", '{title:"Mow"}', '{"title":"Mow"} x', `${good}{}`,
    `${good}\n${good}`, '{"title":NaN}', '{"title":undefined}', '{"title":"a\nb"}', '{"title":"\\x"}', 'Mow', ' ', '[',
    '['.repeat(100_000), '# Mow', 'title: Mow', 'title=Mow', '<task/>', `)]}',\n${good}`, `\u00a0${good}`,
    `// ${good}`, `// Mow\n${good}`, `/* Mow */${good}`, '{"title":"Mow" /* it */}', `${good} // it`, `${good}\u0000`,
    Buffer.from(good, 'utf16le'), Buffer.from(`\ufeff${good}`, 'utf16le'), swapped, Buffer.concat([Buffer.from([0xfe, 0xff]), swapped]), Buffer.from([0x1f, 0x8b, 8, 0]), Buffer.alloc(4),
    ...notUtf8.map((bytes) => Buffer.concat([Buffer.from('{"title":"a'), Buffer.from(bytes), Buffer.from('b"}')])),
  ]) {
    t.same(await sendToAll(document, ['malformed_json']), [], String(document).slice(0, 40));
  } // biome-ignore format: a list
  t.equal(await counted(), before);
});

t.test('a document of any depth is refused, in bounded time', async (t) => {
  const arrays = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const objects = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  for (const deep of [
    arrays,
    objects,
    `{"title":${arrays}}`,
    `{"title":${objects}}`,
    `{"title":"a","nonsense":${arrays}}`,
    `{"__proto__":${objects}}`,
    '['.repeat(120_000),
    '{"a":'.repeat(20_000),
  ]) {
    // The engine decides how deep JSON can be parsed; deeper JSON is malformed.
    t.same(await sendToAll(deep, ['validation_failed', 'malformed_json']), [], deep.slice(0, 40));
  }
});

t.test('a document of any breadth is refused, in bounded time and at bounded length', async (t) => {
  const many = (count: number, member: (index: number) => string) =>
    `{${Array.from({ length: count }, (_, index) => member(index)).join()}}`;
  for (const wide of [
    `[${'1,'.repeat(60_000)}1]`,
    `{"title":[${'0,'.repeat(60_000)}0]}`,
    `{"title":[${'{},'.repeat(40_000)}{}]}`,
    many(10_000, (index) => `"f${index}":1`),
    many(15_000, (index) => `"${index.toString(36)}":0`),
    many(1_000, (index) => `"${'~/'.repeat(50)}${index}":0`),
    `{"${'k'.repeat(130_000)}":1}`,
    `{"${'~/'.repeat(65_000)}":1}`,
    `{"title":"${' '.repeat(130_000)}"}`,
    `{"title":"${' a'.repeat(65_000)}"}`,
    `{"dueAt":"${'2'.repeat(130_000)}"}`,
    `{"dueAt":"2026-05-01T18:00:00.${'1'.repeat(130_000)}"}`,
    `{"startsAt":"2026-05-01T18:00:00.${'1'.repeat(60_000)}","endsAt":"${'-'.repeat(60_000)}"}`,
    `{"assigneeId":"${'0-'.repeat(65_000)}"}`,
    `{"title":"${'\\ud800'.repeat(20_000)}"}`,
    `{"shifts":[${'{},'.repeat(40_000)}{}]}`,
  ]) {
    t.same(await sendToAll(wide, ['validation_failed']), [], wide.slice(0, 40));
  }
});

t.test('an empty Content-Type counts as none: a 415 with a body, ignored without one', async (t) => {
  for (const [path, body, status] of [
    ['/api/tasks', '{"title":"Mow"}', 415],
    ['/api/tasks', '', 400],
  ] as const) {
    const reply = await sendLines('POST', path, [...signedIn, ['content-type', '']], body);
    t.equal(reply.status, status, `${body}`);
  }
});

t.test('a body with a Content-Encoding is a 415, with any content; identity counts as none', async (t) => {
  const text = '{"title":"Mow"}';
  for (const [coding, body, status] of [
    ['gzip', gzipSync(text), 415],
    ['br', text, 415],
    ['gzip, identity', text, 415],
    ['identity', text, 201],
    ['Identity', text, 201],
  ] as const) {
    const lines: [string, string][] = [...signedIn, ['content-type', 'application/json']];
    const answer = await sendLines('POST', '/api/tasks', [...lines, ['content-encoding', coding]], body);
    t.equal(answer.status, status, coding);
  }
});
