import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { root } from '../../tools/root.js';
import { freePort } from '../setup/free-port.js';
import { runAudit, startService } from '../setup/service.js';
import { until } from '../setup/wait.js';

// The files of docs/operate.md, with other ports and shorter times, in front of the service.
const metricsPort = await freePort();
const written: string[] = [];
const service = await startService(
  t,
  { trustProxy: ['127.0.0.1'], metrics: { host: '127.0.0.1', port: metricsPort } },
  undefined,
  { write: (line: string) => void written.push(line) },
);
await runAudit(service);
await service.app.listen({ host: '127.0.0.1', port: 0 });
const { port: servicePort } = service.app.server.address() as AddressInfo;
const club = await service.db.makeClub('north');
const token = service.token({ sub: 'anna', name: 'anna', clubs: { [club]: 'Manager' } });
const HEAD = `host: club\r\nauthorization: Bearer ${token}\r\nx-tenant-id: ${club}\r\n`;
const SECRET = 'a-secret-that-is-logged';
const CALENDAR = `/calendars/${club}/${SECRET}.ics`;
const page = await readFile(join(root, 'docs/operate.md'), 'utf8');
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

interface Proxy {
  program: string;
  /** The arguments that check a configuration, and those that run it. */
  check: string[];
  run: string[];
  /** The configuration around the block of the page, with a log of requests that is sent to a port as syslog. */
  wrap(block: string, directory: string, logPort: number): string;
}

const proxies: Record<'nginx' | 'haproxy', Proxy> = {
  nginx: {
    program: 'nginx',
    check: ['-t', '-c'],
    run: ['-g', 'daemon off;', '-c'],
    wrap: (block, directory, logPort) => `
      pid ${directory}/nginx.pid; error_log syslog:server=127.0.0.1:${logPort}; worker_processes 1;
      ${process.getuid?.() === 0 ? 'user root;' : ''}
      events { worker_connections 1024; }
      http {
        access_log syslog:server=127.0.0.1:${logPort}; client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy;
        fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
        ${block}
      }`,
  },
  haproxy: {
    program: 'haproxy',
    check: ['-c', '-f'],
    run: ['-db', '-f'],
    wrap: (block, _directory, logPort) =>
      `global\n  log 127.0.0.1:${logPort} local0\n${block.replace('mode http', 'mode http\n  log global\n  option httplog')}`,
  },
};

/** Checks the configuration and starts a proxy; returns its port, and what it has logged so far. */
async function startProxy(
  t: Test,
  name: keyof typeof proxies,
): Promise<{ port: number; logged: () => string }> {
  const { program, check, run, wrap } = proxies[name];
  const directory = await mkdtemp(join(tmpdir(), `club-${name}-`));
  const port = await freePort();
  const [, block = ''] = new RegExp(`\`\`\`${name}\n(.*?)\`\`\``, 's').exec(page) ?? [];
  t.ok(block.includes('127.0.0.1:3000') && block.includes('127.0.0.1:8080'));
  const lines: string[] = [];
  const log = createSocket('udp4', (line) => lines.push(line.toString()));
  t.teardown(() => log.close());
  await new Promise<void>((resolve) => log.bind(0, '127.0.0.1', resolve));
  const text = wrap(block, directory, log.address().port)
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${servicePort}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replaceAll('9464', String(metricsPort))
    .replaceAll(
      /(client_body_timeout|client_header_timeout|send_timeout|timeout client|timeout http-request) \d+s/g,
      '$1 1s',
    )
    // A flood must exceed the limits even on a slow machine.
    .replace('rate=100r/s', 'rate=10r/s')
    .replace('gt 1000', 'gt 400');
  const file = join(directory, `${name}.conf`);
  await writeFile(file, `${text}\n`);
  const checked = spawnSync(program, [...check, file], { env: ENV, encoding: 'utf8' });
  t.equal(checked.status, 0, checked.stderr + checked.stdout);
  const child: ChildProcess = spawn(program, [...run, file], { env: ENV, stdio: 'ignore' });
  t.teardown(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    await rm(directory, { recursive: true, force: true });
  });
  await until(
    () =>
      fetch(`http://127.0.0.1:${port}/livez`).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status === 200,
  );
  return { port, logged: () => lines.join('\n') };
}

const isInstalled = (program: string) => spawnSync(program, ['-v'], { env: ENV }).error === undefined;

for (const name of ['nginx', 'haproxy'] as const) {
  t.test(
    `through ${name} as docs/operate.md configures it`,
    { skip: !isInstalled(proxies[name].program) && `${name} is missing; install ${name}` },
    async (t) => {
      const { port, logged } = await startProxy(t, name);
      const get = (path: string, headers: Record<string, string> = {}) => {
        const send = () =>
          fetch(`http://127.0.0.1:${port}${path}`, {
            headers: { authorization: `Bearer ${token}`, 'x-tenant-id': club, ...headers },
          });
        // On a busy machine the proxy closes a connection that was idle for a second when fetch uses it again.
        return send().catch(send);
      };

      await t.test('a request gets its response, and a forged X-Forwarded-For is ignored', async (t) => {
        written.length = 0;
        const response = await get('/api/tasks', { 'x-forwarded-for': '203.0.113.7' });
        t.equal(response.status, 200);
        await until(
          () => written.join(''),
          (text) => text.includes('"route":"/api/tasks"'),
        );
        t.match(written.join(''), /"ip":"127\.0\.0\.1"/);
        t.notMatch(written.join(''), '203.0.113.7');
      });

      await t.test('a calendar gets its response, and its path is in no log of the proxy', async (t) => {
        t.equal((await get(CALENDAR)).status, 404);
        t.equal((await get('/livez?after')).status, 400);
        t.match(await until(logged, (text) => text.includes('/livez?after')), '/livez?after');
        t.notMatch(logged(), SECRET);
      });

      await t.test('a token of 9 KB reaches the service, and one of 17 KB is refused', async (t) => {
        const long = (bytes: number) =>
          service.token({
            sub: 'anna',
            name: 'anna',
            clubs: { [club]: 'Manager' },
            groups: 'x'.repeat(bytes * 0.75),
          });
        const { status } = await get('/api/tasks', { authorization: `Bearer ${await long(9_000)}` });
        t.equal(status, 200);
        const refused = await get('/api/tasks', { authorization: `Bearer ${await long(17_000)}` });
        t.ok([400, 431].includes(refused.status), String(refused.status));
      });

      await t.test(
        'a slow body is cut off by the proxy, and the service never gets the request',
        async (t) => {
          written.length = 0;
          const socket = connect(port, '127.0.0.1');
          socket.on('error', () => {});
          socket.write(
            `POST /api/tasks HTTP/1.1\r\n${HEAD}content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"title`,
          );
          const responses: Buffer[] = [];
          socket.on('data', (chunk) => responses.push(chunk));
          await new Promise((resolve) => socket.once('close', resolve));
          t.match(Buffer.concat(responses).toString(), /^(HTTP\/1\.[01] 408 |$)/);
          t.notMatch(written.join(''), '"method":"POST"');
          t.equal((await get('/livez')).status, 200);
        },
      );

      await t.test('a slow reader does not occupy the service', async (t) => {
        written.length = 0;
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        socket.pause();
        socket.write(`GET /docs/swagger-ui-bundle.js HTTP/1.1\r\n${HEAD}\r\n`);
        // The proxy takes the whole response, or cuts it off: the service is finished in both cases.
        const done = await until(
          () => written.join(''),
          (text) => text.includes('swagger-ui-bundle.js'),
        );
        t.match(done, 'swagger-ui-bundle.js');
        socket.destroy();
      });

      await t.test(
        'a flood from one address is refused by the proxy and does not reach the service',
        async (t) => {
          // Earlier requests are in the log.
          written.length = 0;
          t.equal((await get('/livez')).status, 200);
          const logged200 = () => written.join('').split('"route":"/livez"').length - 1;
          await until(logged200, (count) => count > 0);
          written.length = 0;
          const statuses = new Map<number, number>();
          const FLOOD = 1_500;
          await Promise.all(
            Array.from({ length: 40 }, async () => {
              for (let count = 0; count < FLOOD / 40; count += 1) {
                const response = await get('/livez').catch(() => undefined);
                await response?.body?.cancel();
                const status = response?.status ?? 0;
                statuses.set(status, (statuses.get(status) ?? 0) + 1);
              }
            }),
          );
          t.ok((statuses.get(429) ?? 0) > 0 && (statuses.get(200) ?? 0) > 0, JSON.stringify([...statuses]));
          const passed = statuses.get(200) ?? 0;
          t.equal(await until(logged200, (count) => count >= passed), passed);
          // nginx logs what it refuses, with the request line.
          for (const path of [CALENDAR, '/livez?refused']) {
            await until(
              () => Promise.all(Array.from({ length: 20 }, () => get(path))),
              (responses) => responses.some(({ status }) => status === 429),
              { everyMs: 1 },
            );
          }
          await until(logged, (text) => text.includes('/livez?refused'));
          t.notMatch(logged(), SECRET);
        },
      );
    },
  );
}
