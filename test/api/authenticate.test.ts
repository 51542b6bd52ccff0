import t from 'tap';
import { attack, isWhole, type Tally } from '../campaigns/attack/tally.js';
import { ALGORITHMS, encode, startIssuer } from '../setup/issuer.js';
import { type Response, sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { ACCEPTED, startOfflineService } from '../setup/without-database.js';
import {
  longTokens,
  severalAuthorizations,
  spelledAuthorizations,
  tokensElsewhere,
} from './fixtures/bad-credentials.js';
import {
  ANYTHING,
  type BadToken,
  badTokens,
  KEYS_FOR_ANOTHER_USE,
  oneBitOff,
  sameSignatureTokens,
  twinOf,
} from './fixtures/bad-tokens.js';

const LEEWAY_S = 5;
const club = '11111111-1111-4111-8111-111111111111';
/** The subject of every token, which no response and no log line may contain. */
const SUBJECT = 'canary-subject';

const plain = await startIssuer(t);
(plain.documents.get('/jwks') as { keys: object[] }).keys.push(...KEYS_FOR_ANOTHER_USE);
const issuer: typeof plain = {
  ...plain,
  sign: (claims, options) => plain.sign({ sub: SUBJECT, ...claims }, options),
};
const attacker = await startIssuer(t);
const log: string[] = [];
const offline = await startOfflineService(t, {
  issuer: issuer.url,
  log: { write: (line: string) => void log.push(line) },
  logLevel: 'trace',
});
const sendLines = await sendLinesTo(offline.app);
const good = issuer.sign();
/** The codes of a request without one bearer token. */
const CODES = ['unauthenticated', 'invalid_token'];

/** The number of consecutive characters that identify a part of a token. */
const PART = 12;

const wordsOf = (text: string): string[] => text.match(new RegExp(`[\\w-]{${PART},}`, 'g')) ?? [];
/** The words of every refusal, which are searched only once. */
const known = new Set<string>();

/** Whether a text contains the subject or a part of the token. */
function holdsPartOf(text: string, token: string): boolean {
  return (
    text.includes(SUBJECT) ||
    wordsOf(text)
      .filter((word) => !known.has(word))
      .some((word) =>
        [...word.slice(PART - 1)].some((_, start) => token.includes(word.slice(start, start + PART))),
      )
  );
}

/** Counts a response that must be a 401 with one of these codes, without any part of the token in it or in the log. */
function check(tally: Tally, fault: string, token: string, response: Response, codes: string[]): void {
  const { status, headers, body, text } = response;
  tally.tried += 1;
  const isRefused =
    status === 401 &&
    codes.includes(body?.code) &&
    /^Bearer( |$)/.test(String(headers['www-authenticate'])) &&
    String(headers['content-type']).startsWith('application/problem+json');
  const what = `${fault}: ${status} ${text.slice(0, 200)}`;
  if (status >= 500) {
    tally.serverErrors.push(what);
  } else if (!isRefused) {
    tally.succeeded.push(what);
  }
  if (holdsPartOf(`${JSON.stringify(headers)}\n${text}`, token)) {
    tally.leaks.push(what);
  }
  const lines = log.splice(0);
  if (lines.length === 0 || lines.some((line) => holdsPartOf(line, token))) {
    tally.leaks.push(`${fault}: the log has ${lines.join('')}`);
  }
}

function send(token: string): Promise<Response> {
  return offline.send('GET', '/api/clubs/me', { headers: { authorization: `Bearer ${token}` } });
}

const refusal = await send('x');
for (const word of wordsOf(JSON.stringify(refusal.headers) + refusal.text + log.join(''))) {
  known.add(word);
}

async function refuse(tally: Tally, tokens: BadToken[], isRepeated: boolean): Promise<void> {
  log.length = 0;
  for (const [fault, token] of tokens) {
    const codes = token.trim() === '' ? ['unauthenticated'] : ['invalid_token'];
    check(tally, fault, token, await send(token), codes);
    if (isRepeated) {
      check(tally, `${fault}, again`, token, await send(token), codes);
    }
  }
}

t.test('a valid token is accepted, for every key algorithm and spelling of the scheme', async (t) => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR  ']) {
    for (const by of ALGORITHMS) {
      const lines: [string, string][] = [['authorization', `${scheme} ${issuer.sign({}, { by })}`]];
      const response = await sendLines('GET', '/api/clubs/current', lines);
      t.equal(response.body.code, ACCEPTED, `${scheme} ${by}`);
    }
  }
});

t.test('claims and header parameters may take every form that the standards allow', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  for (const claims of [
    { aud: ['another-service', 'club-management-service'] },
    { aud: ['club-management-service'] },
    { sub: '1' },
    { sub: 'a'.repeat(255) },
    { sub: '😀'.repeat(255) },
    { nbf: now - 60 },
    { exp: now + 0.5 },
    { iat: undefined },
    { token_use: 'access' },
    { typ: 'Bearer', nonce: 'n' },
    { clubs: 'nonsense', name: 5, email: [] },
    { pad: 'a'.repeat(8_000) },
  ]) {
    t.equal(await offline.code(issuer.sign(claims)), ACCEPTED, JSON.stringify(claims).slice(0, 60));
  }
  for (const header of [
    ...[undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt', 'AT+JWT'].map((typ) => ({ typ })),
    { jku: attacker.url },
    { x5u: attacker.url, jwk: { kty: 'oct', k: 'AA' } },
    { cty: 'JWT', zip: 'DEF', b64: true },
    { __proto__: { alg: 'none' }, constructor: 5 },
  ]) {
    t.equal(await offline.code(issuer.sign({}, { header })), ACCEPTED, JSON.stringify(header));
  }
  t.equal(attacker.connections(), 0, 'no URL from a token is fetched');
  t.not(twinOf(good), good);
  t.equal(await offline.code(twinOf(good)), ACCEPTED, 'the second form of an ECDSA signature is valid too');
});

t.test('an optional or unknown claim of any type is ignored or a 401', async (t) => {
  const names = [
    'iat', 'name', 'preferred_username', 'email', 'email_verified', 'jti', 'azp', 'typ', 'token_use', 'cnf', 'act', 'role', 'alg', 'kid', 'constructor', 'toString',
  ]; // biome-ignore format: a list
  await attack(t, 'other claims', names.length * ANYTHING.length, async (tally) => {
    for (const name of names) {
      for (const value of ANYTHING) {
        tally.tried += 1;
        const token = issuer.sign({ clubs: { [club]: 'Viewer' }, [name]: value });
        const { body } = await deleteTask(token);
        if (body.code !== 'invalid_token' && body.yourRole !== 'Viewer') {
          tally.succeeded.push(`${name} ${JSON.stringify(value)}: ${JSON.stringify(body)}`);
        }
      }
    }
  });
});

/** A request that only an Admin may send; the role is refused before the database is asked. */
function deleteTask(token: string): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': club };
  return offline.send('DELETE', `/api/tasks/${club}`, { headers });
}

/** Parts that are refused after the token was decoded: those tokens are sent twice, since a refusal must not be cached. */
const REPEATED = ['claims', 'payloads', 'headers', 'keys', 'signatures'];

t.test('a bad token is a 401, for every reason, even if it is sent again', async (t) => {
  await attack(t, 'tokens', 6_000, async (tally) => {
    for (const [part, tokens] of Object.entries(await badTokens(issuer, attacker.url))) {
      await refuse(tally, tokens, REPEATED.includes(part));
      t.equal(await offline.code(good), ACCEPTED, `the valid token is accepted after ${part}`);
    }
  });
  t.equal(attacker.connections(), 0, 'no URL from a token is fetched');
});

t.test(
  'a token that differs from a cached valid token in one bit, or in unused bits, is a 401',
  async (t) => {
    await attack(t, 'cached tokens', 1_500, async (tally) => {
      for (const by of ALGORITHMS) {
        const token = issuer.sign({}, { by });
        t.equal(await offline.code(token), ACCEPTED, by);
        const sameSignature = sameSignatureTokens(token);
        t.ok(sameSignature.length > 2, 'the last letter has unused bits');
        await refuse(tally, [...oneBitOff(token, isWhole), ...sameSignature], false);
        t.equal(await offline.code(token), ACCEPTED, by);
      }
    });
  },
);

t.test('a request without one bearer token in its one Authorization header is a 401', async (t) => {
  const ben = issuer.sign({ sub: 'ben' });
  await attack(t, 'the header Authorization', 1_000, async (tally) => {
    const headers = [
      ...spelledAuthorizations(good).map((value) => [value]),
      ...severalAuthorizations(good, ben),
    ];
    log.length = 0;
    for (const values of headers) {
      const lines = values.map((value): [string, string] => ['authorization', value]);
      check(tally, values.join(' | '), good, await sendLines('GET', '/api/clubs/me', lines), CODES);
    }
    for (const { path, lines, body } of tokensElsewhere(good)) {
      const method = body === undefined ? 'GET' : 'POST';
      check(tally, `${path} ${lines}`, good, await sendLines(method, path, lines, body), ['unauthenticated']);
    }
  });
  t.equal((await sendLines('GET', '/api/clubs/me', [])).body.code, 'unauthenticated');
  t.equal(
    (await sendLines('GET', '/api/clubs/me', [['authorization', 'Bearer x']])).body.code,
    'invalid_token',
  );
});

t.test('a long token is a 401, and a 431 if it exceeds the limit of all headers', async (t) => {
  for (const token of longTokens(good)) {
    const { status } = await sendLines('GET', '/api/clubs/me', [['authorization', `Bearer ${token}`]]);
    const isLong = token.length > 16_384;
    // The other headers count too.
    t.ok(
      isLong ? status === 431 : status === 401 || (status === 431 && token.length > 15_000),
      `${token.length}`,
    );
  }
});

t.test('claims that give no role in the club are a 403', async (t) => {
  const roles: unknown[] = [
    'admin', 'ADMIN', ' Admin', 'Admin ', 'Admin\0', 'Admin,Viewer', 'Owner', '', '*', 'constructor', '__proto__', 3, 4,
    true, null, [], ['Admin'], {}, { role: 'Admin' }, { toString: 'Admin' },
  ]; // biome-ignore format: a list
  const inherited = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];
  const ids = [
    `{${club}}`, `urn:uuid:${club}`, club.replaceAll('-', ''), ` ${club}`, `${club} `, `${club}\\u0000`, '*', '%', `${club},${club}`, `${club}/`, club.slice(0, -1),
    `${club}0`, ...inherited,
  ]; // biome-ignore format: a list
  const role = `{"${club}":"Admin"}`;
  const claims = [
    ...roles.map((value) => `"clubs":${JSON.stringify({ [club]: value })}`),
    ...ids.map((id) => `"clubs":{"${id}":"Admin"}`),
    ...inherited.flatMap((name) => [`"clubs":{"${name}":${role}}`, `"clubs":{"constructor":{"${name}":${role}}}`, `"${name}":{"clubs":${role}}`]),
    ...['null', 'true', '5', '""', '"Admin"', '[]', '{}', `"${club}"`, `["${club}"]`, `[["${club}","Admin"]]`, `[${role}]`, JSON.stringify(role), `{"clubs":${role}}`].map((value) => `"clubs":${value}`),
    ...['Clubs', 'clubs ', 'roles', 'role', 'scope', 'club', 'tenant'].map((name) => `"${name}":${role}`),
    // Twice, in two letter cases: the lower role counts, and no role is the lowest.
    `"clubs":{"${club}":"nobody","${club.toUpperCase()}":5}`,
  ]; // biome-ignore format: a list
  const payload = JSON.stringify(
    JSON.parse(Buffer.from(good.split('.')[1] as string, 'base64url').toString()),
  );
  const wrong: string[] = [];
  for (const claim of claims) {
    const input = `${encode({ alg: 'ES256', kid: 'ES256' })}.${encode(`{${claim},${payload.slice(1)}`)}`;
    const { status, body } = await deleteTask(`${input}.${issuer.signatureOf(input)}`);
    wrong.push(
      ...(status === 403 && body.code === 'tenant_forbidden' ? [] : [`${claim}: ${status} ${body.code}`]),
    );
  }
  t.same(wrong, []);
  t.equal(
    (await deleteTask(issuer.sign({ clubs: { [club.toUpperCase()]: 'Viewer' } }))).body.yourRole,
    'Viewer',
  );
});

t.test('the cache never confuses two valid tokens', async (t) => {
  const roles = ['Viewer', 'Member', 'Manager'];
  const tokens = roles.map((role) => issuer.sign({ clubs: { [club]: role } }));
  for (let round = 0; round < 3; round += 1) {
    const responses = await Promise.all(tokens.map(deleteTask));
    t.same(
      responses.map(({ body }) => body.yourRole),
      roles,
    );
  }
});

t.test('a token is valid until its leeway ends and not a millisecond longer, cached or not', async (t) => {
  const second = Math.floor(Date.now() / 1000) + 10;
  let now = second * 1000;
  t.intercept(Date, 'now', { value: () => now });
  const wrong: unknown[] = [];
  for (const isCached of [false, true]) {
    for (const offMs of [-60_000, -1_000, -2, -1, 0, 1, 2, 1_000, 60_000, 3_600_000]) {
      const expiring = issuer.sign({ sub: `${isCached} ${offMs}`, exp: second });
      const beginning = issuer.sign({ sub: `${isCached} ${offMs}`, nbf: second, exp: second + 100_000 });
      if (isCached) {
        now = second * 1000;
        await Promise.all([offline.code(expiring), offline.code(beginning)]);
      }
      now = (second + LEEWAY_S) * 1000 + offMs;
      const isLate = (await offline.code(expiring)) !== ACCEPTED;
      now = (second - LEEWAY_S) * 1000 + offMs;
      const isEarly = (await offline.code(beginning)) !== ACCEPTED;
      if (isLate !== offMs > 0 || isEarly !== offMs < 0) {
        wrong.push({ isCached, offMs, isLate, isEarly });
      }
    }
  }
  t.same(wrong, []);
});

t.test('a rejected token never causes a database connection', async (t) => {
  t.equal(offline.connections(), 0);
  t.equal((await send(good)).status, 503);
  t.not(offline.connections(), 0, 'a valid token opens a connection');
});

t.test(
  'with PUBLIC_URL a client that knows only the service finds the issuer; without there is no metadata',
  async (t) => {
    const path = '/.well-known/oauth-protected-resource';
    const publicUrl = 'https://clubs.example.org';
    const known = await startService(t, { publicUrl });
    const refused = await known.send('GET', '/api/clubs/me');
    const metadata = `resource_metadata="${publicUrl}${path}"`;
    t.equal(refused.headers['www-authenticate'], `Bearer ${metadata}`);
    const invalid = await known.send('GET', '/api/clubs/me', { headers: { authorization: 'Bearer x' } });
    t.match(invalid.headers['www-authenticate'], /^Bearer error="invalid_token", .+, resource_metadata="/);
    // The header Host is the caller's choice.
    t.same((await known.send('GET', path, { headers: { host: 'evil.example.org' } })).body, {
      resource: publicUrl,
      authorization_servers: [known.issuer.url],
      bearer_methods_supported: ['header'],
    });
    const asked = await known.send('GET', `${path}?a=1`);
    t.match(asked, { status: 400, body: { code: 'invalid_parameter' } });
    const unknown = await startService(t);
    t.match(await unknown.send('GET', path), { status: 404, body: { code: 'route_not_found' } });
    t.equal((await unknown.send('GET', '/api/clubs/me')).headers['www-authenticate'], 'Bearer');
  },
);
