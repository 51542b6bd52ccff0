import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import t, { type Test } from 'tap';
import { slowReaders } from '../../src/plugins/slow-readers.js';

const MEBIBYTE = 1024 * 1024;
/** More than fits between the two sockets while nobody reads. */
const LONG = 16 * MEBIBYTE;

/** A server that keeps two long answers, and not a third. */
async function startServer(t: Test) {
  const app = Fastify();
  await app.register(slowReaders, { mostBytes: 2.5 * LONG });
  app.get('/long', async () => 'a'.repeat(LONG));
  app.get('/bytes', async () => Buffer.alloc(LONG));
  app.get('/short', async () => 'a');
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  /** Asks, and does not read. */
  return async (path = '/long') => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {}).pause();
    socket.write(`GET ${path} HTTP/1.1\r\nhost: club\r\nconnection: close\r\n\r\n`);
    await sleep(100);
    return socket;
  };
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

t.test('who takes the longest to read is cut off when there is no room, and nobody else', async (t) => {
  const ask = await startServer(t);
  const [first, second] = [await ask(), await ask('/bytes')];
  for (let turn = 0; turn < 5; turn += 1) {
    await ask('/short');
  }
  const third = await ask();
  t.ok((await read(first)) < LONG);
  t.equal(await read(second), LONG);
  t.equal(await read(third), LONG);
});

t.test('who reads, and who leaves, makes room', async (t) => {
  const ask = await startServer(t);
  const waiting = await ask();
  for (let turn = 0; turn < 5; turn += 1) {
    t.equal(await read(await ask()), LONG);
    (await ask()).destroy();
    await sleep(100);
  }
  t.equal(await read(waiting), LONG);
});
