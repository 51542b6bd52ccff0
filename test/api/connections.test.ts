import { Agent, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { AUDIENCE, runAudit, startService } from '../setup/service.js';

const MAX = 3;
const service = await startService(t);
const written: string[] = [];
const app = await buildApp(
  readServerConfig(
    {
      NODE_ENV: 'test',
      DATABASE_URL: service.db.url,
      AUTH_ISSUER: service.issuer.url,
      AUTH_AUDIENCE: AUDIENCE,
      MAX_CONNECTIONS: String(MAX),
    },
    {},
  ),
  service.database,
  pino({ level: 'warn' }, { write: (line: string) => written.push(line) }),
  null,
);
t.teardown(() => app.close());
await app.listen({ host: '127.0.0.1', port: 0 });
await runAudit(app);
// On a slow machine the first audit can exceed its time limit, which is logged.
written.length = 0;
const { port } = app.server.address() as AddressInfo;

/** A client with one keep-alive connection. */
const newClient = () => new Agent({ keepAlive: true, maxSockets: 1 });

/** The status of an answer, or the error. */
function ask(agent: Agent): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/readyz', agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    }).once('error', (error: Error & { code?: string }) => resolve(error.code));
  });
}

t.test(
  'a connection over the limit is dropped, the open ones continue, and a closed one frees its place',
  async (t) => {
    const inside = Array.from({ length: MAX }, newClient);
    t.same(await Promise.all(inside.map(ask)), [200, 200, 200]);
    const beyond = Array.from({ length: 20 }, newClient);
    for (let round = 0; round < 3; round += 1) {
      t.same([...new Set(await Promise.all(beyond.map(ask)))], ['ECONNRESET']);
      t.same(await Promise.all(inside.map(ask)), [200, 200, 200], 'on the same connections');
    }
    inside.pop()?.destroy();
    const late = newClient();
    let answer = await ask(late);
    for (let tries = 0; answer !== 200 && tries < 100; tries += 1) {
      await sleep(20);
      answer = await ask(late);
    }
    t.equal(answer, 200);
    t.equal(await ask(newClient()), 'ECONNRESET', 'full again');
    for (const agent of [...inside, late]) {
      agent.destroy();
    }
  },
);

t.test('many dropped connections are one log line that names the likely cause', async (t) => {
  t.equal(written.length, 1);
  t.match(JSON.parse(written[0] ?? ''), { level: 40, dropped: 1, max: MAX, ip: '127.0.0.1' });
});
