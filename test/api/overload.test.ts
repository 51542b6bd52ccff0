import t from 'tap';
import { Environment } from '../../src/variables.js';
import { stopClock } from '../setup/clock.js';
import { inFlood } from '../setup/flood.js';
import { freePort } from '../setup/free-port.js';
import { runAudit, startService } from '../setup/service.js';
import { tally } from '../setup/shifts.js';
import { until } from '../setup/wait.js';

const port = await freePort();
const service = await startService(t, { metrics: { host: '127.0.0.1', port } });
await runAudit(service);
const [north, south] = [await service.db.makeClub('north'), await service.db.makeClub('south')];
const flooder = service.as('anna', 'Member', north);
const other = service.as('ben', 'Member', north);
const neighbour = service.as('cleo', 'Member', south);
await Promise.all([flooder, other, neighbour].map((person) => person.get('/api/tasks')));
await service.app.listen({ host: '127.0.0.1', port: 0 });

/** More than the queue of a club holds. */
const MORE_THAN_WAIT = 5_200;
/** As many requests as can be in progress: each connection has one. */
const IN_PROGRESS = Number(Environment.properties.MAX_CONNECTIONS.default);

t.test('by default the requests of one club on all connections wait, and none is a 503', async (t) => {
  // A request that waits is never overdue.
  stopClock(t);
  const responses = await inFlood(service.db, { flooder, count: IN_PROGRESS }, async (flood) => {
    // The others are on connections to the database.
    const allWait = until(
      () => service.database.load,
      ({ queued }) => queued > IN_PROGRESS * 0.9,
    );
    await Promise.race([allWait, ...flood]);
  });
  t.same(tally(responses), { 200: IN_PROGRESS });
});

t.test(
  'while the queue of a club is full, its next request is a 503 at once; other clubs are served',
  async (t) => {
    // A request that waits is never overdue.
    stopClock(t);
    let waiting: ReturnType<typeof neighbour.get> | undefined;
    const responses = await inFlood(service.db, { flooder, count: MORE_THAN_WAIT }, async (flood) => {
      t.match(await Promise.race(flood), {
        status: 503,
        headers: { 'retry-after': '1' },
        body: { code: 'service_unavailable', detail: /^The queue for the database is full\./ },
      });
      t.equal((await other.get('/api/tasks')).status, 503, 'another member of the club');
      t.equal((await service.send('GET', '/livez', {})).status, 200, 'health');
      const { status } = await service.send('GET', '/api/tasks', { headers: { 'x-tenant-id': north } });
      t.equal(status, 401, 'without a token the answer says nothing of the club');
      const foreign = await neighbour.get('/api/tasks', { 'x-tenant-id': north });
      t.equal(foreign.status, 403, 'nor to a member of another club');
      waiting = neighbour.get('/api/tasks');
    });
    const { 200: answered = 0, '503 service_unavailable': refused = 0, ...others } = tally(responses);
    const quiet = (await waiting)?.status;
    t.equal(quiet, 200, 'a request of another club is queued and served');
    t.same(others, {});
    t.ok(answered > 0 && refused > 0, `${answered} answered, ${refused} refused`);
    t.equal((await flooder.get('/api/tasks')).status, 200, 'served again after the flood');
    t.equal((await other.get('/api/tasks')).status, 200);
  },
);

t.test('health is served on the metrics port as well', async (t) => {
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  t.match([ready.status, await ready.json()], [200, { status: 'ready' }]);
  t.match(await (await fetch(`http://127.0.0.1:${port}/livez`)).json(), { status: 'live' });
  t.equal((await fetch(`http://127.0.0.1:${port}/api/tasks`)).status, 404);
});
