import t from 'tap';
import { ALGORITHMS, startIssuer } from '../setup/issuer.js';
import { type Response, sendLinesTo } from '../setup/send.js';
import { ACCEPTED, startOfflineService } from '../setup/without-database.js';
import { badTokens } from './fixtures/bad-tokens.js';

const club = '11111111-1111-4111-8111-111111111111';
const provider = await startIssuer(t);
const attacker = await startIssuer(t);
const offline = await startOfflineService(t, { issuer: provider.url });
const sendLines = await sendLinesTo(offline.app);
const good = provider.sign();
/** The codes of a request with credentials that are not one bearer token. */
const EITHER = ['unauthenticated', 'invalid_token'];

/** How an answer differs from the 401 of a bad token; undefined when it does not. */
function faultOf({ status, headers, body, text }: Response, codes: string[]): string | undefined {
  const isRight =
    status === 401 &&
    codes.includes(body.code) &&
    /^Bearer( |$)/.test(String(headers['www-authenticate'])) &&
    String(headers['content-type']).startsWith('application/problem+json');
  return isRight ? undefined : `${status} ${headers['www-authenticate']} ${text}`;
}

const send = (authorization: string[], path = '/api/clubs/me') =>
  sendLines(
    'GET',
    path,
    authorization.map((line) => ['authorization', line]),
  );

t.test('a valid token is accepted, for every key algorithm', async (t) => {
  for (const by of ALGORITHMS) {
    t.equal(await offline.code(provider.sign({}, { by })), ACCEPTED, by);
  }
});

t.test('claims may take every form that the standards allow', async (t) => {
  for (const claims of [
    { aud: ['another-service', 'club-management-service'] },
    { aud: ['club-management-service'] },
    { sub: '1' },
    { sub: 'a'.repeat(255) },
    { sub: '😀'.repeat(255) },
    { nbf: Math.floor(Date.now() / 1000) - 60 },
    { iat: undefined },
    { token_use: 'access' },
    { typ: 'Bearer', nonce: 'n' },
    { clubs: 'nonsense', name: 5, email: [] },
  ]) {
    t.equal(await offline.code(provider.sign(claims)), ACCEPTED, JSON.stringify(claims).slice(0, 60));
  }
  for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt', 'AT+JWT']) {
    t.equal(await offline.code(provider.sign({}, { header: { typ } })), ACCEPTED, `typ ${typ}`);
  }
  const answer = await send([`bearer ${good}`], '/api/clubs/current');
  t.equal(answer.body.code, ACCEPTED, 'the scheme’s name in lower case');
});

t.test('a bad token is a 401, for every reason, and also when it is sent again', async (t) => {
  const tokens = badTokens(provider, `${attacker.url}/jwks`);
  t.ok(tokens.length > 100);
  for (const time of ['first', 'second']) {
    const taken: unknown[] = [];
    for (const [fault, token] of tokens) {
      const wrong = faultOf(await send([`Bearer ${token}`]), ['invalid_token']);
      taken.push(...(wrong === undefined ? [] : [[fault, wrong]]));
    }
    t.same(taken, [], `${tokens.length} bad tokens, the ${time} time`);
  }
  t.equal(await offline.code(good), ACCEPTED, 'the valid token is still accepted after all of them');
  t.equal(attacker.fetches.size, 0, 'no URL from a token is fetched');
});

t.test('a request without one bearer token is a 401', async (t) => {
  t.equal(faultOf(await send([]), ['unauthenticated']), undefined, 'no header');
  const inQuery = await send([], `/api/clubs/me?access_token=${good}`);
  t.equal(faultOf(inQuery, ['unauthenticated']), undefined, 'a token in the query string');
  for (const [code, ...headers] of [
    [
      'unauthenticated',
      '',
      ' ',
      'Bearer',
      'Bearer ',
      good,
      `Basic ${Buffer.from('anna:secret').toString('base64')}`,
      `Basic ${good}`,
      `DPoP ${good}`,
      `Token ${good}`,
      `Bearer: ${good}`,
      `Bearer${good}`,
      `Bearer=${good}`,
      `Negotiate, Bearer ${good}`,
    ],
    [
      'invalid_token',
      `Bearer "${good}"`,
      `Bearer ${good} ${good}`,
      `Bearer ${good}, Bearer ${good}`,
      `Bearer ${good},`,
      `Bearer token=${good}`,
      'Bearer \u00e4\u00f6',
    ],
  ] as [string, ...string[]][]) {
    for (const authorization of headers) {
      t.equal(faultOf(await send([authorization]), [code]), undefined, `Authorization: ${authorization}`);
    }
  }
});

t.test('two Authorization headers are a 401, even when each is good', async (t) => {
  t.equal((await send([`Bearer ${good}`], '/api/clubs/current')).body.code, ACCEPTED);
  for (const lines of [
    [`Bearer ${good}`, `Bearer ${good}`],
    [`Bearer ${good}`, `Bearer ${provider.sign({ sub: 'ben' })}`],
    [`Bearer ${good}`, 'Basic YW5uYTpzZWNyZXQ='],
    ['Bearer nonsense', `Bearer ${good}`],
  ]) {
    t.equal(faultOf(await send(lines), EITHER), undefined, lines.join(' and '));
  }
});

t.test('a token that differs in one byte from a cached valid token is a 401', async (t) => {
  for (const by of ALGORITHMS) {
    const token = provider.sign({}, { by });
    t.equal(await offline.code(token), ACCEPTED);
    // The last character of a part has unused bits, so two encodings are the same signature.
    const places = [...token].flatMap((character, place) =>
      character !== '.' && (token[place + 1] ?? '.') !== '.' && place % 11 === 0 ? [place] : [],
    );
    const codes = places.map((place) => {
      const other = token[place] === 'A' ? 'B' : 'A';
      return offline.code(token.slice(0, place) + other + token.slice(place + 1));
    });
    t.same(new Set(await Promise.all(codes)), new Set(['invalid_token']), `${places.length} places, ${by}`);
    t.equal(await offline.code(token), ACCEPTED);
  }
});

t.test('the cache never confuses two valid tokens', async (t) => {
  const roles = ['Viewer', 'Member', 'Manager'];
  const tokens = roles.map((role) => provider.sign({ clubs: { [club]: role } }));
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(
      tokens.map((token) =>
        offline.send('DELETE', `/api/tasks/${club}`, {
          headers: { authorization: `Bearer ${token}`, 'x-tenant-id': club },
        }),
      ),
    );
    t.same(
      answers.map(({ body }) => body.yourRole),
      roles,
    );
  }
});

t.test('a cached token is a 401 once it has expired', async (t) => {
  const realNow = Date.now;
  let laterMs = 0;
  t.intercept(Date, 'now', { value: () => realNow() + laterMs });
  const token = provider.sign({ exp: Math.floor(realNow() / 1000) + 20 });
  t.equal(await offline.code(token), ACCEPTED);
  laterMs = 15_000;
  t.equal(await offline.code(token), ACCEPTED, 'before its end');
  laterMs = 50_000;
  t.equal(await offline.code(token), 'invalid_token', 'after its end, long before the cache forgets it');
  t.equal(await offline.code(provider.sign({ exp: Math.floor(realNow() / 1000) + 20 })), 'invalid_token');
});

t.test('a rejected token never causes a database connection', async (t) => {
  t.equal(offline.connections(), 0);
  const answer = await send([`Bearer ${good}`]);
  t.equal(answer.status, 503);
  t.not(offline.connections(), 0, 'a valid token opens a connection');
});
