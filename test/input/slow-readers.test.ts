import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify from 'fastify';
import t, { type Test } from 'tap';
import { Unread } from '../../src/http/unread.js';
import { slowReaders } from '../../src/plugins/slow-readers.js';
import { until } from '../setup/caller.js';

/** More than fits between the two sockets while nobody reads. */
const LONG_BYTES = 18 * 1024 * 1024;
const EURO_BYTES = 3;

/** A server that keeps two long answers, and not a third. */
async function startServer(t: Test) {
  const seen = { given: 0, over: 0 };
  const app = Fastify();
  await app.register(slowReaders, { mostBytes: 2.5 * LONG_BYTES });
  app.addHook('onSend', (_request, { raw }, _payload, done) => {
    seen.given += 1;
    raw.once('close', () => {
      seen.over += 1;
    });
    done();
  });
  app.get('/text', async () => '€'.repeat(LONG_BYTES / EURO_BYTES));
  const shared = Buffer.alloc(LONG_BYTES);
  app.get('/shared', async () => shared);
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  /** Asks, and does not read. */
  const ask = async (path = '/text') => {
    const { given } = seen;
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {}).pause();
    socket.write(`GET ${path} HTTP/1.1\r\nhost: club\r\nconnection: close\r\n\r\n`);
    await until(
      () => seen.given,
      (count) => count > given,
    );
    return socket;
  };
  const untilOver = (count: number) =>
    until(
      () => seen.over,
      (over) => over >= count,
    );
  return { ask, untilOver };
}

/** How much of the body comes when it is read at last. */
async function read(socket: Socket): Promise<number> {
  let text = Buffer.alloc(0);
  try {
    text = Buffer.concat(await socket.toArray());
  } catch {
    // It was reset.
  }
  return text.length - text.indexOf('\r\n\r\n') - 4;
}

t.test('who keeps the most loses the oldest, and nobody else anything', async (t) => {
  const unread = new Unread<string>(10);
  t.same(unread.add('a quick one', 'ben', 3), []);
  t.same(unread.add('first', 'anna', 3), []);
  t.same(unread.add('second', 'anna', 3), []);
  t.same(unread.add('third', 'anna', 3), ['first']);
  t.same(unread.add('fourth', 'cleo', 3), ['second'], 'also when somebody else needs the room');
  unread.remove('fourth');
  unread.remove('fourth');
  t.same(unread.add('fifth', 'anna', 3), []);
  t.same(unread.add('fifth', 'anna', 3), [], 'what is given twice counts once');
  t.same(unread.add('sixth', 'anna', 4), ['third']);
});

t.test('who takes the longest to read is cut off when there is no room, and nobody else', async (t) => {
  const { ask } = await startServer(t);
  const [first, second] = [await ask(), await ask()];
  const third = await ask();
  t.ok((await read(first)) < LONG_BYTES);
  t.equal(await read(second), LONG_BYTES);
  t.equal(await read(third), LONG_BYTES);
});

t.test('who reads, and who leaves, makes room; what is the same for everybody takes none', async (t) => {
  const { ask, untilOver } = await startServer(t);
  const waiting = await ask();
  const sharing = [await ask('/shared'), await ask('/shared'), await ask('/shared')];
  for (let turn = 0; turn < 4; turn += 1) {
    t.equal(await read(await ask()), LONG_BYTES);
    await untilOver(2 * turn + 1);
    (await ask()).destroy();
    await untilOver(2 * turn + 2);
  }
  for (const socket of [waiting, ...sharing]) {
    t.equal(await read(socket), LONG_BYTES);
  }
});
