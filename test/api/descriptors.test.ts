import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { freePort } from '../setup/free-port.js';
import { AUDIENCE } from '../setup/issuer.js';
import { openConnection } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { until } from '../setup/wait.js';

/** Just enough to load the program. */
const DESCRIPTORS = 300;

const service = await startService(t);
const club = await service.db.makeClub();
const headers = {
  authorization: `Bearer ${service.token({ sub: 'anna', clubs: { [club]: 'Member' } })}`,
  'x-tenant-id': club,
};
const port = await freePort();
const connection = openConnection(`http://127.0.0.1:${port}`);

/** Starts the shipped process with few descriptors. */
function startProcess(t: Test): ChildProcess {
  const child = spawn(
    'sh',
    ['-c', `ulimit -n ${DESCRIPTORS} && exec "$0" dist/server.js`, process.execPath],
    {
      env: {
        PATH: process.env.PATH,
        PORT: String(port),
        LOG_LEVEL: 'silent',
        DATABASE_URL: service.db.url,
        AUTH_ISSUER: service.issuer.url,
        AUTH_AUDIENCE: AUDIENCE,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  t.teardown(async () => {
    connection.close();
    if (child.kill('SIGKILL')) {
      await once(child, 'exit');
    }
  });
  return child;
}

/** Sends a request on the one keep-alive connection. */
const ask = (path: string) => connection.send('GET', path, { headers });
const statusOf = (path: string) =>
  ask(path).then(
    ({ status }) => status,
    () => undefined,
  );

t.test('without free file descriptors, only requests that need one are a 503', async (t) => {
  const child = startProcess(t);
  await until(
    () => statusOf('/readyz'),
    (status) => status === 200 || child.exitCode !== null,
    { everyMs: 50 },
  );
  t.equal(await statusOf('/api/tasks'), 200);

  const clients = Array.from({ length: DESCRIPTORS }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await sleep(300);
  t.equal(await statusOf('/api/tasks'), 200, 'an open connection to the database keeps working');
  t.equal(await statusOf('/docs/swagger-ui-bundle.js'), 200, 'the files of /docs were read at the start');
  // Again and again: the descriptor of the lost connection goes to a client or to the service's next connection.
  const refused = await until(
    async () => {
      await service.db.queryAsAdmin(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where usename = 'club_api' and datname = current_database()`,
      );
      clients.push(
        ...Array.from({ length: DESCRIPTORS }, () => connect(port, '127.0.0.1').on('error', () => {})),
      );
      await sleep(100);
      return ask('/api/tasks');
    },
    ({ status }) => status === 503,
  );
  t.match(refused, {
    status: 503,
    body: { code: 'service_unavailable' },
    headers: { 'retry-after': '1', 'cache-control': 'private, no-cache' },
  });
  for (const client of clients) {
    client.destroy();
  }
  const status = await until(
    () => statusOf('/api/tasks'),
    (seen) => seen === 200,
  );
  t.equal(status, 200, 'afterwards every request is answered');
  t.equal(child.exitCode, null);
});
