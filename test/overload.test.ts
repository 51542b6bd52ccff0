import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { SECURITY_HEADERS } from '../src/plugins/security-headers.js';
import { inFlood } from './setup/flood.js';
import { startService } from './setup/service.js';
import { tally } from './setup/shifts.js';

const written: string[] = [];
const service = await startService(t, {}, undefined, { write: (line: string) => void written.push(line) });
const [north, south] = [await service.db.makeClub('north'), await service.db.makeClub('south')];
const flooder = service.as('anna', 'Member', north);
const other = service.as('ben', 'Member', north);
const neighbour = service.as('cleo', 'Member', south);
await Promise.all([flooder, other, neighbour].map((person) => person.get('/api/tasks')));
const origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
const token = await service.token({ sub: 'anna', name: 'anna', clubs: { [north]: 'Member' } });

/** Asks as the flooder does, over a socket: the door is before what inject calls. */
async function knock(headers: Record<string, string> = {}, path = '/api/tasks?limit=1') {
  const answer = await fetch(origin + path, {
    headers: { authorization: `Bearer ${token}`, 'x-tenant-id': north, ...headers },
  });
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: (await answer.json()) as Record<string, unknown>,
  };
}

/** Asks many times at once, in one piece; how many refusals come back. */
async function knockAtOnce(times: number): Promise<number> {
  const request = `GET /api/tasks HTTP/1.1\r\nhost: club\r\nauthorization: Bearer ${token}\r\nx-tenant-id: ${north}\r\n`;
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  socket.write(`${`${request}\r\n`.repeat(times - 1)}${request}connection: close\r\n\r\n`);
  const chunks: Buffer[] = await socket.toArray();
  return Buffer.concat(chunks).toString().split('HTTP/1.1 503 ').length - 1;
}

/** More than are refused in a turn. */
const CROWD = 600;

t.test('who floods their club is refused cheaply, and nobody else is', async (t) => {
  let quiet: ReturnType<typeof neighbour.get> | undefined;
  const answers = await inFlood(service.db, flooder, async (early) => {
    t.match(early, {
      status: 503,
      headers: { 'retry-after': '1' },
      body: { code: 'service_unavailable', detail: /More is asked for in this club/ },
    });

    const before = service.app.turnedAway();
    const first = await knock();
    t.equal(first.status, 503, 'once more on the long way, because this token was not told');
    const again = await knock();
    t.equal(service.app.turnedAway(), before + 1, 'and then at the door');
    t.equal(again.body.instance, '/api/tasks');
    t.equal(again.headers['x-request-id'], again.body.requestId);
    const same = ({ headers, body }: typeof again) => [
      { ...body, requestId: '', instance: '' },
      ['content-type', 'retry-after', 'cache-control', 'vary', ...Object.keys(SECURITY_HEADERS)].map(
        (name) => headers[name],
      ),
    ];
    t.same(same(again), same(first), 'in the same words');
    t.match(written.join(''), /refused at the door/);
    t.equal((await knock({}, '/livez')).status, 200, 'health is not refused');
    t.equal((await knock({ 'x-tenant-id': south })).status, 403, 'of another club the token is read as ever');
    t.equal((await knock({ authorization: `Bearer ${token}x` })).status, 401, 'and so is another token');
    t.equal((await knock({ origin: 'https://app.example.org' })).status, 503);
    t.equal(service.app.turnedAway(), before + 1, 'a page goes the long way, to be able to read the answer');
    t.equal(await knockAtOnce(CROWD), CROWD, 'who comes beyond a turn is refused in a later one');
    t.equal(service.app.turnedAway(), before + 1 + CROWD);
    const { status } = await service.send('GET', '/api/tasks', { headers: { 'x-tenant-id': north } });
    t.equal(status, 401, 'somebody without a token learns nothing of it');
    const foreign = await neighbour.get('/api/tasks', { 'x-tenant-id': north });
    t.equal(foreign.status, 403, 'and nobody of another club');
    quiet = neighbour.get('/api/tasks');
  });
  t.equal((await quiet)?.status, 200, 'another club waits its turn, and has it');
  const { 200: answered = 0, '503 service_unavailable': refused = 0, ...else_ } = tally(answers);
  t.same(else_, {});
  t.ok(answered > 0 && refused > 0, `${answered} answered, ${refused} refused`);
  t.equal((await knock()).status, 200, 'as soon as it is over');
  t.equal((await other.get('/api/tasks')).status, 200);
});

t.test(
  'who sends thousands of requests and waits for no answer is cut off, and nobody else is',
  async (t) => {
    const times = 20_000;
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET /livez HTTP/1.1\r\nhost: club\r\n\r\n'.repeat(times));
    let answers = '';
    socket.on('data', (chunk) => {
      answers += chunk;
    });
    const another = knock({}, '/livez');
    await once(socket, 'close');
    t.ok(answers.split('HTTP/1.1 200 ').length - 1 < times / 2);
    t.equal((await another).status, 200);
    t.equal((await knock()).status, 200);
  },
);
