import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Pipelines } from '../src/http/pipelines.js';
import { until } from './setup/caller.js';
import { startService } from './setup/service.js';

const service = await startService(t);
const club = await service.db.makeClub();
const token = await service.token({ sub: 'anna', clubs: { [club]: 'Manager' } });
await service.app.listen({ host: '127.0.0.1', port: 0 });
const { port } = service.app.server.address() as AddressInfo;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: club\r\n\r\n`;
const makeTask = (title: string) => {
  const body = JSON.stringify({ title });
  const headers = `authorization: Bearer ${token}\r\nx-tenant-id: ${club}\r\ncontent-type: application/json`;
  return `POST /api/tasks HTTP/1.1\r\nhost: club\r\n${headers}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
};
const isMade = async (title: string) =>
  (await service.db.look('select from app.tasks where title = $1', [title])).length === 1;
/** More than fits between the two sockets while nobody reads. */
const UNREAD = get('/openapi.json').repeat(100);

/** Sends without reading what comes back. */
function send(requests: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(requests);
  return socket;
}

t.test(
  'what comes behind answers that nobody reads is begun when they are read, and not before',
  async (t) => {
    const socket = send(UNREAD + makeTask('later'));
    await sleep(500);
    t.notOk(await isMade('later'));
    const text = Buffer.concat(await socket.toArray()).toString();
    t.ok(await isMade('later'));
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    t.same(statuses, [...Array(100).fill('200'), '201'], 'each answered, in order');
  },
);

t.test('who leaves without reading leaves nothing behind', async (t) => {
  const files = async () => (await readdir('/proc/self/fd')).length;
  const before = await files();
  const requests = get('/docs/static/swagger-ui-bundle.js').repeat(200);
  const socket = send(requests + makeTask('never'));
  await sleep(500);
  t.ok((await files()) < before + 20, 'one file is open, and not two hundred');
  socket.destroy();
  t.ok((await until(files, (left) => left <= before)) <= before, 'and then none');
  t.notOk(await isMade('never'));
});

t.test('so many may wait; for one more, the connection with the most is cut off', async (t) => {
  const pipelines = new Pipelines(2);
  let begun = 0;
  const server = createServer((request, response) =>
    pipelines.take(request, response, () => {
      begun += 1;
    }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const sendTimes = async (times: number) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(get('/').repeat(times));
    await sleep(100);
    return socket;
  };
  const greedy = await sendTimes(3);
  t.notOk(greedy.closed, 'one is begun, and two wait');
  const modest = await sendTimes(2);
  t.ok(greedy.closed, 'two are enough');
  t.notOk(modest.closed, 'and not whoever comes after them pays for it');
  const another = await sendTimes(2);
  t.notOk(another.closed, 'who was cut off has made room');
  const late = await sendTimes(2);
  t.ok(late.closed, 'where nobody has more, it is who comes last');
  t.notOk(modest.closed || another.closed);
  modest.destroy();
  const next = await sendTimes(2);
  t.notOk(next.closed, 'who leaves makes room too');
  t.equal(begun, 5);
  another.destroy();
  next.destroy();
});
