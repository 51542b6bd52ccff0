import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { IssuerKeys } from '../../src/auth/jwks.js';
import { jwkOf, newKey, startIssuer } from '../setup/issuer.js';
import { until } from '../setup/wait.js';
import { ACCEPTED, startOfflineService } from '../setup/without-database.js';

const HOUR_MS = 3_600_000;

/** A service that has fetched the issuer's keys once, and a clock that the test sets. */
async function withKnownKeys(t: Test) {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  const realNow = Date.now;
  const clock = { aheadMs: 0 };
  t.intercept(Date, 'now', { value: () => realNow() + clock.aheadMs });
  const exp = Math.floor(realNow() / 1000) + 48 * 3600;
  t.equal(await offline.code(provider.sign({ exp })), ACCEPTED);
  let count = 0;
  /** A new token: a cached one is accepted without a key. */
  const fresh = (options = {}) => {
    count += 1;
    return provider.sign({ exp, sub: `person-${count}` }, options);
  };
  const unknown = () => fresh({ key: newKey('ES256').privateKey, header: { kid: `unknown-${count}` } });
  return { provider, offline, clock, fresh, unknown, exp };
}

const troubles: [what: string, answer: (response: ServerResponse) => void][] = [
  ['sends nothing', () => {}],
  ['closes the connection', (response) => response.destroy()],
  ['answers 500', (response) => response.writeHead(500).end('{"keys":[]}')],
  ['sends HTML', (response) => response.writeHead(200).end('<html>')],
  ['sends an empty object', (response) => response.writeHead(200).end('{}')],
  ['sends unusable keys', (response) => response.writeHead(200).end('{"keys":[null, 5, {"kty": "no"}]}')],
  ['redirects', (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['stops in the middle of the body', (response) => response.writeHead(200, { 'content-length': '500' }).end('{"keys":', () => response.destroy())],
]; // biome-ignore format: a trouble a line

for (const [what, answer] of troubles) {
  t.test(`while the issuer ${what}, known keys are used for an hour and unknown ones are not`, async (t) => {
    const { provider, offline, clock, fresh, unknown } = await withKnownKeys(t);
    const keys = provider.documents.get('/jwks');
    provider.documents.set('/jwks', answer);
    for (const hours of [0.2, 0.5, 0.9]) {
      clock.aheadMs = hours * HOUR_MS;
      t.same(
        [await offline.code(fresh()), await offline.code(fresh())],
        [ACCEPTED, ACCEPTED],
        `after ${hours} h`,
      );
      t.equal(await offline.code(unknown()), 'invalid_token');
    }
    clock.aheadMs = HOUR_MS;
    t.same(
      [await offline.code(fresh()), await offline.code(unknown())],
      Array(2).fill('service_unavailable'),
    );
    provider.documents.set('/jwks', keys);
    clock.aheadMs += HOUR_MS;
    t.equal(await offline.code(fresh()), ACCEPTED);
  });
}

t.test(
  'after an hour without requests, a failed fetch is a 503, and the next request tries again',
  async (t) => {
    const { provider, offline, clock, fresh } = await withKnownKeys(t);
    clock.aheadMs = HOUR_MS;
    await provider.stop();
    t.equal(await offline.code(fresh()), 'service_unavailable');
    await provider.start();
    t.equal(await offline.code(fresh()), ACCEPTED, 'at once');
  },
);

t.test('the log says why keys could not be fetched, without the address or the response', async (t) => {
  const reasons: string[] = [];
  const reasonFor = async (url: string) => {
    const keys = new IssuerKeys({ issuer: 'urn:example:issuer', jwksUrl: url }, (reason) =>
      reasons.push(reason),
    );
    await keys.find({ alg: 'ES256', kid: 'any' }).catch(() => {});
    return reasons.pop();
  };
  const provider = await startIssuer(t);
  const answered = (answer: (response: ServerResponse) => void) => {
    provider.documents.set('/jwks', answer);
    return reasonFor(`${provider.url}/jwks`);
  };
  t.equal(await answered((response) => response.writeHead(500).end()), 'The answer was 500.');
  const elsewhere = `${provider.url}/elsewhere`;
  for (const status of [301, 302, 307, 308]) {
    t.equal(
      await answered((response) => response.writeHead(status, { location: elsewhere }).end()),
      'The answer is a redirect, which is not followed.',
    );
  }
  t.equal(provider.fetches.get('/elsewhere'), undefined);
  const unclear = 'The request or its answer could not be understood.';
  t.equal(await answered((response) => response.writeHead(200).end('{"d": "a private key"')), unclear);
  t.equal(await reasonFor('http://anna:a-password@127.0.0.1:1/jwks'), unclear);
  await provider.stop();
  t.match(await reasonFor(`${provider.url}/jwks?key=a-password`), /^The request failed: [A-Z_]+\.$/);
});

t.test('the keys are fetched at the start, and the log says at once when they cannot be', async (t) => {
  const provider = await startIssuer(t);
  const lines: string[] = [];
  const log = { write: (line: string) => void lines.push(line) };
  const { app } = await startOfflineService(t, { issuer: provider.url, log });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await until(
    () => provider.fetches.get('/jwks') ?? 0,
    (count) => count === 1,
  );
  t.same(lines, []);

  await provider.stop();
  const late = await startOfflineService(t, { issuer: provider.url, log });
  await late.app.listen({ host: '127.0.0.1', port: 0 });
  await until(
    () => lines,
    ({ length }) => length === 1,
  );
  t.match(lines[0], 'could not be fetched: check AUTH_ISSUER');
  await provider.start();
  t.equal(await late.code(provider.sign()), ACCEPTED, 'the first token tries again');
});

t.test('while keys cannot be fetched, few lines of the log say so', async (t) => {
  const provider = await startIssuer(t);
  await provider.stop();
  const lines: { level: number; failures: number; msg: string }[] = [];
  const log = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const offline = await startOfflineService(t, { issuer: provider.url, log });
  const codes = new Set<string>();
  for (let count = 0; count < 50; count += 1) {
    codes.add(await offline.code(provider.sign({ sub: `person-${count}` })));
  }
  t.same([...codes], ['service_unavailable']);
  t.match(lines[0], {
    level: 40,
    failures: 1,
    reason: /ECONNREFUSED/,
    msg: /could not be fetched: check AUTH_/,
  });
  // Fifty requests take longer than ten seconds only on a slow machine.
  t.ok(lines.length < 10, `${lines.length} lines`);
});

t.test('no request waits for a slow issuer whose keys are cached', async (t) => {
  const { provider, offline, clock, fresh } = await withKnownKeys(t);
  let asked = 0;
  const silent = () => {
    asked += 1;
  };
  provider.documents.set('/jwks', silent);
  clock.aheadMs = HOUR_MS / 2;
  // The issuer does not respond: these are answered meanwhile.
  for (let turn = 0; turn < 5; turn += 1) {
    t.equal(await offline.code(fresh()), ACCEPTED);
  }
  await until(
    () => asked,
    (count) => count > 0,
  );
  t.equal(asked, 1, 'and it gets one request');
});

t.test('a response without end is cut off at a limit', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  let sentBytes = 0;
  let isOver = false;
  const keys = provider.documents.get('/jwks');
  provider.documents.set('/jwks', async (response: ServerResponse) => {
    response.on('close', () => {
      isOver = true;
    });
    response.writeHead(200).write('{"keys":[');
    while (!isOver && sentBytes < 1e9) {
      const part = '{},'.repeat(20_000);
      sentBytes += part.length;
      if (!response.write(part)) {
        await Promise.race([new Promise((resolve) => response.once('drain', resolve)), sleep(20)]);
      }
    }
    response.destroy();
  });
  t.equal(await offline.code(provider.sign()), 'service_unavailable');
  t.ok(sentBytes < 50e6, `${sentBytes} bytes left the issuer`);
  provider.documents.set('/jwks', keys);
  t.equal(await offline.code(provider.sign()), ACCEPTED);
});

t.test('unknown key ids cause few fetches, with the issuer up or down', async (t) => {
  const { provider, offline, clock, unknown, fresh } = await withKnownKeys(t);
  const fetches = () => provider.fetches.get('/jwks') ?? 0;
  const flood = async () => {
    const before = fetches();
    const codes = await Promise.all(Array.from({ length: 100 }, () => offline.code(unknown())));
    t.same([...new Set(codes)], ['invalid_token']);
    return fetches() - before;
  };
  t.ok((await flood()) <= 1);
  provider.documents.set('/jwks', (response: ServerResponse) => response.writeHead(500).end());
  clock.aheadMs = HOUR_MS / 2;
  t.ok((await flood()) <= 1);
  t.ok((await flood()) <= 1);
  t.equal(await offline.code(fresh()), ACCEPTED);
});

t.test('a new key is found at once, although the other keys are cached', async (t) => {
  const { provider, offline, clock, exp } = await withKnownKeys(t);
  const added = newKey('ES256');
  const { keys } = provider.documents.get('/jwks') as { keys: object[] };
  provider.documents.set('/jwks', { keys: [...keys, jwkOf(added.publicKey, 'ES256', 'added')] });
  clock.aheadMs = 60_000;
  const token = provider.sign({ exp }, { key: added.privateKey, header: { kid: 'added' } });
  t.equal(await offline.code(token), ACCEPTED);
});
