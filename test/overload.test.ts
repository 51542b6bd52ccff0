import { connect, type Socket } from 'node:net';
import t from 'tap';
import { SECURITY_HEADERS } from '../src/http/security-headers.js';
import { inFlood } from './setup/flood.js';
import { freePort } from './setup/free-port.js';
import { startService } from './setup/service.js';
import { tally } from './setup/shifts.js';

const port = await freePort();
const written: string[] = [];
const service = await startService(t, { metrics: { host: '127.0.0.1', port } }, undefined, {
  write: (line: string) => void written.push(line),
});
await service.app.audit.run();
const [north, south] = [await service.db.makeClub('north'), await service.db.makeClub('south')];
const flooder = service.as('anna', 'Member', north);
const other = service.as('ben', 'Member', north);
const neighbour = service.as('cleo', 'Member', south);
await Promise.all([flooder, other, neighbour].map((person) => person.get('/api/tasks')));
const origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
const token = await service.token({ sub: 'anna', name: 'anna', clubs: { [north]: 'Member' } });

/** Asks as the flooder does, over a socket: inject passes the load shedder by. */
async function ask(headers: Record<string, string> = {}, path = '/api/tasks?limit=1') {
  const answer = await fetch(origin + path, {
    headers: { authorization: `Bearer ${token}`, 'x-tenant-id': north, ...headers },
  });
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: (await answer.json()) as Record<string, unknown>,
  };
}

/** Requests rejected before routing so far. */
async function countShed(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^club_http_requests_shed_total (\d+)$/m.exec(text)?.[1]);
}

t.test(
  'while the queue of a club is full, who was rejected is rejected before routing, and nobody else is',
  async (t) => {
    let quiet: ReturnType<typeof neighbour.get> | undefined;
    const answers = await inFlood(service.db, flooder, async (early) => {
      t.match(early, {
        status: 503,
        headers: { 'retry-after': '1' },
        body: { code: 'service_unavailable', detail: /More is asked for in this club/ },
      });

      const before = await countShed();
      const first = await ask();
      t.equal(first.status, 503, 'this token is rejected by the queue');
      t.equal(await countShed(), before);
      const again = await ask();
      t.equal(await countShed(), before + 1, 'and then before routing');
      t.equal(again.body.instance, '/api/tasks');
      t.equal(again.headers['x-request-id'], again.body.requestId);
      const same = ({ headers, body }: typeof again) => [
        { ...body, requestId: '', instance: '' },
        ['content-type', 'retry-after', 'cache-control', 'vary', ...Object.keys(SECURITY_HEADERS)].map(
          (name) => headers[name],
        ),
      ];
      t.same(same(again), same(first), 'with the same answer');
      t.match(written.join(''), /load shedding: requests rejected/);
      t.equal((await ask({}, '/livez')).status, 200, 'health is not rejected');
      t.equal(
        (await ask({ 'x-tenant-id': south })).status,
        403,
        'another club with the same token is read as ever',
      );
      t.equal((await ask({ authorization: `Bearer ${token}x` })).status, 401, 'and so is another token');
      t.equal((await ask({ origin: 'https://app.example.org' })).status, 503);
      t.equal(
        await countShed(),
        before + 1,
        'a page of another origin needs the headers of CORS, so it is routed',
      );
      const { status } = await service.send('GET', '/api/tasks', { headers: { 'x-tenant-id': north } });
      t.equal(status, 401, 'without a token nothing is said of the club');
      const foreign = await neighbour.get('/api/tasks', { 'x-tenant-id': north });
      t.equal(foreign.status, 403, 'nor to a member of another club');
      quiet = neighbour.get('/api/tasks');
    });
    t.equal((await quiet)?.status, 200, 'another club waits its turn, and has it');
    const { 200: answered = 0, '503 service_unavailable': refused = 0, ...else_ } = tally(answers);
    t.same(else_, {});
    t.ok(answered > 0 && refused > 0, `${answered} answered, ${refused} refused`);
    t.equal((await ask()).status, 200, 'normal as soon as it is over');
    t.equal((await other.get('/api/tasks')).status, 200);
  },
);

t.test('requests without a valid token are never remembered for a club, however many name it', async (t) => {
  const before = await countShed();
  const answers = await inFlood(service.db, flooder, async () => {
    for (let count = 0; count < 50; count += 1) {
      t.equal((await ask({ authorization: `Bearer ${token.slice(0, -4)}AAAA` })).status, 401);
      t.equal((await ask({ authorization: '' })).status, 401);
    }
  });
  t.ok(answers.length > 0);
  t.equal(await countShed(), before);
});

/** Sends requests in one piece on one connection. */
function pipeline(count: number, last = ''): Socket {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write('GET /livez HTTP/1.1\r\nhost: club\r\n\r\n'.repeat(count) + last);
  return socket;
}

const LAST = 'GET /livez HTTP/1.1\r\nhost: club\r\nconnection: close\r\n\r\n';

t.test(
  'the requests of a connection are answered in order; one beyond sixteen that wait closes it',
  async (t) => {
    const within = Buffer.concat((await pipeline(16, LAST).toArray()) as Buffer[]).toString();
    t.equal(within.split('HTTP/1.1 200 ').length - 1, 17);
    const beyond = pipeline(2_000);
    let answers = '';
    beyond.on('data', (chunk) => {
      answers += chunk;
    });
    await new Promise((resolve) => beyond.once('close', resolve));
    t.ok(answers.split('HTTP/1.1 200 ').length - 1 < 2_000);
    t.equal((await ask({}, '/livez')).status, 200);
  },
);

t.test(
  'health is answered on the metrics port as well, whatever holds the port of the service',
  async (t) => {
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    t.match([ready.status, await ready.json()], [200, { status: 'ready' }]);
    t.match(await (await fetch(`http://127.0.0.1:${port}/livez`)).json(), { status: 'live' });
    t.equal((await fetch(`http://127.0.0.1:${port}/api/tasks`)).status, 404);
  },
);
