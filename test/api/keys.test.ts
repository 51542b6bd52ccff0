import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { jwkOf, newKey, startIssuer } from '../setup/issuer.js';
import { ACCEPTED, startOfflineService } from '../setup/without-database.js';

const DISCOVERY = '/.well-known/openid-configuration';

/** Asserts the answer to a token that cannot be verified now. */
async function isUnavailable(
  t: Test,
  offline: Awaited<ReturnType<typeof startOfflineService>>,
  token: string,
  why: string,
) {
  const headers = { authorization: `Bearer ${token}` };
  const response = await offline.send('GET', '/api/clubs/me', { headers });
  t.equal(response.status, 503, why);
  t.equal(response.body.code, 'service_unavailable', why);
  t.match(response.headers['retry-after'], /^[1-9]\d*$/, why);
  t.equal(offline.connections(), 0, 'the database is not used');
}

t.test('the keys are found by discovery from the issuer', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  t.equal(await offline.code(provider.sign()), ACCEPTED);
  t.equal(provider.fetches.get(DISCOVERY), 1);
  t.equal(provider.fetches.get('/jwks'), 1);
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

t.test('a failed fetch of keys is a 503, and the next request tries again', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  await provider.stop();
  await isUnavailable(t, offline, provider.sign(), 'nothing listens');
  t.equal(
    await offline.code(provider.sign({}, { header: { alg: 'none' } })),
    'invalid_token',
    'a token that no key could make valid is refused without one',
  );
  await provider.start();
  t.equal(await offline.code(provider.sign()), ACCEPTED, 'the failure is not cached');
});

t.test('a response that is not a discovery document or key set is a 503', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  const sent = (status: number, text: string) => (response: ServerResponse) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  const keys = provider.documents.get('/jwks');
  const discovery = provider.documents.get(DISCOVERY);

  for (const [why, document] of [
    ['an error', sent(500, '{}')],
    ['a page', sent(200, '<html>')],
    ['nothing', sent(200, '')],
    ['another issuer’s', { issuer: 'https://elsewhere.example', jwks_uri: `${provider.url}/jwks` }],
    ['no key set named', { issuer: provider.url }],
  ]) {
    provider.documents.set(DISCOVERY, document);
    await isUnavailable(t, offline, provider.sign(), `discovery: ${why}`);
  }
  provider.documents.set(DISCOVERY, discovery);
  for (const [why, document] of [
    ['an error', sent(500, JSON.stringify(keys))],
    ['a page', sent(200, '<html>')],
    ['no keys', {}],
    ['a list', []],
  ]) {
    provider.documents.set('/jwks', document);
    await isUnavailable(t, offline, provider.sign(), `key set: ${why}`);
  }
  provider.documents.set('/jwks', keys);
  t.equal(await offline.code(provider.sign()), ACCEPTED);
});

t.test('an issuer that never answers is a 503 within seconds', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  provider.documents.set('/jwks', () => {});
  const start = Date.now();
  await isUnavailable(t, offline, provider.sign(), 'silence');
  t.ok(Date.now() - start < 30_000);
});

t.test('the keys that are known are used for an hour while the issuer is down, and not longer', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  const hours = (count: number) => Math.floor(Date.now() / 1000) + count * 3600;
  t.equal(await offline.code(provider.sign({ exp: hours(48) })), ACCEPTED);
  await provider.stop();
  t.equal(await offline.code(provider.sign({ sub: 'ben', exp: hours(48) })), ACCEPTED, 'at once');

  const realNow = Date.now;
  let laterMs = 58 * 60_000;
  t.intercept(Date, 'now', { value: () => realNow() + laterMs });
  const cleo = provider.sign({ sub: 'cleo', exp: hours(48) });
  t.equal(await offline.code(cleo), ACCEPTED, '58 minutes later');
  laterMs += 61_000;
  t.equal(await offline.code(provider.sign({ sub: 'dora', exp: hours(48) })), 'service_unavailable');
  laterMs = 3_600_000;
  t.equal(await offline.code(cleo), 'service_unavailable', 'a token that was verified before, too');
});

t.test('all keys that share an id are tried, and no other', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  const [first, second, stranger] = [newKey('ES256'), newKey('ES256'), newKey('ES256')];
  provider.documents.set('/jwks', {
    keys: [first, second].map(({ publicKey }) => jwkOf(publicKey, 'ES256', 'shared')),
  });
  const signed = (key: typeof first, claims: Record<string, unknown> = {}) =>
    provider.sign(claims, { key: key.privateKey, header: { kid: 'shared' } });
  t.equal(await offline.code(signed(first, { sub: 'anna' })), ACCEPTED);
  t.equal(await offline.code(signed(second, { sub: 'ben' })), ACCEPTED);
  t.equal(await offline.code(signed(stranger)), 'invalid_token');
  t.equal(await offline.code(signed(second, { exp: 1 })), 'invalid_token');
});

t.test('unusable and weak keys are ignored, and an empty key set leaves the known keys', async (t) => {
  const issuer = await startIssuer(t);
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
  const offline = await startOfflineService(t, { issuer: issuer.url });
  const byGood = { header: { alg: 'ES256', kid: 'good' }, by: 'ES256', key: good.privateKey } as const;
  t.equal(await offline.code(issuer.sign({}, byGood)), ACCEPTED);
  t.equal(
    await offline.code(
      issuer.sign({}, { header: { alg: 'RS256', kid: 'weak' }, by: 'RS256', key: weak.privateKey }),
    ),
    'invalid_token',
  );
  issuer.documents.set('/jwks', { keys: [] });
  const realNow = Date.now;
  t.intercept(Date, 'now', { value: () => realNow() + 30 * 60_000 });
  const exp = Math.floor(Date.now() / 1000) + 600;
  t.equal(await offline.code(issuer.sign({ exp, sub: 'ben' }, byGood)), ACCEPTED);
  t.equal(
    await offline.code(issuer.sign({ exp, sub: 'cleo' }, byGood)),
    ACCEPTED,
    'once the empty set was read',
  );
});

t.test('a key that the issuer adds is accepted, and a key that it withdraws is not', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  const exp = Math.floor(Date.now() / 1000) + 48 * 3600;
  const old = provider.sign({ exp });
  t.equal(await offline.code(old), ACCEPTED);

  const added = newKey('ES256');
  provider.documents.set('/jwks', { keys: [jwkOf(added.publicKey, 'ES256', 'added')] });
  const realNow = Date.now;
  t.intercept(Date, 'now', { value: () => realNow() + 3_600_000 });
  const fresh = provider.sign({ exp }, { key: added.privateKey, header: { kid: 'added' } });
  t.equal(await offline.code(fresh), ACCEPTED);
  t.equal(await offline.code(old), 'invalid_token');
});

t.test('after the clock is set back, new keys are learned and withdrawn keys are refused', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  t.equal(await offline.code(provider.sign({ sub: 'anna' })), ACCEPTED);

  const added = newKey('ES256');
  provider.documents.set('/jwks', { keys: [jwkOf(added.publicKey, 'ES256', 'added')] });
  const realNow = Date.now;
  t.intercept(Date, 'now', { value: () => realNow() - 2 * 3_600_000 });
  t.equal(await offline.code(provider.sign({ sub: 'ben' })), 'invalid_token', 'the keys are fetched again');
  const fresh = provider.sign({}, { key: added.privateKey, header: { kid: 'added' } });
  t.equal(await offline.code(fresh), ACCEPTED);
});

t.test('a withdrawn key is not accepted again when the issuer goes down', async (t) => {
  const provider = await startIssuer(t);
  const offline = await startOfflineService(t, { issuer: provider.url });
  const realNow = Date.now;
  let laterMs = 0;
  t.intercept(Date, 'now', { value: () => realNow() + laterMs });
  const exp = Math.floor(realNow() / 1000) + 48 * 3600;
  t.equal(await offline.code(provider.sign({ exp })), ACCEPTED);

  const added = newKey('ES256');
  const fresh = (sub: string) =>
    provider.sign({ sub, exp }, { key: added.privateKey, header: { kid: 'added' } });
  provider.documents.set('/jwks', { keys: [jwkOf(added.publicKey, 'ES256', 'added')] });
  laterMs = 3_600_000;
  t.equal(await offline.code(fresh('anna')), ACCEPTED, 'the keys are fetched again');

  await provider.stop();
  laterMs += 30 * 60_000;
  t.equal(await offline.code(fresh('ben')), ACCEPTED);
  t.not(await offline.code(provider.sign({ exp })), ACCEPTED);
});
