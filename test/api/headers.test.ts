import t from 'tap';
import { type Response, sendBytesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const sendBytes = await sendBytesTo(service.app);
const north = await service.db.makeClub('north');
const token = service.token({ sub: 'anna', clubs: { [north]: 'Admin' } });
const anna = service.as('anna', 'Admin', north);
const task = (await anna.post('/api/tasks', { title: 'Mow' })).body.id;
const headers = `Host: a\r\nAuthorization: Bearer ${token}\r\nX-Tenant-Id: ${north}`;
const body = '{"title":"Sweep"}';
const sized = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
const behind = `POST /api/tasks HTTP/1.1\r\n${headers}\r\n${sized}\r\n${body}`;
const titles = () => service.db.queryAsAdmin('select title from app.tasks');

/** The code and faulty headers of each answer; its status when it has no code. */
const codesOf = (responses: Response[]) =>
  responses.map(({ status, body }) => {
    const problem = status < 400 ? {} : body;
    const named = (problem.errors ?? []).map(({ header }: { header?: string }) => header);
    return [problem.code ?? status, ...named].join(' ');
  });

t.test('a header counts after any number of other header lines', async (t) => {
  const wrong: unknown[] = [];
  const patch = `PATCH /api/tasks/${task} HTTP/1.1\r\n${headers}\r\n${sized}`;
  for (const [first, last, expected, content = ''] of [
    [`GET /api/tasks HTTP/1.1\r\n${headers}\r\n`, '', '200'],
    [`GET /api/tasks HTTP/1.1\r\n${headers}\r\n`, `X-Tenant-Id: ${north}`, 'tenant_header_invalid'],
    [`GET /api/tasks HTTP/1.1\r\n${headers}\r\n`, 'Authorization: Bearer x', 'invalid_token'],
    [`GET /api/tasks HTTP/1.1\r\n${headers}\r\n`, 'Host: b', 'invalid_parameter Host'],
    [`GET /api/tasks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n`, `X-Tenant-Id: ${north}`, '200'],
    [patch, 'If-Match: "77"', 'precondition_failed', body],
  ] as const) {
    for (const count of [0, 990, 1_000, 1_100, 2_000, 3_500]) {
      const lines = `${'a:\r\n'.repeat(count)}${last}${last === '' ? '' : '\r\n'}`;
      const { responses } = await sendBytes(`${first}${lines}Connection: close\r\n\r\n${content}`, 1);
      if (codesOf(responses).join() !== expected) {
        wrong.push([last.split(':')[0], count, ...codesOf(responses)]);
      }
    }
  } // biome-ignore format: a case a line
  t.same(wrong, []);
  t.same(await titles(), [{ title: 'Mow' }]);
});

t.test('a body has a length or plain chunks; after any other body nothing is read', async (t) => {
  const wrong: unknown[] = [];
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const post = (version: string, lines: string, content = chunks) =>
    `POST /api/tasks HTTP/${version}\r\n${headers}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n${content}`;
  for (const [version, lines, content] of [
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
    const { responses, text } = await sendBytes(
      `${post(version, lines, content)}${behind}`,
      Number.POSITIVE_INFINITY,
    );
    const isClosed = responses[0]?.headers.connection === 'close';
    if (!/^invalid_parameter( Transfer-Encoding)?$/.test(codesOf(responses).join()) || !isClosed) {
      wrong.push([version, lines, text.slice(0, 300)]);
    }
  }
  t.same(wrong, []);
  t.same(await titles(), [{ title: 'Mow' }], 'and nothing is created');
  const plain = await sendBytes(`${post('1.1', 'Transfer-Encoding: Chunked')}${behind}`, 2);
  t.same(codesOf(plain.responses), ['201', '201'], 'in any letter case');
  t.equal((await titles()).length, 3);
});

t.test('after a message without a Host header, or with two, nothing is read', async (t) => {
  const before = (await titles()).length;
  for (const hosts of ['', 'Host: a\r\nHost: b\r\n']) {
    const { responses } = await sendBytes(
      `GET /livez HTTP/1.1\r\n${hosts}\r\n${behind}`,
      Number.POSITIVE_INFINITY,
    );
    t.same(codesOf(responses), ['invalid_parameter Host']);
  }
  t.equal((await titles()).length, before);
});

t.test('a body with two content types is a 415', async (t) => {
  const before = (await titles()).length;
  const json = 'application/json';
  for (const [first, second] of [
    [json, 'text/plain'],
    ['text/plain', json],
    [json, json],
    [json, ''],
  ]) {
    const lines = `Content-Type: ${first}\r\ncontent-type: ${second}\r\nContent-Length: ${body.length}`;
    const { responses } = await sendBytes(
      `POST /api/tasks HTTP/1.1\r\n${headers}\r\n${lines}\r\n\r\n${body}`,
      1,
    );
    t.same(codesOf(responses), ['unsupported_media_type'], `${first} and ${second}`);
  }
  t.equal((await titles()).length, before);
});
