import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { freePort } from '../setup/free-port.js';
import { AUDIENCE } from '../setup/issuer.js';
import { type Connection, listen, openConnection, type Response, sendBytesTo } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';
import { until } from '../setup/wait.js';

const service = await startService(t);
const { server } = service.app;
const asShipped = {
  headersMs: server.headersTimeout,
  requestMs: server.requestTimeout,
  checkMs: (server as unknown as { connectionsCheckingInterval: number }).connectionsCheckingInterval,
};
// Long enough that a request which is sent at once arrives in time on a slow machine too.
const HEADERS_MS = 2_000;
const REQUEST_MS = 3_000;
// The server's own settings; they take effect when it listens.
Object.assign(server, {
  headersTimeout: HEADERS_MS,
  requestTimeout: REQUEST_MS,
  connectionsCheckingInterval: 50,
});
const sendBytes = await sendBytesTo(service.app);
const club = await service.db.makeClub();
const signedIn = {
  authorization: `Bearer ${service.token({ sub: 'anna', clubs: { [club]: 'Admin' } })}`,
  'x-tenant-id': club,
};
const anna = `Host: a\r\nAuthorization: ${signedIn.authorization}\r\nX-Tenant-Id: ${club}`;
const post = (lines: string, caller = anna) =>
  `POST /api/tasks HTTP/1.1\r\n${caller}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n`;
const who = `GET /api/members/me HTTP/1.1\r\n${anna}\r\n\r\n`;
const statuses = (responses: Response[]) => responses.map(({ status }) => status).join();
/** Sends bytes until the service closes the connection. */
const sendAll = (bytes: Parameters<typeof sendBytes>[0]) => sendBytes(bytes, Number.POSITIVE_INFINITY);

/** A sender that never ends its request. It ends when the service has closed the connection. */
async function* drip(head: string, part: string, everyMs = 20): AsyncGenerator<string> {
  yield head;
  for (;;) {
    yield part;
    await sleep(everyMs);
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
  await Promise.all(
    Object.entries(slow).map(async ([what, [head, part]]) => {
      const { responses } = await sendAll(drip(head, part));
      t.equal(statuses(responses), '408', what);
      const { headers, body } = responses[0] as Response;
      t.match(headers, { 'content-type': 'application/problem+json', connection: 'close' }, what);
      t.match(body, { code: 'request_timeout', requestId: headers['x-request-id'] }, what);
    }),
  );
  isOver = true;
  t.same([...new Set(await others)], ['200']);
  t.same(await service.db.queryAsAdmin('select from app.tasks'), []);
});

t.test('a slow body has one response: an error that does not depend on it, of any length', async (t) => {
  for (const length of [100_000, 1_000_000]) {
    const early = await sendAll(drip(post(`Content-Length: ${length}`, 'Host: a'), ' '));
    t.equal(statuses(early.responses), '401', String(length));
  }
});

t.test('a connection may be idle between two requests', async (t) => {
  const twice = async function* () {
    yield who;
    // Meanwhile a sender that is too slow is cut off.
    const { responses } = await sendAll(drip(...(slow['one chunk'] as [string, string])));
    t.equal(statuses(responses), '408');
    yield who;
  };
  t.equal(statuses((await sendBytes(twice(), 2)).responses), '200,200');
});

t.test('endless chunks are refused at the body limit, at any speed', async (t) => {
  // With the shorter times a slow machine reaches a time-out before the limit.
  Object.assign(server, { headersTimeout: asShipped.headersMs, requestTimeout: asShipped.requestMs });
  const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
  const { responses } = await sendAll(drip(post('Transfer-Encoding: chunked'), chunk, 1));
  t.equal(statuses(responses), '413');
});

t.test('by default a request has less than a minute to arrive', async (t) => {
  const { headersMs, requestMs, checkMs } = asShipped;
  // Node.js would swap the two otherwise.
  t.ok(headersMs > 0 && headersMs < requestMs);
  t.ok(checkMs > 0 && requestMs + checkMs < 60_000);
});

t.test('of pipelined requests at most sixteen wait; one more closes the connection', async (t) => {
  const live = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n';
  const within = await sendBytes(live.repeat(17), 17);
  t.equal(statuses(within.responses), Array(17).fill(200).join());
  const beyond = await sendAll(live.repeat(2_000));
  t.ok(beyond.responses.length < 2_000);
  t.ok(beyond.responses.every(({ status }) => status === 200));
  t.equal((await service.send('GET', '/livez')).status, 200);
});

/** The status of a response, or the code of the error. */
const statusOf = ({ send }: Connection): Promise<number | string> =>
  send('GET', '/readyz').then(
    ({ status }) => status,
    ({ code }) => code,
  );

t.test(
  'a connection over the limit is dropped and logged, the open ones continue, and a closed one frees its place',
  async (t) => {
    const max = 3;
    const lines: string[] = [];
    const { app, audit } = await buildApp({
      config: readServerConfig(
        {
          NODE_ENV: 'test',
          DATABASE_URL: service.db.url,
          AUTH_ISSUER: service.issuer.url,
          AUTH_AUDIENCE: AUDIENCE,
          MAX_CONNECTIONS: String(max),
        },
        {},
      ),
      database: service.database,
      logger: pino({ level: 'warn' }, { write: (line: string) => lines.push(line) }),
      auditTimes: null,
    });
    t.teardown(() => app.close());
    const origin = await listen(app);
    await runAudit({ audit });
    // On a slow machine the first audit can exceed its time limit, which is logged.
    lines.length = 0;

    const open = (count: number) => Array.from({ length: count }, () => openConnection(origin));
    const inside = open(max);
    t.same(await Promise.all(inside.map(statusOf)), [200, 200, 200]);
    const beyond = open(20);
    for (let round = 0; round < 3; round += 1) {
      t.same([...new Set(await Promise.all(beyond.map(statusOf)))], ['ECONNRESET']);
      t.same(await Promise.all(inside.map(statusOf)), [200, 200, 200], 'on the same connections');
    }
    inside.pop()?.close();
    const [late, another] = open(2) as [Connection, Connection];
    const status = await until(
      () => statusOf(late),
      (result) => result === 200,
    );
    t.equal(status, 200);
    t.equal(await statusOf(another), 'ECONNRESET', 'full again');
    for (const connection of [...inside, late]) {
      connection.close();
    }
    t.equal(lines.length, 1, 'many dropped connections are one line of the log');
    t.match(JSON.parse(lines[0] ?? ''), {
      level: 40,
      dropped: 1,
      max,
      ip: '127.0.0.1',
      msg: /MAX_CONNECTIONS/,
    });
  },
);

/** Just enough to load the program. */
const DESCRIPTORS = 300;

/** Starts the shipped process with few descriptors. */
function startWithFewDescriptors(t: Test, port: number): ChildProcess {
  const child = spawn(
    'sh',
    ['-c', `ulimit -n ${DESCRIPTORS} && exec "$0" dist/server.js`, process.execPath],
    {
      env: {
        PATH: process.env.PATH,
        PORT: String(port),
        LOG_LEVEL: 'silent',
        DATABASE_URL: service.db.url,
        AUTH_ISSUER: service.issuer.url,
        AUTH_AUDIENCE: AUDIENCE,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  t.teardown(async () => {
    if (child.kill('SIGKILL')) {
      await once(child, 'exit');
    }
  });
  return child;
}

t.test('without free file descriptors, only requests that need one are a 503', async (t) => {
  const port = await freePort();
  const child = startWithFewDescriptors(t, port);
  const connection = openConnection(`http://127.0.0.1:${port}`);
  t.teardown(() => connection.close());
  const get = (path: string) => connection.send('GET', path, { headers: signedIn });
  const statusAt = (path: string) =>
    get(path).then(
      ({ status }) => status,
      () => undefined,
    );
  const open = () =>
    Array.from({ length: DESCRIPTORS }, () => connect(port, '127.0.0.1').on('error', () => {}));

  await until(
    () => statusAt('/readyz'),
    (status) => status === 200 || child.exitCode !== null,
    { everyMs: 50 },
  );
  t.equal(await statusAt('/api/tasks'), 200);

  const clients = open();
  // Where the system lists the descriptors of a process, until all of them are in use.
  const descriptors = () =>
    readdir(`/proc/${child.pid}/fd`).then(
      ({ length }) => length,
      () => DESCRIPTORS,
    );
  await until(descriptors, (count) => count >= DESCRIPTORS);
  t.equal(await statusAt('/api/tasks'), 200, 'an open connection to the database keeps working');
  t.equal(await statusAt('/docs/swagger-ui-bundle.js'), 200, 'the files of /docs were read at the start');
  // Again and again: the descriptor of the lost connection goes to a client or to the service's next connection.
  const refused = await until(
    async () => {
      await service.db.queryAsAdmin(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where usename = 'club_api' and datname = current_database()`,
      );
      clients.push(...open());
      return get('/api/tasks');
    },
    ({ status }) => status === 503,
    { everyMs: 100 },
  );
  t.match(refused, {
    status: 503,
    body: { code: 'service_unavailable' },
    headers: { 'retry-after': '1', 'cache-control': 'private, no-cache' },
  });
  for (const client of clients) {
    client.destroy();
  }
  const status = await until(
    () => statusAt('/api/tasks'),
    (seen) => seen === 200,
  );
  t.equal(status, 200, 'afterwards every request is answered');
  t.equal(child.exitCode, null);
});
