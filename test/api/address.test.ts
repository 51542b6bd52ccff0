import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { type App, buildApp } from '../../src/app.js';
import { readServerConfig, type Variable } from '../../src/config.js';
import { AUDIENCE } from '../setup/issuer.js';
import { sendBytesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const token = service.token({ sub: 'anna', clubs: { [north]: 'Admin' } });

const written: string[] = [];
const logger = pino({ level: 'info' }, { write: (line: string) => written.push(line) });

/** Builds the service with this log. */
async function build(settings: Partial<Record<Variable, string>> = {}): Promise<App> {
  const provided = {
    NODE_ENV: 'test',
    DATABASE_URL: service.db.url,
    AUTH_ISSUER: service.issuer.url,
    AUTH_AUDIENCE: AUDIENCE,
    ...settings,
  };
  const app = await buildApp(readServerConfig(provided, {}), service.database, logger, null);
  t.teardown(() => app.close());
  return app;
}

t.test(
  'the client address is the peer’s address; X-Forwarded-For counts only from a proxy in TRUST_PROXY',
  async (t) => {
    const client = '203.0.113.7';
    const wrong: unknown[] = [];
    for (const [trusted, cases] of Object.entries({
      '': [
        ['10.0.0.7', '', '10.0.0.7'],
        ['10.0.0.7', client, '10.0.0.7'],
      ],
      '10.0.0.0/8': [
        ['10.0.0.7', '', '10.0.0.7'],
        ['10.0.0.7', client, client],
        ['::ffff:10.0.0.7', client, client],
        ['192.0.2.1', client, '192.0.2.1'],
        ['10.0.0.7', `198.51.100.1, ${client}`, client],
        ['10.0.0.7', `198.51.100.1, ${client}, 10.1.1.1`, client],
      ],
      '192.0.2.1,fd00::/8': [
        ['192.0.2.1', client, client],
        ['fd00::1', '2001:db8::1', '2001:db8::1'],
        ['10.0.0.7', client, '10.0.0.7'],
      ],
    })) {
      const behind = await build({ TRUST_PROXY: trusted });
      for (const [remoteAddress = '', forwarded = '', expected] of cases) {
        for (const url of ['/livez', '/api/tasks', '/api/nothing']) {
          written.length = 0;
          const headers = forwarded === '' ? {} : { 'x-forwarded-for': forwarded };
          await behind.inject({ url, headers, remoteAddress });
          const addresses = written.map((line) => JSON.parse(line).ip).join();
          if (addresses !== expected) {
            wrong.push({ trusted, remoteAddress, forwarded, url, addresses });
          }
        }
      }
    }
    t.same(wrong, []);
  },
);

t.test(
  'the log has a client address, and no fault of the service, for a malformed message and an aborted request',
  async (t) => {
    const app = await build();
    const sendBytes = await sendBytesTo(app);
    const signedIn = `Host: a\r\nAuthorization: Bearer ${token}\r\nX-Tenant-Id: ${north}`;
    for (const [bytes, answers] of [
      [`GET /api/tasks/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 1],
      ['FOO / HTTP/1.1\r\nHost: a\r\n\r\n', Number.POSITIVE_INFINITY],
      ...['application/json', 'text/plain'].map(
        (type) =>
          [
            `POST /api/tasks HTTP/1.1\r\n${signedIn}\r\nContent-Type: ${type}\r\nContent-Length: 9\r\n\r\n`,
            0,
          ] as const,
      ),
    ] as const) {
      written.length = 0;
      await sendBytes(bytes, answers);
      await sleep(50);
      const lines = written.map((line) => JSON.parse(line));
      t.ok(
        lines.length > 0 && lines.every(({ ip, level }) => ip === '127.0.0.1' && level === 30),
        written.join(),
      );
    }
  },
);

t.test('when a trusted proxy forwards something that is no address, the log says unknown', async (t) => {
  const app = await build({ TRUST_PROXY: '10.0.0.0/8' });
  for (const forwarded of ['x'.repeat(5_000), '"}{"a":1', '999.1.1.1']) {
    written.length = 0;
    await app.inject({ url: '/livez', remoteAddress: '10.0.0.7', headers: { 'x-forwarded-for': forwarded } });
    t.match(JSON.parse(written.at(-1) ?? '{}'), { ip: 'unknown' }, forwarded.slice(0, 20));
  }
});
