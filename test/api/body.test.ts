import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { endpoints, MISSING, pathOf, SHIFT } from '../setup/endpoints.js';
import { type Method, sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';

const LIMIT_BYTES = 128 * 1024;
const service = await startService(t);
const sendLines = await sendLinesTo(service.app);
const north = await service.db.makeClub('north');
const admin = service.as('anna', 'Admin', north);
const signedIn: [string, string][] = [
  ['authorization', `Bearer ${service.token({ sub: 'anna', clubs: { [north]: 'Admin' } })}`],
  ['x-tenant-id', north],
];
// A signup has no content, so its type is not checked.
const withBody = endpoints.filter(({ body, path }) => body !== undefined && !path.endsWith('/signup'));

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

t.test('a DELETE takes an empty body or none, and refuses a field instead of ignoring it', async (t) => {
  for (const [path, make] of [
    ['/api/tasks/:id', () => admin.post('/api/tasks', { title: 'Mow' })],
    ['/api/shifts/:id', () => admin.post('/api/shifts', SHIFT)],
    [
      '/api/shifts/:id/signup',
      async () => {
        const shift = await admin.post('/api/shifts', SHIFT);
        await admin.post(`/api/shifts/${shift.body.id}/signup`);
        return shift;
      },
    ],
  ] as const) {
    for (const [body, status] of [
      ['{"version":1}', 400],
      ['[]', 400],
      ['{}', 204],
    ] as const) {
      const target = path.replace(':id', (await make()).body.id);
      const answer = await service.send('DELETE', target, { headers: Object.fromEntries(signedIn), body });
      t.equal(answer.status, status, `${path} ${body}`);
      if (status === 400) {
        t.match(answer.body, { code: 'validation_failed' });
        t.equal((await admin.delete(target)).status, 204, 'nothing was deleted');
      }
    }
  }
});

t.test('a body of up to 128 KiB is read, and one byte more is a 413', async (t) => {
  t.equal((await post(padded(LIMIT_BYTES))).status, 201);
  const before = await counted();
  t.match(await post(padded(LIMIT_BYTES + 1)), { status: 413, body: { code: 'payload_too_large' } });
  t.equal(await counted(), before);
  for (const { method, path } of withBody) {
    const answer = await sendAs(
      'application/json',
      method,
      path.replace(':id', MISSING),
      padded(LIMIT_BYTES + 1),
    );
    t.match(answer, { status: 413, body: { code: 'payload_too_large' } }, `${method} ${path}`);
  }
});

/** The status that a client gets that sends its whole request before it reads. */
async function statusAfterSending(head: string[], body: string): Promise<string> {
  const { port } = service.app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1').pause();
  socket.write([...head, `Content-Length: ${body.length}`, '', body].join('\r\n'));
  await once(socket, 'drain');
  const [answer] = await once(socket.resume(), 'data', { signal: AbortSignal.timeout(10_000) });
  socket.destroy();
  return String(answer).slice('HTTP/1.1 '.length, 12);
}

t.test('the response to a large body reaches a client that sends all of it before it reads', async (t) => {
  const lines = signedIn.map(([name, value]) => `${name}: ${value}`);
  for (const [status, type, token] of [
    ['413', 'application/json', lines],
    ['415', 'text/plain', lines],
    ['401', 'application/json', []],
  ] as const) {
    for (const connection of ['keep-alive', 'close']) {
      const head = [
        'POST /api/tasks HTTP/1.1',
        'Host: a',
        `Connection: ${connection}`,
        `Content-Type: ${type}`,
      ];
      t.equal(await statusAfterSending([...head, ...token], padded(100 * LIMIT_BYTES)), status, connection);
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
  ];
  types.push('application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'json', 'application/*');
  for (const endpoint of withBody) {
    for (const type of [...types, undefined]) {
      const answer = await sendAs(type, endpoint.method, pathOf(endpoint), JSON.stringify(endpoint.body));
      const rule = `${endpoint.method} ${endpoint.path} as ${type}`;
      t.match(answer, { status: 415, body: { code: 'unsupported_media_type' } }, rule);
    }
  }
});

t.test(
  'an empty body counts as none, with any type; one byte with a type other than JSON is a 415',
  async (t) => {
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'json'];
    const wrong: unknown[] = [];
    for (const type of types) {
      for (const framing of ['content-length', 'transfer-encoding']) {
        // An unreadable type is refused before the length of the chunks is known.
        const isReadable = type.includes('/') || framing !== 'transfer-encoding';
        const shift = await admin.post('/api/shifts', SHIFT);
        const path = `/api/shifts/${shift.body.id}`;
        const send = (method: Method, to: string, body?: string) => {
          const chunked: [string, string][] = framing === 'transfer-encoding' ? [[framing, 'chunked']] : [];
          return sendLines(method, to, [...signedIn, ['content-type', type], ...chunked], body);
        };
        const said = [
          await send('POST', `${path}/signup`, '<a/>'),
          await send('DELETE', path, 'x'),
          await send('POST', `${path}/signup`, ''),
          await send('DELETE', `${path}/signup`, ''),
          await send('DELETE', path, ''),
          await send('POST', '/api/tasks', ''),
        ].map(({ status }) => status);
        const expected = isReadable ? [415, 415, 201, 204, 204, 400] : Array(6).fill(415);
        if (said.join() !== expected.join()) {
          wrong.push({ type, framing, said });
        }
      }
    }
    t.same(wrong, []);
    const task = await admin.post('/api/tasks', { title: 'Mow' });
    const unframed: [string, string][] = [...signedIn, ['content-type', 'text/plain']];
    t.equal(
      (await sendLines('DELETE', `/api/tasks/${task.body.id}`, unframed)).status,
      204,
      'no length, no chunks',
    );
  },
);

t.test('a JSON type may be in any letter case, with a charset; merge patch is for PATCH only', async (t) => {
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ]) {
    t.equal((await sendAs(type, 'POST', '/api/tasks', '{"title":"Mow"}')).status, 201, type);
  }
  for (const { method, path, answer, body } of withBody) {
    for (const type of ['application/merge-patch+json', 'Application/Merge-Patch+JSON; charset=utf-8']) {
      const { body: problem } = await sendAs(
        type,
        method,
        path.replace(':id', MISSING),
        JSON.stringify(body),
      );
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

t.test('a body that is not JSON in UTF-8 is a 400, and nothing is stored', async (t) => {
  const before = await counted();
  for (const text of [
    '{', '{"title":"Mow"', '{"title":"Mow",}', "{'title':'Mow'}", '{title:"Mow"}', '{"title":"Mow"} x', '{"title":"Mow"}{}',
    '{"title":NaN}', '{"title":undefined}', '{"title":"a\nb"}', '{"title":"\\x"}', '// {"title":"Mow"}', 'Mow', ' ',
    '[', '['.repeat(100_000),
  ]) {
    t.match(await post(text), { status: 400, body: { code: 'malformed_json' } }, text.slice(0, 20));
  } // biome-ignore format: a list
  for (const bytes of [
    [0xff],
    [0xc3],
    [0xc3, 0x28],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
  ]) {
    const body = Buffer.concat([Buffer.from('{"title":"a'), Buffer.from(bytes), Buffer.from('b"}')]);
    t.match(await post(body), { status: 400, body: { code: 'malformed_json' } }, body.toString('hex'));
  }
  t.equal(await counted(), before);
});

t.test('text in UTF-8 is returned as sent', async (t) => {
  for (const title of [
    'Mähen',
    '草刈り',
    '😀 mow',
    'e\u0301',
    '\ufeffMow\ufeff'.trim(),
    "Robert'); drop table tasks;--",
  ]) {
    t.match(await post(JSON.stringify({ title })), { status: 201, body: { title } }, title);
  }
});

t.test('JSON that is not an object, or has unknown fields, is a 400 that points at the fault', async (t) => {
  for (const text of ['null', '[]', '[{"title":"Mow"}]', '5', '"Mow"', 'true', '']) {
    const refused = {
      status: 400,
      body: {
        code: 'validation_failed',
        errors: [{ pointer: '', detail: 'The body must be a JSON object.' }],
      },
    };
    t.match(await post(text), refused, text);
  }
  for (const name of [
    'nonsense',
    '__proto__',
    'constructor',
    'toString',
    'Title',
    'id',
    'clubId',
    'tenant_id',
    '',
  ]) {
    const answer = await post(`{"title":"Mow","${name}":{}}`);
    const errors = answer.body.errors?.map(({ pointer }: { pointer: string }) => pointer);
    t.same([answer.status, answer.body.code, errors], [400, 'validation_failed', [`/${name}`]], name);
  }
  const escaped = await post('{"title":"Mow","a/b~c":1}');
  t.equal(escaped.body.errors[0].pointer, '/a~1b~0c');
});

t.test('all faults of a body are reported at once', async (t) => {
  const answer = await sendAs(
    'application/json',
    'POST',
    '/api/shifts',
    '{"title":"","capacity":"5","startsAt":null,"x":1}',
  );
  const pointers = answer.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort();
  t.same(pointers, ['/capacity', '/endsAt', '/startsAt', '/title', '/x']);
  for (const { code, detail } of answer.body.errors) {
    t.ok(/^[a-z_]+$/.test(code) && detail !== '');
  }
  const capacity = answer.body.errors.find(({ pointer }: { pointer: string }) => pointer === '/capacity');
  t.equal(capacity.detail, 'This must be an integer.');
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
