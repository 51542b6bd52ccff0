import pg from 'pg';
import t from 'tap';
import { stopClock } from '../setup/clock.js';
import { runAudit, startService } from '../setup/service.js';
import { until } from '../setup/wait.js';

/** Longer than probes share one query. */
const LATER_MS = 400;

const service = await startService(t);
await runAudit(service);
const probe = () => service.send('GET', '/readyz').then(({ status }) => status);

t.test('concurrent probes share one query of the database', async (t) => {
  t.equal(await probe(), 200);
  const advance = stopClock(t);
  const holder = new pg.Client(service.db.adminUrl);
  await holder.connect();
  await holder.query('begin; lock table deploy.releases in access exclusive mode');
  const probes = Array.from({ length: 100 }, probe);
  const asking = () =>
    service.db.queryAsAdmin(
      `select from pg_stat_activity
       where datname = current_database() and usename = 'club_api' and wait_event_type = 'Lock'`,
    );
  await until(asking, ({ length }) => length > 0);
  t.same(service.database.load, { inUse: 1, queued: 0 });
  await advance(LATER_MS);
  probes.push(probe());
  await until(asking, ({ length }) => length > 1);
  t.same(service.database.load, { inUse: 2, queued: 0 }, 'asked again when the query takes long');
  await holder.query('commit');
  await holder.end();
  t.same(await Promise.all(probes), Array(101).fill(200));
});

t.test('probes, the document and the reference ignore the token and the club', async (t) => {
  const headers = { authorization: 'Bearer nonsense', 'x-tenant-id': 'nonsense' };
  for (const path of ['/livez', '/readyz', '/openapi.json', '/docs']) {
    t.equal((await service.send('GET', path, { headers })).status, 200, path);
  }
});

t.test('the result of a probe is not cached', async (t) => {
  const releases = await service.db.queryAsAdmin('delete from deploy.releases returning fingerprint');
  t.ok(releases.length > 0);
  t.match(await service.send('GET', '/readyz'), {
    status: 503,
    body: { code: 'service_unavailable' },
    headers: { 'retry-after': /^[1-9]/ },
  });
});
