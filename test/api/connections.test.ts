import { pino } from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { AUDIENCE } from '../setup/issuer.js';
import { type Connection, listen, openConnection } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';
import { until } from '../setup/wait.js';

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
const origin = await listen(app);
await runAudit(app);
// On a slow machine the first audit can exceed its time limit, which is logged.
written.length = 0;

const newClient = () => openConnection(origin);

/** The status of a response, or the code of the error. */
const ask = ({ send }: Connection): Promise<number | string> =>
  send('GET', '/readyz').then(
    ({ status }) => status,
    ({ code }) => code,
  );

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
    inside.pop()?.close();
    const late = newClient();
    const served = await until(
      () => ask(late),
      (answer) => answer === 200,
    );
    t.equal(served, 200);
    t.equal(await ask(newClient()), 'ECONNRESET', 'full again');
    for (const agent of [...inside, late]) {
      agent.close();
    }
  },
);

t.test('many dropped connections are one log line that names the likely cause', async (t) => {
  t.equal(written.length, 1);
  t.match(JSON.parse(written[0] ?? ''), { level: 40, dropped: 1, max: MAX, ip: '127.0.0.1' });
});
