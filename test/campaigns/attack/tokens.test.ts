import t from 'tap';
import { ALGORITHMS, startIssuer } from '../../setup/issuer.js';
import { ACCEPTED } from '../../setup/without-database.js';
import { attack, isWhole, someOf, Tally } from './tally.js';
import { algorithms, confusions } from './tokens/algorithms.js';
import { authorization, huge } from './tokens/authorization.js';
import { oneBitOff } from './tokens/bytes.js';
import { ANYTHING, claims, INHERITED } from './tokens/claims.js';
import { clubs } from './tokens/clubs.js';
import { headers } from './tokens/headers.js';
import { misusedKeys } from './tokens/keys.js';
import { signatures, twinOf } from './tokens/signatures.js';
import { spellings } from './tokens/spellings.js';
import { CANARY, holdsPartOf, openTarget } from './tokens/target.js';

const LEEWAY_S = 5;
/** Optional claims of a valid token. */
const OTHERS = [
  'iat', 'name', 'preferred_username', 'email', 'email_verified', 'jti', 'azp', 'client_id', 'scope', 'typ', 'token_use',
  'auth_time', 'acr', 'amr', 'cnf', 'act', 'sid', 'roles', 'alg', 'kid', ...INHERITED.filter((name) => name !== '__proto__'),
]; // biome-ignore format: families side by side
/** In the short run one of this many is tried, chosen at random. */
const SHARE = 3;
const target = await openTarget(t);
const attacker = await startIssuer(t);
const { provider, code, strike, north } = target;

t.test('a bad token gives no access, no 5xx, and is not repeated in the answer', async (t) => {
  await attack(t, 'tokens', isWhole ? 20_000 : 2_000, async (tally) => {
    const good = target.admin();
    for (const attempts of [
      misusedKeys(target),
      algorithms(target),
      confusions(target),
      headers(target, attacker.url),
      claims(target),
      clubs(target),
      await spellings(target),
      signatures(target),
      authorization(target, isWhole),
      huge(target),
    ]) {
      await strike(tally, someOf(attempts, SHARE));
      t.equal(await code(good), ACCEPTED, 'a valid token is accepted after them');
    }
    // The valid token is in the verifier's cache: a similar token must not match it.
    for (const by of ALGORITHMS) {
      const token = provider.sign({ sub: CANARY, clubs: { [north]: 'Admin' } }, { by });
      t.equal(await code(token), ACCEPTED);
      const some = someOf(oneBitOff(token, isWhole), SHARE);
      await strike(tally, some);
      t.equal(await code(token), ACCEPTED, `after ${some.length} that differ from it in one bit, ${by}`);
    }
  });
  t.equal(attacker.connections(), 0, 'no URL from a token is fetched');
  t.same(target.database.connections, { opened: 0, lost: 0 }, 'and none of them used the database');
  t.equal(await target.countMembers(), 0);
});

t.test('a token is valid until its leeway ends and not a millisecond longer, cached or not', async (t) => {
  const second = Math.floor(Date.now() / 1000) + 10;
  let now = second * 1000;
  t.intercept(Date, 'now', { value: () => now });
  const wrong: unknown[] = [];
  for (const warm of [false, true]) {
    for (const offMs of [-60_000, -1_000, -2, -1, 0, 1, 2, 1_000, 60_000, 3_600_000]) {
      const expiring = provider.sign({ sub: `${warm} ${offMs}`, exp: second });
      const beginning = provider.sign({ sub: `${warm} ${offMs}`, nbf: second, exp: second + 100_000 });
      if (warm) {
        now = second * 1000;
        await Promise.all([code(expiring), code(beginning)]);
      }
      now = (second + LEEWAY_S) * 1000 + offMs;
      const isLate = (await code(expiring)) !== ACCEPTED;
      now = (second - LEEWAY_S) * 1000 + offMs;
      const isEarly = (await code(beginning)) !== ACCEPTED;
      if (isLate !== offMs > 0 || isEarly !== offMs < 0) {
        wrong.push({ warm, offMs, isLate, isEarly });
      }
    }
  }
  t.same(wrong, []);
});

t.test('unknown header parameters of the issuer change nothing', async (t) => {
  for (const header of [
    { jku: attacker.url },
    { x5u: attacker.url, jwk: { kty: 'oct', k: 'AA' } },
    { cty: 'JWT', zip: 'DEF', b64: true, typ: 'at+jwt' },
    { __proto__: { alg: 'none' }, constructor: 5 },
  ]) {
    t.equal(await code(provider.sign({}, { header })), ACCEPTED, JSON.stringify(header));
  }
  t.equal(await code(provider.sign({ pad: 'a'.repeat(8_000) })), ACCEPTED, 'a long token');
  t.equal(attacker.connections(), 0);
});

t.test(
  'the second valid form of an ECDSA signature is accepted: the claims are the same, and no token is identified by its bytes',
  async (t) => {
    const token = target.admin();
    const twin = twinOf(token);
    t.not(twin, token);
    t.equal(await code(twin), ACCEPTED);
    t.equal(await code(token), ACCEPTED);
  },
);

t.test('valid tokens give access', async (t) => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR  ']) {
    for (const by of ALGORITHMS) {
      const token = provider.sign({ sub: CANARY, clubs: { [north]: 'Admin' } }, { by });
      const lines: [string, string][] = [['authorization', `${scheme} ${token}`], ['x-tenant-id', north]]; // biome-ignore format: two lines
      const answer = await target.sendLines('GET', '/api/tasks', lines);
      t.equal(answer.status, 200, `${scheme} ${by}`);
    }
  }
  t.equal(await target.countMembers(), 1);
});

t.test('an optional or unknown claim of any type is ignored or a 401', async (t) => {
  await attack(t, 'other claims', isWhole ? 700 : 200, async (tally) => {
    const all = OTHERS.flatMap((name) => ANYTHING.map((value) => ({ name, value })));
    for (const { name, value } of someOf(all, SHARE)) {
      tally.tried += 1;
      const answer = await target.sendLines('GET', '/api/members/me', [
        ['authorization', `Bearer ${target.admin({ [name]: value })}`],
        ['x-tenant-id', north],
      ]);
      const { status, body, text } = answer;
      const isSelf = body?.externalUserId === CANARY && body?.role === 'Admin';
      if (status >= 500) {
        tally.serverErrors.push(`${name} ${JSON.stringify(value)}: ${text}`);
      } else if (status !== 401 && !(status === 200 && isSelf)) {
        tally.succeeded.push(`${name} ${JSON.stringify(value)}: ${status} ${text}`);
      }
    }
  });
  t.equal(await target.countMembers(), 1);
});

t.test('the attack finds a service that accepts bad tokens', async (t) => {
  for (const [weakness, setting, fault] of [
    ['another issuer', { AUTH_ISSUER: 'anna', AUTH_JWKS_URL: `${provider.url}/jwks` }, 'iss "anna"'],
    ['another audience', { AUTH_AUDIENCE: 'anna' }, 'aud "anna"'],
  ] as const) {
    const weak = await openTarget(t, setting);
    const tally = new Tally();
    await weak.strike(
      tally,
      claims({ ...weak, ...('AUTH_ISSUER' in setting ? { provider, admin: target.admin } : {}) }),
    );
    t.ok(
      tally.succeeded.some((line) => line.startsWith(fault)),
      weakness,
    );
  }
  const [before, secure] = [attacker.connections(), attacker.url.replace('http', 'https')];
  await fetch(secure).catch(() => {});
  t.equal(attacker.connections(), before + 1, 'and a service that fetches a URL from a token, also over TLS');
  t.ok(
    holdsPartOf(`log ${target.admin().slice(40, 60)}`, target.admin()),
    'and a part of a token in an answer',
  );
});
