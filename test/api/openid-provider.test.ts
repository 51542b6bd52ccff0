import { generateKeyPairSync } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { pino } from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.js';
import { readServerConfig } from '../../src/config.js';
import { RESOURCE, startOpenIdProvider } from '../setup/openid-provider.js';
import { sendTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { until } from '../setup/wait.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const roles: Record<string, string> = { anna: 'Manager', ben: 'Viewer', 'club-app': 'Member' };

const makeKey = (kid: string) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' };
};
const [first, second] = [makeKey('first'), makeKey('second')];
/** ID tokens are signed with RS256 unless a client wants otherwise. */
const rsa = {
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid: 'rsa',
  use: 'sig',
};
const provider = await startOpenIdProvider(t, [first, rsa], (subject) => {
  const role = roles[subject];
  return role === undefined ? {} : { [north]: role };
});

/** The service with the issuer as its only setting of the provider: it finds the keys by discovery. */
async function openService(audience = RESOURCE) {
  const { app } = await buildApp({
    config: readServerConfig(
      {
        NODE_ENV: 'test',
        DATABASE_URL: service.db.url,
        AUTH_ISSUER: provider.url,
        AUTH_AUDIENCE: audience,
      },
      {},
    ),
    database: service.database,
    logger: pino({ level: 'silent' }),
    auditTimes: null,
  });
  t.teardown(() => app.close());
  const send = sendTo(app);
  return (token: string, method: 'GET' | 'POST', path: string, body?: object) =>
    send(method, path, { headers: { authorization: `Bearer ${token}`, 'x-tenant-id': north }, body });
}

const believed = { status: 200 };
const refused = { status: 401, body: { code: 'invalid_token' } };

t.test('after a login the access token works: by discovery, for every role', async (t) => {
  const send = await openService();
  const { access_token: anna } = await provider.logIn('anna');
  t.match(decodeProtectedHeader(anna), { alg: 'ES256', typ: 'at+jwt', kid: 'first' });
  t.match(decodeJwt(anna), { iss: provider.url, aud: RESOURCE, sub: 'anna', clubs: { [north]: 'Manager' } });

  t.match(await send(anna, 'GET', '/api/clubs/me'), { status: 200, body: [{ id: north, role: 'Manager' }] });
  t.match(await send(anna, 'POST', '/api/tasks', { title: 'Mow' }), { status: 201, body: { title: 'Mow' } });
  const me = await send(anna, 'GET', '/api/members/me');
  t.match(me, { status: 200, body: { externalUserId: 'anna', displayName: 'anna of the provider' } });

  const { access_token: ben } = await provider.logIn('ben');
  t.match(await send(ben, 'GET', '/api/shifts'), believed);
  t.match(await send(ben, 'POST', '/api/tasks', { title: 'Mow' }), {
    status: 403,
    body: { code: 'insufficient_role' },
  });
  const { access_token: zoe } = await provider.logIn('zoe');
  t.match(await send(zoe, 'GET', '/api/shifts'), { status: 403, body: { code: 'tenant_forbidden' } });
  t.match(await send(zoe, 'GET', '/api/clubs/me'), { status: 200, body: [] });
});

t.test('an application gets its own member', async (t) => {
  const send = await openService();
  const token = await provider.ownToken();
  t.match(decodeJwt(token), { sub: 'club-app' });
  t.match(await send(token, 'GET', '/api/members/me'), { status: 200, body: { externalUserId: 'club-app' } });
});

t.test(
  'an ID token is refused by its audience, even if nothing else differs from an access token',
  async (t) => {
    const { id_token: idToken, access_token: accessToken } = await provider.logIn('anna');
    t.match(decodeJwt(idToken), { iss: provider.url, aud: 'club-app', sub: 'anna' });
    const send = await openService();
    t.match(await send(idToken, 'GET', '/api/clubs/me'), refused);
    t.match(await send(accessToken, 'GET', '/api/clubs/me'), believed);
  },
);

t.test('a token for another API of the same provider is refused', async (t) => {
  const { access_token: anna } = await provider.logIn('anna');
  const send = await openService('https://another.example.org/api');
  t.match(await send(anna, 'GET', '/api/clubs/me'), refused);
});

t.test('a new key is accepted at once, and an old key until it is withdrawn', async (t) => {
  const send = await openService();
  const status = async (token: string) => (await send(token, 'GET', '/api/shifts')).status;
  const realNow = Date.now;
  let laterMs = 0;
  t.intercept(Date, 'now', { value: () => realNow() + laterMs });

  const seen = await provider.ownToken();
  const unseen = await Promise.all(Array.from({ length: 100 }, () => provider.ownToken()));
  const next = () => {
    const token = unseen.pop();
    if (token === undefined) {
      throw new Error('Every token has been seen.');
    }
    return token;
  };
  t.equal(await status(seen), 200);

  // The new key signs, the old one is still published.
  provider.rotate([second, first, rsa]);
  laterMs = 60_000;
  const { access_token: fresh } = await provider.logIn('anna');
  t.equal(decodeProtectedHeader(fresh).kid, 'second');
  t.same([await status(fresh), await status(seen), await status(next())], [200, 200, 200]);

  // The old key is withdrawn: the cached key set is used for ten minutes.
  provider.rotate([second, rsa]);
  laterMs += 5 * 60_000;
  t.same([await status(fresh), await status(seen)], [200, 200]);
  const fetches = provider.fetches();
  laterMs += 10 * 60_000;
  const { access_token: later } = await provider.logIn('ben');
  t.same([await status(later), await status(fresh)], [200, 200]);
  // The first request that needs a key starts a fetch and does not wait for it; and a token that is
  // accepted until it ends is accepted for a minute more.
  await until(provider.fetches, (count) => count > fetches);
  t.equal(
    await until(
      () => status(next()),
      (found) => found === 401,
      { everyMs: 100 },
    ),
    401,
  );
  laterMs += 61_000;
  t.same([await status(seen), await status(next())], [401, 401]);
});
