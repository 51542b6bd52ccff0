import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Holds } from '../src/http/holds.js';
import { openWire } from './chaos/wire.js';

const holds = new Holds({
  mayWait: (group) => group.startsWith('loud'),
  hasRoom: (group) => group === 'loud-with-room',
});
// The path says what becomes of a request, and of which group it is.
const server = createServer((request, response) => {
  const [, what, group = ''] = String(request.url).split('/');
  holds.note(request, group);
  if (what === 'refused') {
    response.once('finish', () => holds.hold(request, group));
  }
  response.end('{}');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
t.teardown(() => server.close());

/** Somebody who sends these requests on a connection of their own, each after the answer to the one before. */
async function client(paths: string[], headers: Record<string, string> = {}): Promise<void> {
  const { ask, close } = openWire(url, 30_000);
  for (const path of paths) {
    t.match(await ask('GET', path, headers), { status: 200 }, path);
  }
  close();
}

/** The names of clients in the order in which they had their last answer. */
async function race(clients: Record<string, Promise<void>>): Promise<string[]> {
  const order: string[] = [];
  await Promise.all(Object.entries(clients).map(([name, end]) => end.then(() => order.push(name))));
  return order;
}

/** The first is forgiven, so the last is the one that waits. */
const REFUSED = ['/refused/loud', '/refused/loud', '/refused/loud'];

t.test(
  'who may wait is read again after a while, and whoever may share their connection at once',
  async (t) => {
    const began = performance.now();
    const order = await race({
      'who may wait': client(REFUSED),
      'who may not': client(['/refused/quiet', '/refused/quiet', '/refused/quiet']),
      'who was refused once': client(['/refused/loud', '/served/loud', '/refused/loud', '/served/loud']),
      'beside one who may not': client(['/served/quiet', ...REFUSED]),
      'through a proxy': client(REFUSED, { 'x-forwarded-for': '203.0.113.7' }),
      'through a proxy that keeps to RFC 7239': client(REFUSED, { forwarded: 'for=203.0.113.7' }),
      'through a proxy that says no more than that': client(REFUSED, { via: '1.1 proxy' }),
    });
    t.equal(order.length, 7);
    t.equal(order.at(-1), 'who may wait', order.join());
    const passedMs = performance.now() - began;
    t.ok(passedMs >= 500, `after ${passedMs} ms`);
  },
);

t.test(
  'several who all may wait are held like one, and very many are taken for those of a proxy',
  async (t) => {
    const served = Array.from({ length: 16 }, (_, place) => `/served/loud-${place}`);
    const order = await race({
      several: client([...served.slice(1), ...REFUSED]),
      many: client([...served, ...REFUSED]),
    });
    t.same(order, ['many', 'several']);
  },
);

t.test('each is held for a time of their own, and whoever left is forgotten', async (t) => {
  const order = await race({
    left: client(['/refused/loud', '/refused/loud']),
    first: client(REFUSED),
    late: sleep(300).then(() => client(REFUSED)),
  });
  t.same(order, ['left', 'first', 'late']);
});

t.test(
  'whoever is held is read as soon as there is room for them, be there ever so many others',
  async (t) => {
    const others = Array.from({ length: 20 }, (_, place) => [`no room ${place}`, client(REFUSED)]);
    const order = await race({
      ...Object.fromEntries(others),
      room: client(Array.from({ length: 3 }, () => '/refused/loud-with-room')),
    });
    t.equal(order.length, 21);
    t.equal(order[0], 'room', order.join());
  },
);
