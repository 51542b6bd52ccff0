import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { DEPLOY_LOCK, lockDeploys } from '../../src/deploy/locks.js';
import { readRelease } from '../../src/deploy/release.js';
import { stopClock } from '../setup/clock.js';
import { freePort } from '../setup/free-port.js';
import { startProxy, type TestProxy } from '../setup/proxy.js';
import { sendTo } from '../setup/send.js';
import { runAudit, startService, withTimeLimits } from '../setup/service.js';
import { until } from '../setup/wait.js';
import { type AuditedService, startAuditing } from './fixtures/auditing.js';

const service = await startService(t);
const club = await service.db.makeClub();

/** Runs work while the audit of every service waits for a lock. */
async function whileAuditsWait(work: () => Promise<void>): Promise<void> {
  await withClient(service.db.adminUrl, async (client) => {
    await client.query('begin; lock table deploy.facts in access exclusive mode');
    await work();
    await client.query('rollback');
  });
}

/** The audits that wait, each with its process and the start of its transaction. */
const waiting = async () =>
  (
    await service.db.queryAsAdmin<{ audit: string }>(
      `select concat_ws(' ', pid, xact_start) as audit from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%audit.findings%'`,
    )
  ).map(({ audit }) => audit);

/** Waits until an audit that began later than now has ended: the first that ends may have begun before. */
async function auditAfter({ audit }: AuditedService): Promise<void> {
  const seen = new Set([audit.latest()?.at]);
  await until(
    () => seen.add(audit.latest()?.at).size,
    (size) => size > 2,
    { everyMs: 5 },
  );
}

t.test('a critical finding makes the service not ready until it is fixed; a warning does not', async (t) => {
  const { audit, db } = service;
  const before = Date.now();
  await runAudit({ audit });
  const fine = await service.send('GET', '/readyz');
  t.match(fine, {
    status: 200,
    body: { status: 'ready', audit: { critical: 0, warnings: 0, stale: false } },
  });
  const at = Date.parse(fine.body.audit.at);
  t.ok(at >= before && at <= Date.now(), 'with the time of the audit');

  await db.queryAsAdmin('create index tasks_by_completion on app.tasks (tenant_id, completed_at)');
  await runAudit({ audit });
  t.match(await service.send('GET', '/readyz'), {
    status: 200,
    body: { audit: { critical: 0, warnings: 1 } },
  });

  await db.queryAsAdmin(
    'alter table app.tasks disable row level security; alter table app.shifts disable row level security',
  );
  t.equal((await service.send('GET', '/readyz')).status, 200, 'before the first audit the state is unknown');
  await runAudit({ audit });
  const refused = await service.send('GET', '/readyz');
  t.match(refused, { status: 503, headers: { 'retry-after': /^\d+$/ } });
  t.match(
    refused.body.detail,
    /^The isolation audit found 2 critical findings\. Run node dist\/audit\.js\.$/,
  );
  t.notMatch(refused.text, 'tasks', 'and no name of an object');
  t.equal((await service.send('GET', '/livez')).status, 200);

  await db.queryAsAdmin(
    'alter table app.tasks enable row level security; alter table app.shifts enable row level security',
  );
  await db.queryAsAdmin('create policy open on app.tasks using (app.tenant_id() is not null)');
  await runAudit({ audit });
  t.match(await service.send('GET', '/readyz'), {
    status: 503,
    body: { detail: /found 1 critical finding\. Run/ },
  });
  await db.queryAsAdmin('drop policy open on app.tasks');
  await runAudit({ audit });
  t.equal((await service.send('GET', '/readyz')).status, 200);
});

t.test('a finding is logged when it appears and when it is gone, and not in between', async (t) => {
  const { db } = service;
  const audited = await startAuditing(t, service);
  const { audit, lines } = audited;
  await until(
    () => audit.latest(),
    (latest) => latest !== undefined,
  );
  // On a slow machine there are lines about audits that exceeded their time limit as well.
  const said = () => lines().filter(({ msg }) => String(msg).startsWith('audit finding'));
  t.match(said(), [{ level: 40, code: 'schema_drift', object: 'index app.tasks_by_completion' }]);
  t.match(said()[0], { detail: /^it is new/, msg: 'audit finding' });

  await db.queryAsAdmin(`alter policy tasks_delete on app.tasks using ((select app.role()) >= 'Member')`);
  await auditAfter(audited);
  t.match(said().slice(1), [
    { level: 50, code: 'isolation_drift', object: /tasks_delete/, detail: /Member/, msg: 'audit finding' },
  ]);
  await db.queryAsAdmin(`alter policy tasks_delete on app.tasks using ((select app.role()) >= 'Admin')`);
  await auditAfter(audited);
  t.match(said().slice(2), [{ level: 30, code: 'isolation_drift', msg: 'audit finding is gone' }]);
  t.equal(said().length, 3);
});

t.test('no request waits for an audit, and only one audit runs at a time', async (t) => {
  const { app, audit, database, ready } = await startAuditing(t, service);
  await until(
    () => audit.latest(),
    (latest) => latest !== undefined,
  );
  const headers = {
    authorization: `Bearer ${service.token({ sub: 'anna', clubs: { [club]: 'Manager' } })}`,
    'x-tenant-id': club,
  };
  const send = sendTo(app);
  await whileAuditsWait(async () => {
    t.equal((await until(waiting, ({ length }) => length === 1)).length, 1);
    const known = audit.latest();
    // An audit waits for the lock for some seconds, then another one does. A request that waited for an audit would
    // not be answered before its end.
    let beside = 0;
    for (let between = 0; beside < 20 && between < 20; ) {
      const before = await waiting();
      const { status, body } = await ready();
      t.same([status, body.audit], [200, { ...known, stale: false }], 'the result of the last audit');
      t.equal((await send('GET', '/api/tasks', { headers })).status, 200);
      const after = await waiting();
      if (before.length === 1 && after.join() === before.join()) {
        beside += 1;
      } else {
        between += 1;
      }
    }
    t.equal(beside, 20, 'pairs of requests that were answered while one audit waited');
    const used = await until(
      async () => [(await waiting()).length, database.load.inUse],
      (seen) => seen.join() === '1,1',
    );
    t.same(used, [1, 1], 'one audit, on one connection');
  });
});

t.test('before its first audit a service answers not ready at once, and is ready soon after', async (t) => {
  await whileAuditsWait(async () => {
    const { ready, lines } = await startAuditing(t, service);
    t.same(lines(), [], 'the start did not wait for the end of the first audit');
    t.match(await ready(), { status: 503, body: { detail: 'The database has not been audited yet.' } });
  });
  const { ready } = await startAuditing(t, service, { times: { everyMs: 60_000, retryMs: 5 } });
  t.equal((await until(ready, ({ status }) => status === 200)).status, 200);
});

t.test(
  'a database that is down at the start is audited when it is up; during a later outage the last result is kept',
  async (t) => {
    const proxy = await startProxy(t, service.db.url);
    await proxy.stop();
    const times = { everyMs: 50, retryMs: 50 };
    const { audit, ready, lines } = await startAuditing(t, service, { url: proxy.url, times });
    t.equal((await ready()).status, 503);
    t.equal(audit.latest(), undefined);
    const said = () => lines().filter(({ msg }) => msg !== 'audit finding');
    await until(said, ({ length }) => length > 0);
    await proxy.start();
    t.equal((await until(ready, ({ status }) => status === 200)).status, 200);
    // On a slow machine a later audit can exceed its time limit, which is logged as well.
    t.match(said().slice(0, 2), [
      {
        level: 40,
        msg: 'the audit cannot be run',
        reason: /ECONNREFUSED.* correct host and port in DATABASE_URL/,
      },
      { level: 30, msg: 'the audit can be run again' },
    ]);

    await proxy.stop();
    await until(said, (all) => all.at(-1)?.msg === 'the audit cannot be run');
    const known = audit.latest();
    t.match(known, { critical: 0 });
    t.equal((await ready()).status, 503, 'because of the database');
    await audit.run();
    t.equal(audit.latest(), known);
    await proxy.start();
    t.equal((await until(ready, ({ status }) => status === 200)).status, 200);
  },
);

t.test('the reason of an outage is logged once, and again when another reason follows', async (t) => {
  const proxy = await startProxy(t, service.db.url);
  const times = { everyMs: 60_000, retryMs: 60_000 };
  const { audit, lines } = await startAuditing(t, service, { url: proxy.url, times });
  await audit.run();
  await proxy.stop();
  // The first audit may use a connection that was open before.
  await audit.run();
  const before = lines().length;
  const reasons = () =>
    lines()
      .slice(before)
      .map(({ reason, msg }) => reason ?? msg);
  await audit.run();
  await audit.run();
  t.match(reasons(), [/ECONNREFUSED/]);
  t.equal(reasons().length, 1);

  const name = new URL(service.db.url).pathname.slice(1);
  await service.db.queryAsAdmin(`revoke connect on database ${name} from club_api`);
  await proxy.start();
  await audit.run();
  await audit.run();
  t.match(reasons().slice(1), [/permission denied for database .*run sql\/roles\.sql/]);
  t.equal(reasons().length, 2);
  await service.db.queryAsAdmin(`grant connect on database ${name} to club_api`);
  await audit.run();
  t.equal(reasons().at(-1), 'the audit can be run again');
});

t.test('during a deploy no audit runs, and a deploy causes no finding', async (t) => {
  const { audit, db } = service;
  await runAudit({ audit });
  const known = audit.latest();
  await withClient(db.migrationUrl, async (client) => {
    await lockDeploys(client);
    await db.queryAsAdmin('alter table app.tasks disable row level security');
    await audit.run();
    t.equal(audit.latest(), known);
    await db.queryAsAdmin('alter table app.tasks enable row level security');
  });

  await db.queryAsAdmin('drop index app.tasks_by_completion');
  const audited = await startAuditing(t, service);
  const { lines, ready } = audited;
  await until(ready, ({ status }) => status === 200);
  const more = { name: '90_more', text: '-- more', sha256: '' };
  const release = { ...readRelease(), chapters: [...readRelease().chapters, more] };
  t.equal((await deploy(db.migrationUrl, release)).applied, true);
  await auditAfter(audited);
  t.match(await ready(), { status: 200, body: { audit: { critical: 0, warnings: 0 } } });
  const errors = lines().filter(({ level }) => Number(level) >= 50);
  t.same(errors, []);
});

t.test('while another session holds the lock of deploys, a service that starts is audited', async (t) => {
  await withClient(service.db.url, async (outsider) => {
    await outsider.query(`set application_name = 'club-management-service deploy'`);
    await outsider.query(`select pg_advisory_lock(${DEPLOY_LOCK})`);
    const { ready, lines } = await startAuditing(t, service);
    const seen = async () => ({
      status: (await ready()).status,
      refusals: lines().filter(({ reason }) => reason === 'A deploy is running.'),
    });
    const end = await until(seen, ({ status, refusals }) => status === 200 || refusals.length > 0);
    t.same(end, { status: 200, refusals: [] });
  });
});

t.test(
  'an audit that has not run for a long time is stale until one runs, and the service keeps serving',
  async (t) => {
    const times = { everyMs: 50, staleAfterMs: 3_000 };
    const advance = stopClock(t);
    const metricsPort = await freePort();
    const { ready, lines } = await startAuditing(t, service, { times, metricsPort });
    const scrape = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const staleness = () => lines().filter(({ msg }) => /stale/.test(String(msg)));
    t.match(await until(ready, ({ status }) => status === 200), { body: { audit: { stale: false } } });
    await withClient(service.db.migrationUrl, async (client) => {
      await lockDeploys(client);
      await advance(times.staleAfterMs - 1);
      t.match(await ready(), { status: 200, body: { audit: { stale: false } } });
      await advance(1);
      t.match(await ready(), { status: 200, body: { audit: { critical: 0, stale: true } } });
      t.match(await scrape(), /^club_audit_stale 1$/m);
    });
    // The next audit begins after a pause.
    const audited = async () => {
      await advance(times.everyMs);
      return scrape();
    };
    await until(audited, (metrics) => /^club_audit_stale 0$/m.test(metrics));
    t.match(staleness().slice(0, 2), [
      { level: 40, seconds: 3, msg: /none has run for/ },
      { level: 30, msg: /no longer/ },
    ]);
  },
);

t.test('before the first audit the service is not ready, which is not logged as an error', async (t) => {
  const lines: string[] = [];
  const unaudited = await startService(t, {}, undefined, {
    write: (line: string) => void lines.push(line),
  });
  const refused = await unaudited.send('GET', '/readyz');
  t.match(refused, { status: 503, body: { detail: 'The database has not been audited yet.' } });
  const logged = lines.map((line) => JSON.parse(line));
  t.same(
    logged.map(({ level }) => level),
    [30],
  );
  t.match(logged[0], { status: 503, reason: 'The database has not been audited yet.' });
});

t.test(
  'while a probe waits for a lock for too long, the process is not ready, and no line is an error',
  async (t) => {
    const lines: string[] = [];
    const log = { write: (line: string) => void lines.push(line) };
    const { audit, db, send } = await startService(t, {}, withTimeLimits, log);
    await runAudit({ audit });
    lines.length = 0;
    // A machine that stalls would let the probe end at the limit of a read instead.
    stopClock(t);
    await withClient(db.adminUrl, async (client) => {
      await client.query('begin; lock table deploy.releases in access exclusive mode');
      t.match(await send('GET', '/readyz'), {
        status: 503,
        body: { detail: 'The database rejected the query of this probe (SQLSTATE 55P03).' },
      });
      await client.query('rollback');
    });
    t.match(
      lines.map((line) => JSON.parse(line)),
      [{ level: 30, status: 503, reason: /lock timeout/ }],
    );
    t.equal(lines.length, 1);
    t.equal((await send('GET', '/readyz')).status, 200);
  },
);

t.test(
  'while the database is down, a probe says so, the log has the reason, and no line is an error',
  async (t) => {
    const written: string[] = [];
    const log = { write: (line: string) => void written.push(line) };
    let proxy: TestProxy | undefined;
    const route = async ({ url }: { url: string }) => {
      proxy = await startProxy(t, url);
      return { url: proxy.url, size: 1, prepare: true, readsPerConnection: 1 };
    };
    const { audit, send } = await startService(t, {}, route, log);
    await runAudit({ audit });
    t.equal((await send('GET', '/readyz')).status, 200);

    await proxy?.stop();
    written.length = 0;
    // The first probe may use a connection that was open before.
    for (const reason of [/./, /ECONNREFUSED.* correct host and port in DATABASE_URL/]) {
      const refused = await send('GET', '/readyz');
      t.match(refused, {
        status: 503,
        headers: { 'retry-after': /^\d+$/ },
        body: { detail: 'The database cannot be used. The log has the reason.' },
      });
      t.notMatch(refused.text, /ECONNREFUSED|127\.0\.0\.1/);
      t.match(JSON.parse(written.at(-1) ?? ''), { level: 30, status: 503, reason, msg: 'request' });
    }
    t.equal(written.length, 2, 'one line for each probe');
  },
);
