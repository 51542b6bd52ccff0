import type { Socket } from 'node:net';
import t from 'tap';
import { openWire } from './chaos/wire.js';
import { inFlood } from './setup/flood.js';
import { startService } from './setup/service.js';

for (const [who, trustProxy, isHeld] of [
  ['a client who asks again at once', undefined, true],
  ['a proxy that the service was told of', '127.0.0.1', false],
] as const) {
  t.test(`in a flood ${who} is ${isHeld ? '' : 'not '}left unread`, async (t) => {
    const service = await startService(t, { trustProxy });
    const north = await service.db.makeClub('north');
    const flooder = service.as('anna', 'Member', north);
    await flooder.get('/api/tasks');
    const token = await service.token({ sub: 'anna', name: 'anna', clubs: { [north]: 'Member' } });
    const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': north };
    const origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const sockets: Socket[] = [];
    service.app.server.on('connection', (socket) => sockets.push(socket));

    await inFlood(service.db, flooder, async () => {
      const { ask, close } = openWire(origin, 30_000);
      const paused: boolean[] = [];
      // The first goes the long way, because this token was not told.
      for (const _ of ['told', 'refused', 'refused again', 'and read again']) {
        t.match(await ask('GET', '/api/tasks', headers), { status: 503 });
        paused.push(sockets[0]?.isPaused() === true);
      }
      close();
      t.equal(sockets.length, 1);
      t.same(paused, [false, false, isHeld, isHeld]);
    });
  });
}
