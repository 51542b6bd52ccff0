import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { freePort } from '../setup/free-port.js';
import { AUDIENCE } from '../setup/issuer.js';
import { startProxy } from '../setup/proxy.js';
import { openConnection } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { until, untilReady } from '../setup/wait.js';

// Each test waits for a stop, which takes some seconds.
t.jobs = 4;

// The issuer and the database of this service also serve a second one: the shipped process.
const service = await startService(t);
const club = await service.db.makeClub();
const PROGRAM: [string, ...string[]] = [process.execPath, 'dist/server.js'];

/** Runs the service; the process ends with the test at the latest. */
function run(
  t: Test,
  port: number,
  metricsPort: number,
  [file, ...args]: [string, ...string[]],
  log: number | 'ignore' | 'pipe',
  databaseUrl: string,
): ChildProcess {
  const child = spawn(file, args, {
    // Its own process group, so that a failed test leaves no process behind.
    detached: true,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATABASE_URL: databaseUrl,
      AUTH_ISSUER: service.issuer.url,
      AUTH_AUDIENCE: AUDIENCE,
    },
    stdio: ['ignore', log, log === 'ignore' ? 'inherit' : 'pipe'],
  });
  t.teardown(() => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // Every process of the group has ended.
    }
  });
  return child;
}

/** Runs the service, and waits until it is ready. */
async function startProcess(
  t: Test,
  port: number,
  metricsPort: number,
  program: [string, ...string[]],
  log: number | 'ignore' | 'pipe' = 'ignore',
): Promise<ChildProcess> {
  const child = run(t, port, metricsPort, program, log, service.db.url);
  await untilReady(child, `http://127.0.0.1:${port}/readyz`);
  return child;
}

const originOf = (port: number) => `http://127.0.0.1:${port}`;

/** Sends a request on its own connection. */
const get = (port: number, path: string) =>
  openConnection(originOf(port), { keepAlive: false }).send('GET', path);

/** Waits until a process that has received a signal is no longer ready. */
const untilStopping = (port: number) =>
  until(
    () => get(port, '/readyz'),
    ({ status }) => status === 503,
  );

t.test(
  'a stop resets no connection: running requests finish, and keep-alive connections are closed with a response',
  async (t) => {
    const [port, metricsPort] = [await freePort(), await freePort()];
    // As docs/operate.md starts it: npm and its shell forward the signal.
    const child = await startProcess(t, port, metricsPort, ['npm', 'start']);
    const token = service.token({ sub: 'anna', clubs: { [club]: 'Member' } });
    const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': club };
    let answered = 0;

    // Each uses one keep-alive connection and stops at the response with `Connection: close`.
    const clients = Array.from({ length: 20 }, async () => {
      const connection = openConnection(originOf(port));
      for (;;) {
        const response = await connection.send('GET', '/api/tasks', { headers });
        t.equal(response.status, 200);
        answered += 1;
        if (response.headers.connection === 'close') {
          connection.close();
          return;
        }
        await sleep(20);
      }
    });
    await until(
      () => answered,
      (count) => count >= 40,
    );
    child.kill('SIGTERM');
    t.equal((await untilStopping(port)).status, 503, 'no longer ready');
    t.equal((await get(port, '/livez')).status, 200, 'but alive');
    const seen = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    t.match(await seen.text(), /route="\/api\/tasks",status="200"} \d/, 'and the last requests are counted');
    await Promise.all(clients);
    const [code] = await once(child, 'exit');
    t.equal(code, 0, 'in time: otherwise it kills itself');
    for (const left of [port, metricsPort]) {
      const gone = get(left, '/livez');
      await t.rejects(gone, { code: 'ECONNREFUSED' }, 'and no process is left');
    }
  },
);

t.test('a second signal, SIGTERM or SIGINT, ends the process at once, but not within a second', async (t) => {
  const signalTwice = async (second: NodeJS.Signals) => {
    const port = await freePort();
    const child = await startProcess(t, port, await freePort(), PROGRAM);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const first = performance.now();
    await untilStopping(port);
    // npm passes a signal on that its process group gets too.
    child.kill(second);
    return { port, child, exited, afterMs: performance.now() - first };
  };
  for (const second of ['SIGTERM', 'SIGINT'] as const) {
    // On a busy machine the second one can be late.
    const twice = () => signalTwice(second);
    const { port, child, exited } = await until(twice, ({ afterMs }) => afterMs < 800);
    t.equal((await get(port, '/livez')).status, 200, 'the same signal, received twice');
    await until(
      () => {
        child.kill(second);
        return child.exitCode ?? child.signalCode;
      },
      (end) => end !== null,
    );
    t.same(await exited, [null, second]);
  }
});

t.test(
  'npm that gets a signal with its whole process group passes it on, and the service drains',
  async (t) => {
    const port = await freePort();
    const child = await startProcess(t, port, await freePort(), ['npm', 'start', '--silent']);
    const exited = once(child, 'exit');
    process.kill(-(child.pid as number), 'SIGINT');
    t.equal((await untilStopping(port)).status, 503);
    t.equal((await get(port, '/livez')).status, 200, 'it serves while clients go elsewhere');
    await exited;
  },
);

t.test('a connection that never sends a request is cut, and the process ends in order', async (t) => {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const child = await startProcess(t, port, metricsPort, PROGRAM);
  const silent = [port, metricsPort].map((at) => connect(at, '127.0.0.1'));
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  const closed = silent.map((socket) => once(socket.resume(), 'close'));
  child.kill('SIGTERM');
  t.same(await once(child, 'exit'), [0, null], 'it does not kill itself');
  await Promise.all(closed);
});

t.test('a signal during the start ends the process at once', async (t) => {
  const database = await startProxy(t, service.db.url);
  database.greeting = 'say nothing';
  const child = run(t, await freePort(), await freePort(), PROGRAM, 'ignore', database.url);
  await until(
    () => database.accepted,
    (accepted) => accepted > 0,
  );
  child.kill('SIGTERM');
  t.same(await once(child, 'exit'), [0, null]);
});

t.test(
  'a client that connected before the stop gets a response, however late its request arrives',
  async (t) => {
    const own = await startService(t);
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = own.app.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    await once(own.app.server, 'connection');
    const closed = own.app.close();
    await until(
      () => own.app.server.listening,
      (listens) => !listens,
    );
    socket.write('GET /livez HTTP/1.1\r\nhost: club\r\n\r\n');
    const response = Buffer.concat(await socket.toArray()).toString();
    t.match(response, /^HTTP\/1\.1 200 /);
    t.match(response, /connection: close/i);
    await closed;
  },
);

/** Makes a megabyte of log lines: many times what a pipe, or a socket in its place, buffers. */
async function sendMany(t: Test, port: number): Promise<void> {
  const clients = Array.from({ length: 10 }, () => openConnection(originOf(port)));
  t.teardown(() => clients.map(({ close }) => close()));
  const responses = await Promise.all(
    clients.flatMap(({ send }) => Array.from({ length: 400 }, () => send('GET', '/api/tasks'))),
  );
  t.ok(responses.every(({ status }) => status === 401));
}

t.test('a full disk under the log stops neither responses nor the shutdown', async (t) => {
  const [port, full] = [await freePort(), await open('/dev/full', 'w')];
  t.teardown(() => full.close());
  const child = await startProcess(t, port, await freePort(), PROGRAM, full.fd);
  await sendMany(t, port);
  child.kill('SIGTERM');
  const [[code], stderr] = await Promise.all([once(child, 'exit'), child.stderr?.toArray()]);
  t.equal(code, 0);
  t.match(String(stderr), /The log cannot be written: ENOSPC/);
});

t.test('a log that is not read stops neither responses nor the shutdown', async (t) => {
  const port = await freePort();
  const child = await startProcess(t, port, await freePort(), PROGRAM, 'pipe');
  await sendMany(t, port);
  child.kill('SIGTERM');
  const [, signal] = await once(child, 'exit');
  t.equal(signal, 'SIGKILL', 'it kills itself');
});
