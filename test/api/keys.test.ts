import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { IssuerKeys } from '../../src/auth/jwks.js';
import { stopClock } from '../setup/clock.js';
import { type Issuer, jwkOf, newKey, type SignOptions, startIssuer } from '../setup/issuer.js';
import { until } from '../setup/wait.js';
import { ACCEPTED, startOfflineService } from '../setup/without-database.js';

const DISCOVERY = '/.well-known/openid-configuration';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Without usable keys the issuer is asked again after this time. */
const PAUSE_MS = 1_000;

/** Ends the time-out of the last fetch, which waits for this instead of the clock. */
let expire = (): void => {
  throw new Error('A fetch has no time-out.');
};

/** A service without known keys, and a clock that the test sets. */
async function start(t: Test) {
  const issuer = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: issuer.url });
  const nowMs = Date.now();
  const clock = { aheadMs: 0 };
  t.intercept(Date, 'now', { value: () => nowMs + clock.aheadMs });
  t.intercept(AbortSignal, 'timeout', {
    value: () => {
      const controller = new AbortController();
      expire = () => controller.abort(new DOMException('The time is over.', 'TimeoutError'));
      return controller.signal;
    },
  });
  const exp = Math.floor(nowMs / 1000) + 48 * 3600;
  let count = 0;
  /** A new token: one that was verified is cached. */
  const fresh = (options: SignOptions = {}) => {
    count += 1;
    return issuer.sign({ exp, sub: `person-${count}` }, options);
  };
  /** A new token, signed by a key that the issuer does not have. */
  const unknown = () => fresh({ key: newKey('ES256').privateKey, header: { kid: `unknown-${count}` } });
  return { issuer, offline, clock, fresh, unknown };
}

/** A service that has fetched the keys of its issuer once. */
async function startWithKeys(t: Test) {
  const started = await start(t);
  t.equal(await started.offline.code(started.fresh()), ACCEPTED);
  return started;
}

t.test('the keys are found by discovery from the issuer', async (t) => {
  const { issuer } = await startWithKeys(t);
  t.equal(issuer.fetches.get(DISCOVERY), 1);
  t.equal(issuer.fetches.get('/jwks'), 1);
});

t.test('with AUTH_JWKS_URL the issuer is only compared, and never requested', async (t) => {
  const provider = await startIssuer(t);
  provider.documents.delete(DISCOVERY);
  const offline = await startOfflineService(t, {
    issuer: 'urn:example:issuer',
    jwksUrl: `${provider.url}/jwks`,
  });
  t.equal(await offline.code(provider.sign({ iss: 'urn:example:issuer' })), ACCEPTED);
  t.equal(await offline.code(provider.sign()), 'invalid_token', 'another issuer, the same key');
  t.equal(provider.fetches.get(DISCOVERY), undefined);
});

t.test('the keys are fetched at the start, and a failure is logged at once', async (t) => {
  const issuer = await startIssuer(t);
  const lines: string[] = [];
  const log = { write: (line: string) => void lines.push(line) };
  const { app } = await startOfflineService(t, { issuer: issuer.url, log });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await until(
    () => issuer.fetches.get('/jwks') ?? 0,
    (count) => count === 1,
  );
  t.same(lines, []);

  await issuer.stop();
  const late = await startOfflineService(t, { issuer: issuer.url, log });
  await late.app.listen({ host: '127.0.0.1', port: 0 });
  await until(
    () => lines,
    ({ length }) => length === 1,
  );
  t.match(lines[0], 'could not be fetched: check AUTH_ISSUER');
  await issuer.start();
  const code = await until(
    () => late.code(issuer.sign()),
    (code) => code === ACCEPTED,
  );
  t.equal(code, ACCEPTED, 'a token tries again');
});

type Trouble = (issuer: Issuer) => unknown;
/** It sends this in place of its key set, or of its discovery document. */
const keySet =
  (document: unknown): Trouble =>
  ({ documents }) =>
    documents.set('/jwks', document);
const discovery =
  (document: unknown): Trouble =>
  ({ documents }) =>
    documents.set(DISCOVERY, document);
const sends = (status: number, text: string) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);

const troubles: Record<string, Trouble> = {
  'is down': (issuer) => issuer.stop(),
  'sends nothing': keySet(() => expire()),
  'closes the connection': keySet((response: ServerResponse) => response.destroy()),
  'stops in the middle of the keys': keySet((response: ServerResponse) =>
    response.writeHead(200, { 'content-length': '500' }).write('{"keys":', () => expire()),
  ),
  'closes the connection in the middle of the keys': keySet((response: ServerResponse) =>
    response.writeHead(200, { 'content-length': '500' }).write('{"keys":', () => response.destroy()),
  ),
  'redirects': keySet((response: ServerResponse) =>
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  ),
  'sends its keys with a 500': (issuer) => keySet(sends(500, JSON.stringify(issuer.documents.get('/jwks'))))(issuer),
  'sends HTML as its keys': keySet(sends(200, '<html>')),
  'sends no key set': keySet({}),
  'sends a list': keySet([]),
  'sends an empty key set': keySet({ keys: [] }),
  'sends unusable keys': keySet({ keys: [null, 5, { kty: 'no' }] }),
  'has an error as its discovery document': discovery(sends(500, '{}')),
  'has HTML as its discovery document': discovery(sends(200, '<html>')),
  'has an empty discovery document': discovery(sends(200, '')),
  'has the discovery document of another issuer': (issuer) =>
    discovery({ issuer: 'https://elsewhere.example', jwks_uri: `${issuer.url}/jwks` })(issuer),
  'names no key set in its discovery document': (issuer) => discovery({ issuer: issuer.url })(issuer),
}; // biome-ignore format: a trouble a line

t.test(
  'while the issuer sends no usable keys, known ones are used for an hour; without any a token is a 503, and the next request tries again',
  async (t) => {
    for (const [what, trouble] of Object.entries(troubles)) {
      await t.test(`it ${what}`, async (t) => {
        const { issuer, offline, clock, fresh, unknown } = await start(t);
        const documents = [...issuer.documents];
        const end = async () => {
          for (const [path, document] of documents) {
            issuer.documents.set(path, document);
          }
          await issuer.start();
          clock.aheadMs += PAUSE_MS;
        };

        await trouble(issuer);
        const headers = { authorization: `Bearer ${fresh()}` };
        const refused = await offline.send('GET', '/api/clubs/me', { headers });
        t.match(refused, { status: 503, body: { code: 'service_unavailable' } });
        t.match(refused.headers['retry-after'], /^[1-9]\d*$/);
        t.equal(offline.connections(), 0, 'the database is not used');
        t.equal(await offline.code(fresh({ header: { alg: 'none' } })), 'invalid_token', 'it needs no key');
        await end();
        t.equal(await offline.code(fresh()), ACCEPTED, 'the failure is not cached');

        await trouble(issuer);
        let verified = '';
        for (const minutes of [0, 12, 30, 58]) {
          clock.aheadMs = minutes * MINUTE_MS;
          verified = fresh();
          t.equal(await offline.code(verified), ACCEPTED, `after ${minutes} minutes`);
          t.equal(await offline.code(unknown()), 'invalid_token', `after ${minutes} minutes`);
          t.equal(await offline.code(fresh()), ACCEPTED, 'once a fetch has failed');
        }
        clock.aheadMs = 59 * MINUTE_MS + 1_000;
        t.equal(await offline.code(fresh()), 'service_unavailable');
        clock.aheadMs = HOUR_MS;
        t.equal(await offline.code(verified), 'service_unavailable', 'a token that was verified before, too');
        t.equal(await offline.code(unknown()), 'service_unavailable');
        await end();
        t.equal(await offline.code(fresh()), ACCEPTED);

        await trouble(issuer);
        clock.aheadMs += HOUR_MS;
        t.equal(await offline.code(fresh()), 'service_unavailable', 'after an hour without requests');
        await end();
        t.equal(await offline.code(fresh()), ACCEPTED);
      });
    }
  },
);

t.test('no request waits for a slow issuer whose keys are cached', async (t) => {
  const { issuer, offline, clock, fresh } = await startWithKeys(t);
  let requests = 0;
  issuer.documents.set('/jwks', () => {
    requests += 1;
  });
  clock.aheadMs = HOUR_MS / 2;
  // The issuer does not respond: these are answered meanwhile.
  for (let turn = 0; turn < 5; turn += 1) {
    t.equal(await offline.code(fresh()), ACCEPTED);
  }
  await until(
    () => requests,
    (count) => count > 0,
  );
  t.equal(requests, 1, 'and it gets one request');
});

t.test('a response without end is cut off at a limit', async (t) => {
  const { issuer, offline, clock, fresh } = await start(t);
  let sentBytes = 0;
  let isOver = false;
  const keys = issuer.documents.get('/jwks');
  issuer.documents.set('/jwks', async (response: ServerResponse) => {
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
  t.equal(await offline.code(fresh()), 'service_unavailable');
  t.ok(sentBytes < 50e6, `${sentBytes} bytes left the issuer`);
  issuer.documents.set('/jwks', keys);
  clock.aheadMs = PAUSE_MS;
  t.equal(await offline.code(fresh()), ACCEPTED);
});

t.test('unknown key ids cause few fetches, with the issuer up or down', async (t) => {
  const { issuer, offline, clock, unknown, fresh } = await startWithKeys(t);
  const fetches = () => issuer.fetches.get('/jwks') ?? 0;
  const flood = async (expected = 'invalid_token') => {
    const before = fetches();
    const codes = await Promise.all(Array.from({ length: 100 }, () => offline.code(unknown())));
    t.same([...new Set(codes)], [expected]);
    return fetches() - before;
  };
  t.ok((await flood()) <= 1);
  issuer.documents.set('/jwks', (response: ServerResponse) => response.writeHead(500).end());
  clock.aheadMs = HOUR_MS / 2;
  t.ok((await flood()) <= 1);
  t.ok((await flood()) <= 1);
  t.equal(await offline.code(fresh()), ACCEPTED);
  // No key can be used any more: the issuer is asked again once in a second.
  for (clock.aheadMs += HOUR_MS; clock.aheadMs < 2 * HOUR_MS; clock.aheadMs += 10 * MINUTE_MS) {
    t.equal(await flood('service_unavailable'), 1);
    t.equal(await flood('service_unavailable'), 0, 'within the same second');
  }
});

t.test('all keys that share an id are tried, and no other', async (t) => {
  const { issuer, offline } = await start(t);
  const [first, second, stranger] = [newKey('ES256'), newKey('ES256'), newKey('ES256')];
  issuer.documents.set('/jwks', {
    keys: [first, second].map(({ publicKey }) => jwkOf(publicKey, 'ES256', 'shared')),
  });
  const signed = (key: typeof first, claims: Record<string, unknown> = {}) =>
    issuer.sign(claims, { key: key.privateKey, header: { kid: 'shared' } });
  t.equal(await offline.code(signed(first, { sub: 'anna' })), ACCEPTED);
  t.equal(await offline.code(signed(second, { sub: 'ben' })), ACCEPTED);
  t.equal(await offline.code(signed(stranger)), 'invalid_token');
  t.equal(await offline.code(signed(second, { exp: 1 })), 'invalid_token');
});

t.test('unusable and weak keys are ignored', async (t) => {
  const { issuer, offline, fresh } = await start(t);
  const good = newKey('ES256');
  const weak = generateKeyPairSync('rsa', { modulusLength: 1_024 });
  const usable = jwkOf(good.publicKey, 'ES256', 'good');
  issuer.documents.set('/jwks', {
    keys: [
      null,
      'x',
      {},
      { kty: 'oct', k: 'AA', kid: 'good' },
      jwkOf(weak.publicKey, 'RS256', 'weak'),
      usable,
      usable,
    ],
  });
  const byGood = fresh({ header: { kid: 'good' }, key: good.privateKey });
  t.equal(await offline.code(byGood), ACCEPTED);
  const byWeak = fresh({ header: { kid: 'weak' }, by: 'RS256', key: weak.privateKey });
  t.equal(await offline.code(byWeak), 'invalid_token');
});

/** A key that the issuer does not have yet. */
function newKeyOf(issuer: Issuer) {
  const { publicKey, privateKey } = newKey('ES256');
  const { keys } = issuer.documents.get('/jwks') as { keys: object[] };
  const jwk = jwkOf(publicKey, 'ES256', 'added');
  return {
    add: () => issuer.documents.set('/jwks', { keys: [...keys, jwk] }),
    replaceOthers: () => issuer.documents.set('/jwks', { keys: [jwk] }),
    options: { key: privateKey, header: { kid: 'added' } },
  };
}

t.test('a new key is found at once, although the other keys are cached', async (t) => {
  const { issuer, offline, clock, fresh } = await startWithKeys(t);
  const added = newKeyOf(issuer);
  added.add();
  clock.aheadMs = MINUTE_MS;
  t.equal(await offline.code(fresh(added.options)), ACCEPTED);
});

t.test('a withdrawn key is not accepted after an hour, nor again when the issuer goes down', async (t) => {
  const { issuer, offline, clock, fresh } = await start(t);
  const old = fresh();
  t.equal(await offline.code(old), ACCEPTED);
  const added = newKeyOf(issuer);
  added.replaceOthers();
  clock.aheadMs = HOUR_MS;
  t.equal(await offline.code(fresh(added.options)), ACCEPTED, 'the keys are fetched again');
  t.equal(await offline.code(old), 'invalid_token');

  await issuer.stop();
  clock.aheadMs += HOUR_MS / 2;
  t.equal(await offline.code(fresh(added.options)), ACCEPTED);
  t.not(await offline.code(old), ACCEPTED);
});

t.test('a token whose key is withdrawn is accepted until a minute after it was verified', async (t) => {
  const { issuer, offline, clock, fresh } = await start(t);
  const old = fresh();
  t.equal(await offline.code(old), ACCEPTED);
  const added = newKeyOf(issuer);
  added.replaceOthers();
  clock.aheadMs = MINUTE_MS / 2;
  t.equal(await offline.code(fresh(added.options)), ACCEPTED, 'the keys are fetched again');
  t.equal(await offline.code(fresh()), 'invalid_token');
  clock.aheadMs = MINUTE_MS - 10_000;
  t.equal(await offline.code(old), ACCEPTED);
  clock.aheadMs = MINUTE_MS + 1;
  t.equal(await offline.code(old), 'invalid_token');
});

t.test('after the clock is set back, new keys are learned and withdrawn keys are refused', async (t) => {
  const { issuer, offline, clock, fresh } = await start(t);
  const old = fresh();
  t.equal(await offline.code(old), ACCEPTED);
  const added = newKeyOf(issuer);
  added.replaceOthers();
  clock.aheadMs = -2 * HOUR_MS;
  t.equal(await offline.code(old), 'invalid_token');
  t.equal(await offline.code(fresh()), 'invalid_token', 'the keys are fetched again');
  t.equal(await offline.code(fresh(added.options)), ACCEPTED);
});

t.test(
  'the log gives the reason why keys could not be fetched, without the address or the response',
  async (t) => {
    const reasons: string[] = [];
    const reasonFor = async (url: string) => {
      const keys = new IssuerKeys({ issuer: 'urn:example:issuer', jwksUrl: url }, (reason) =>
        reasons.push(reason),
      );
      await keys.find({ alg: 'ES256', kid: 'any' }).catch(() => {});
      return reasons.pop();
    };
    const issuer = await startIssuer(t);
    const reasonAfter = (respond: (response: ServerResponse) => void) => {
      issuer.documents.set('/jwks', respond);
      return reasonFor(`${issuer.url}/jwks`);
    };
    t.equal(await reasonAfter((response) => response.writeHead(500).end()), 'The response was 500.');
    const elsewhere = `${issuer.url}/elsewhere`;
    for (const status of [301, 302, 307, 308]) {
      t.equal(
        await reasonAfter((response) => response.writeHead(status, { location: elsewhere }).end()),
        'The response is a redirect, which is not followed.',
      );
    }
    t.equal(issuer.fetches.get('/elsewhere'), undefined);
    const unclear = 'The request failed, or its response is not valid.';
    t.equal(await reasonAfter((response) => response.writeHead(200).end('{"d": "a private key"')), unclear);
    t.equal(await reasonFor('http://anna:a-password@127.0.0.1:1/jwks'), unclear);
    await issuer.stop();
    t.match(await reasonFor(`${issuer.url}/jwks?key=a-password`), /^The request failed: [A-Z_]+\.$/);
  },
);

t.test('while keys cannot be fetched, few log lines report it', async (t) => {
  stopClock(t);
  const issuer = await startIssuer(t);
  await issuer.stop();
  const lines: { level: number; failures: number; msg: string }[] = [];
  const log = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const offline = await startOfflineService(t, { issuer: issuer.url, log });
  const codes = new Set<string>();
  for (let count = 0; count < 50; count += 1) {
    codes.add(await offline.code(issuer.sign({ sub: `person-${count}` })));
  }
  t.same([...codes], ['service_unavailable']);
  t.match(lines[0], {
    level: 40,
    failures: 1,
    reason: /ECONNREFUSED/,
    msg: /could not be fetched: check AUTH_/,
  });
  t.equal(lines.length, 1, 'one within ten seconds');
});
