import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { type Response, sendBytesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const { server } = service.app;
const asShipped = {
  headersMs: server.headersTimeout,
  requestMs: server.requestTimeout,
  checkMs: (server as unknown as { connectionsCheckingInterval: number }).connectionsCheckingInterval,
};
const HEADERS_MS = 500;
const REQUEST_MS = 900;
// The server's own settings; they take effect when it listens.
Object.assign(server, {
  headersTimeout: HEADERS_MS,
  requestTimeout: REQUEST_MS,
  connectionsCheckingInterval: 50,
});
const sendBytes = await sendBytesTo(service.app);
const club = await service.db.makeClub();
const anna = `Host: a\r\nAuthorization: Bearer ${service.token({ sub: 'anna', clubs: { [club]: 'Admin' } })}\r\nX-Tenant-Id: ${club}`;
const post = (lines: string, authorization = anna) =>
  `POST /api/tasks HTTP/1.1\r\n${authorization}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n`;
const who = `GET /api/members/me HTTP/1.1\r\n${anna}\r\n\r\n`;
const statuses = (responses: Response[]) => responses.map(({ status }) => status).join();

/** Long enough for a slow machine to answer a sender that exceeds a time-out. */
const PATIENCE_MS = 30 * REQUEST_MS;

/** An endless sender; it gives up after this time. */
async function* drip(head: string, part: string, everyMs = 20): AsyncGenerator<string> {
  yield head;
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(everyMs)) {
    yield part;
  }
}

const slow: Record<string, [head: string, part: string]> = {
  'silence': ['', ''],
  'a request line': ['GET /', 'a'],
  'headers': ['GET /livez HTTP/1.1\r\nHost: a\r\n', 'X-A: a\r\n'],
  'one header': ['GET /livez HTTP/1.1\r\nHost: a\r\nX-A: ', 'a'],
  'a body of a length': [post('Content-Length: 100000'), ' '],
  'chunks without an end': [post('Transfer-Encoding: chunked'), '1\r\n \r\n'],
  'one chunk': [`${post('Transfer-Encoding: chunked')}ffff\r\n`, ' '],
  'a chunk extension': [`${post('Transfer-Encoding: chunked')}1;a=`, 'a'],
  'trailers': [`${post('Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n`, 'X-A: a\r\n'],
}; // biome-ignore format: one a line

t.test('a sender that is too slow gets a 408 and is cut off, while all others are served', async (t) => {
  await sendBytes(who, 1);
  let isOver = false;
  const others = (async () => {
    const served: string[] = [];
    for (; !isOver; await sleep(50)) {
      served.push(statuses((await sendBytes(who, 1)).responses));
    }
    return served;
  })();
  const wrong: unknown[] = [];
  await Promise.all(
    Object.entries(slow).map(async ([what, [head, part]]) => {
      const began = Date.now();
      const { responses, text } = await sendBytes(drip(head, part), Number.POSITIVE_INFINITY);
      const ms = Date.now() - began;
      const [{ headers, body } = { headers: {} as Response['headers'], body: {} }] = responses;
      const { code, requestId } = body;
      const said = [statuses(responses), headers['content-type'], headers.connection, code].join();
      const isProblem = said === '408,application/problem+json,close,request_timeout';
      const isBody = head.startsWith('POST');
      const isInTime = ms >= (isBody ? REQUEST_MS : HEADERS_MS) && ms < PATIENCE_MS;
      if (!isProblem || !isInTime || requestId !== headers['x-request-id']) {
        wrong.push({ what, ms, text });
      }
    }),
  );
  isOver = true;
  const served = await others;
  t.same(wrong, []);
  t.ok(served.length > 0);
  t.same([...new Set(served)], ['200']);
  t.same(await service.db.queryAsAdmin('select from app.tasks'), []);
});

t.test(
  'a request has one answer: an early error, or the 408 of a body over the limit that is slow',
  async (t) => {
    const { responses } = await sendBytes(
      drip(post('Content-Length: 100000', 'Host: a'), ' '),
      Number.POSITIVE_INFINITY,
    );
    t.equal(statuses(responses), '401');
    const tooLarge = await sendBytes(
      drip(post('Content-Length: 1000000', 'Host: a'), ' '),
      Number.POSITIVE_INFINITY,
    );
    t.equal(statuses(tooLarge.responses), '408', 'the error of a body over the limit waits for its end');
  },
);

t.test('a connection may be idle between two requests', async (t) => {
  const twice = async function* () {
    yield who;
    await sleep(2 * REQUEST_MS);
    yield who;
  };
  t.equal(statuses((await sendBytes(twice(), 2)).responses), '200,200');
});

t.test('endless chunks are refused at the body limit, at any speed', async (t) => {
  // With the shorter times a slow machine reaches a time-out before the limit.
  Object.assign(server, { headersTimeout: asShipped.headersMs, requestTimeout: asShipped.requestMs });
  const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
  const { responses } = await sendBytes(
    drip(post('Transfer-Encoding: chunked'), chunk, 1),
    Number.POSITIVE_INFINITY,
  );
  t.equal(statuses(responses), '413');
});

t.test('by default a request has less than a minute to arrive', async (t) => {
  t.ok(asShipped.requestMs > 0 && asShipped.checkMs > 0);
  t.ok(
    asShipped.headersMs > 0 && asShipped.headersMs < asShipped.requestMs,
    'Node.js would swap them otherwise',
  );
  t.ok(asShipped.requestMs + asShipped.checkMs < 60_000);
});
