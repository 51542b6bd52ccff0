import { METHODS } from 'node:http';
import t from 'tap';
import { writeInTenant } from '../../src/database/tenant-context.js';
import { endpoints, MISSING } from '../setup/endpoints.js';
import { freePort } from '../setup/free-port.js';
import { openConnection, sendAndHangUp, sendLinesTo } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';
import { until } from '../setup/wait.js';
import { callerOf } from '../setup/work.js';

const port = await freePort();
const url = `http://127.0.0.1:${port}/metrics`;
const written: string[] = [];
const service = await startService(
  t,
  {
    metrics: { host: '127.0.0.1', port },
    rateLimitPerMinute: 5,
    corsOrigins: ['https://app.example.org'],
  },
  undefined,
  { write: (line: string) => void written.push(line) },
);
const sendLines = await sendLinesTo(service.app);
const north = await service.db.makeClub('north');
const anna = service.as('anna', 'Admin', north);

/** Each series and its value. */
async function scrape(): Promise<Map<string, number>> {
  const lines = (await (await fetch(url)).text()).split('\n').filter((line) => /^[^#]/.test(line));
  return new Map(lines.map((line) => [line.replace(/ [^ ]+$/, ''), Number(line.split(' ').at(-1))]));
}

/** How much each series of the service changed during the work. */
async function moved(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await scrape();
  await work();
  const changes = [...(await scrape())]
    .map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const)
    .filter(([name, change]) => change !== 0 && /^club_http/.test(name) && !/_bucket|_sum/.test(name));
  return Object.fromEntries(changes);
}

t.test('an answer is counted by its method, route and status, and an error by its code', async (t) => {
  const tasks = 'method="GET",route="/api/tasks/:id"';
  t.same(await moved(() => anna.get(`/api/tasks/${MISSING}`)), {
    [`club_http_requests_total{${tasks},status="404"}`]: 1,
    [`club_http_request_duration_seconds_count{${tasks}}`]: 1,
    'club_http_refusals_total{code="task_not_found"}': 1,
  });
  const clubs = 'method="GET",route="/api/clubs/current"';
  t.same(
    await moved(async () => {
      await anna.get('/api/clubs/current');
      await anna.get('/api/clubs/current');
      await service.send('GET', '/api/clubs/current');
    }),
    {
      [`club_http_requests_total{${clubs},status="200"}`]: 2,
      [`club_http_requests_total{${clubs},status="401"}`]: 1,
      [`club_http_request_duration_seconds_count{${clubs}}`]: 3,
      'club_http_refusals_total{code="unauthenticated"}': 1,
    },
  );
});

t.test('a request whose client closes the connection is counted as 499', async (t) => {
  const dora = { sub: 'dora', name: 'Dora', clubs: { [north]: 'Admin' } };
  const headers = { authorization: `Bearer ${service.token(dora)}`, 'x-tenant-id': north };
  const { body } = await service.as('dora', 'Admin', north).post('/api/tasks', { title: 'Mow' });
  const path = `/api/tasks/${body.id}`;
  const changes = await moved(() =>
    sendAndHangUp(service.db, service.app, { path, method: 'DELETE', headers }),
  );
  const tasks = 'method="DELETE",route="/api/tasks/:id"';
  t.equal(changes[`club_http_requests_total{${tasks},status="499"}`], 1);
  t.equal(changes[`club_http_request_duration_seconds_count{${tasks}}`], 1);
});

t.test('requests beyond the limit are counted', async (t) => {
  const ben = service.as('ben', 'Member', north);
  const changes = await moved(async () => {
    for (let request = 0; request < 8; request += 1) {
      await ben.get('/api/shifts');
    }
  });
  t.equal(changes['club_http_refusals_total{code="rate_limited"}'], 3);
  t.equal(changes['club_http_requests_total{method="GET",route="/api/shifts",status="429"}'], 3);
});

t.test('durations are in seconds, each in its bucket', async (t) => {
  const begun = performance.now();
  await service.send('GET', '/livez');
  const longest = (performance.now() - begun) / 1000;
  const seen = await scrape();
  const of = (name: string, more = '') =>
    seen.get(`club_http_request_duration_seconds_${name}{${more}method="GET",route="/livez"}`) ?? -1;
  t.equal(of('count'), 1);
  t.ok(of('sum') > 0 && of('sum') <= longest, `${of('sum')} of ${longest} s`);
  t.equal(of('bucket', 'le="+Inf",'), 1);
});

t.test('any request adds series for routes only, and no label names the caller', async (t) => {
  let asked = 0;
  const ask = async () => {
    for (const path of [
      '/nowhere',
      '/api/nothing',
      `/api/tasks/${MISSING}/x`,
      '/api/tasks?q=x',
      '/%zz',
      '/docs/x',
      '/calendars/x',
    ]) {
      for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
        asked += 1;
        await sendLines(method, `${path}${asked}`, [['x-tenant-id', north]]);
      }
    }
  };
  const ours = async () => [...(await scrape()).keys()].filter((name) => name.startsWith('club_'));
  await ask();
  const known = await ours();
  await ask();
  const series = await ours();
  t.same(series, known);
  const routes = new Set(series.flatMap((name) => /route="([^"]*)"/.exec(name)?.[1] ?? []));
  const allowed = new Set([...endpoints.map(({ path }) => path), '/livez', '/calendars/*', 'none', '*']);
  t.same(
    [...routes].filter((route) => !allowed.has(route)),
    [],
  );
  const labels = series.flatMap((name) => [...name.matchAll(/(\w+)="/g)].map(([, label]) => label));
  t.same(
    ['tenant', 'club', 'member', 'subject', 'ip'].filter((label) => labels.includes(label)),
    [],
  );
  t.notMatch(series.join('\n'), new RegExp(`${north}|anna|${MISSING}`));
});

t.test('the metrics count connections to the database: in use, queued for, opened and lost', async (t) => {
  const cleo = service.as('cleo', 'Member', north);
  await cleo.get('/api/tasks');
  const before = await scrape();
  t.equal(before.get('club_database_pool_size'), service.database.size);
  const killed = await service.db.queryAsAdmin(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where usename = 'club_api' and datname = current_database()`,
  );
  const lost = (seen: Map<string, number>) => seen.get('club_database_connections_lost_total') ?? 0;
  const after = await until(scrape, (seen) => lost(seen) >= lost(before) + killed.length);
  t.same([killed.length > 0, lost(after)], [true, lost(before) + killed.length]);
  const opened = (seen: Map<string, number>) => seen.get('club_database_connections_opened_total') ?? 0;
  t.equal((await cleo.get('/api/tasks')).status, 200);
  t.equal(opened(await scrape()), opened(after) + 1);

  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { size } = service.database;
  const works = Array.from({ length: size + 1 }, () =>
    writeInTenant(service.database, callerOf(north), 'held', () => held),
  );
  const busy = await until(scrape, (seen) => seen.get('club_database_queue_length') === 2);
  t.equal(busy.get('club_database_pool_in_use'), size - 1, 'one connection is left for other clubs');
  t.equal(busy.get('club_database_queue_length'), 2);
  release();
  await Promise.allSettled(works);
});

t.test('the metrics have the findings of the last audit by severity, and when it ran', async (t) => {
  const audited = async () =>
    Object.fromEntries([...(await scrape())].filter(([name]) => name.startsWith('club_audit_')));
  t.same(
    await audited(),
    { club_audit_last_run_timestamp_seconds: 0, club_audit_stale: 0 },
    'before the first',
  );

  await service.db.queryAsAdmin('create index more on app.tasks (tenant_id, completed_at)');
  const before = Date.now() / 1_000;
  await runAudit(service);
  const { club_audit_last_run_timestamp_seconds: at = 0, ...rest } = await audited();
  t.ok(at >= before && at <= Date.now() / 1_000, String(at));
  t.same(rest, {
    'club_audit_findings{severity="critical"}': 0,
    'club_audit_findings{severity="warning"}': 1,
    club_audit_stale: 0,
  });
  await service.db.queryAsAdmin('alter table app.tasks no force row level security');
  await runAudit(service);
  t.ok(Number((await audited())['club_audit_findings{severity="critical"}']) > 0);
  await service.db.queryAsAdmin('alter table app.tasks force row level security; drop index app.more');
});

t.test(
  'the metrics port serves process metrics in the format of Prometheus, health, and nothing else',
  async (t) => {
    const answer = await fetch(url);
    t.match(answer.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
    t.match(await answer.text(), /^# TYPE process_cpu_seconds_total counter$/m);
    for (const path of ['/', '/api/tasks', '/metrics/x', '/openapi.json']) {
      t.equal((await fetch(new URL(path, url))).status, 404, path);
    }
    t.equal((await fetch(url, { method: 'POST' })).status, 405);
    t.equal(
      (await service.send('GET', '/metrics')).status,
      404,
      'and the port of the service does not serve it',
    );
  },
);

t.test(
  'health on the metrics port accepts and refuses the same requests as on the public port',
  async (t) => {
    await runAudit(service);
    const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
    for (const [path, status] of [
      ['/livez', 200],
      ['/readyz', 200],
      ['/livez?x=1', 400],
      ['/readyz?x=1', 400],
    ] as const) {
      const answer = await fetch(new URL(path, url));
      const body = (await answer.json()) as { requestId?: string };
      const expected = (await service.send('GET', path)).body;
      t.same([answer.status, { ...body, requestId: null }], [status, { ...expected, requestId: null }], path);
      t.match(body.requestId, status === 200 ? undefined : uuid, 'an error has the id of its request');
    }
    await service.db.queryAsAdmin('alter table deploy.releases rename to hidden');
    const refused = await fetch(new URL('/readyz', url));
    t.match([refused.status, await refused.json()], [503, { code: 'service_unavailable', requestId: uuid }]);
    await service.db.queryAsAdmin('alter table deploy.hidden rename to releases');
  },
);

t.test(
  'the log has the reason why a probe of the metrics port is refused, once until it changes',
  async (t) => {
    const probe = async () => (await fetch(new URL('/readyz', url))).status;
    const lines = () =>
      written.map((line) => JSON.parse(line)).filter(({ msg }) => ['ready', 'not ready'].includes(msg));
    t.equal(await probe(), 200);
    written.length = 0;
    await service.db.queryAsAdmin('alter table deploy.releases rename to hidden');
    t.same([await probe(), await probe()], [503, 503]);
    await until(lines, (seen) => seen.length > 0);
    t.match(lines(), [{ level: 40, reason: /older than this release|42P01|relation/ }]);
    t.equal(lines().length, 1);
    await service.db.queryAsAdmin('alter table deploy.hidden rename to releases');
    t.equal(await probe(), 200);
    await until(lines, (seen) => seen.length > 1);
    t.match(lines().slice(1), [{ level: 30, msg: 'ready' }]);
  },
);

t.test('the metrics port has at most 50 connections, and a closed one frees its place', async (t) => {
  const origin = new URL(url).origin;
  const probe = ({ send }: ReturnType<typeof openConnection>) =>
    send('GET', '/livez').then(
      ({ status }) => status,
      ({ code }) => code,
    );
  const connections = Array.from({ length: 60 }, () => openConnection(origin));
  const ends = await Promise.all(connections.map(probe));
  const served = ends.filter((end) => end === 200).length;
  // Those of the requests for metrics above may be open too.
  t.ok(served > 40 && served <= 50, `${served} served`);
  t.equal(ends.filter((end) => end === 'ECONNRESET').length, 60 - served);
  for (const { close } of connections) {
    close();
  }
  t.equal(
    await until(
      async () => {
        const connection = openConnection(origin);
        const end = await probe(connection);
        connection.close();
        return end;
      },
      (end) => end === 200,
    ),
    200,
  );
});

t.test('a metrics port in use is reported, and the metrics stop with the service', async (t) => {
  await t.rejects(startService(t, { metrics: { host: '127.0.0.1', port } }), { code: 'EADDRINUSE', port });
  await service.app.close();
  await t.rejects(fetch(url));
});
