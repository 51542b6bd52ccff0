import t from 'tap';
import { sendBytesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const sendBytes = await sendBytesTo(service.app);
const north = await service.db.makeClub('north');
const token = service.token({ sub: 'anna', clubs: { [north]: 'Admin' } });
const headers = `Host: a\r\nAuthorization: Bearer ${token}\r\nX-Tenant-Id: ${north}`;
const offer = `${headers}\r\nConnection: Upgrade\r\nUpgrade: h2c`;
const post = (lines: string, title: string) => {
  const body = JSON.stringify({ title });
  return `POST /api/tasks HTTP/1.1\r\n${lines}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

t.test('an Upgrade header is ignored, and nothing after it is read as a request', async (t) => {
  const get = `GET /api/members/me HTTP/1.1\r\n${offer}\r\n\r\n`;
  const smuggled = post(headers, 'Smuggled');
  const around = `POST /api/tasks HTTP/1.1\r\n${headers}\r\nContent-Length: ${smuggled.length}\r\n\r\n`;
  const wrong: unknown[] = [];
  for (const [what, parts, status, body] of [
    ['alone', [get], 200, { externalUserId: 'anna' }],
    ['with a request in the same piece', [get + smuggled], 200, { externalUserId: 'anna' }],
    ['with a request in the next piece', [get, smuggled], 200, { externalUserId: 'anna' }],
    ['with a request whose body is one', [get + around, smuggled], 200, { externalUserId: 'anna' }],
    ['with a body', [post(offer, 'Upgraded') + smuggled], 201, { title: 'Upgraded' }],
    ['at a path that is none', [`GET /% HTTP/1.1\r\n${offer}\r\n\r\n`], 400, { code: 'invalid_parameter' }],
  ] as const) {
    const pieces = async function* () {
      for (const part of parts) {
        yield part;
        // Sent separately, and before the answer.
        await new Promise(setImmediate);
      }
    };
    const { responses, text } = await sendBytes(pieces(), Number.POSITIVE_INFINITY);
    const [first] = responses;
    const isExpected = Object.entries(body).every(([name, value]) => first?.body[name] === value);
    const isClosed = first?.headers.connection === 'close';
    if (responses.length !== 1 || first?.status !== status || !isClosed || !isExpected) {
      wrong.push([what, text.slice(0, 300)]);
    }
  }
  t.same(wrong, []);
  t.same(await service.db.queryAsAdmin('select title from app.tasks'), [{ title: 'Upgraded' }]);
});
