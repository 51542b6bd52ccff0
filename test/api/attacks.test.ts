import { generateKeyPairSync } from 'node:crypto';
import t, { type Test } from 'tap';
import { noteSums, Tally } from '../campaigns/attack/tally.js';
import { AUDIENCE, encode, jwkOf, newKey, startIssuer } from '../setup/issuer.js';
import { sendBytesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { ACCEPTED, startOfflineService } from '../setup/without-database.js';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const provider = await startIssuer(t);
const offline = await startOfflineService(t, { issuer: provider.url });
const service = await startService(t);
const north = await service.db.makeClub('north');
const admin = service.as('anna', 'Admin', north);
const LAST_VERSION = 2_147_483_647;

const tally = new Tally();
t.teardown(() => noteSums(tally));

/** Asserts the answer to an attack, and counts it for `make attack`. */
function refused(t: Test, answer: unknown, wanted: unknown, what = 'an attack'): void {
  tally.tried += 1;
  if (!t.same(answer, wanted, what)) {
    tally.succeeded.push(what);
  }
}

t.test('a signature with other unused bits in its last base64url character is refused', async (t) => {
  for (const by of ['ES256', 'RS256', 'EdDSA'] as const) {
    const token = provider.sign({}, { by });
    const bytes = (text: string) =>
      Buffer.from(text.slice(text.lastIndexOf('.') + 1), 'base64url').toString('hex');
    const twins = [...LETTERS]
      .map((letter) => token.slice(0, -1) + letter)
      .filter((twin) => twin !== token && bytes(twin) === bytes(token));
    t.ok(twins.length > 2, by);
    for (const twin of twins) {
      refused(t, await offline.code(twin), 'invalid_token', by);
    }
    t.equal(await offline.code(token), ACCEPTED);
  }
});

t.test('an exp or nbf that no clock reaches is refused', async (t) => {
  const good = { iss: provider.url, aud: AUDIENCE, sub: 'anna', exp: Math.floor(Date.now() / 1000) + 600 };
  const signed = (claims: string) => {
    const input = `${encode({ alg: 'ES256', kid: 'ES256', typ: 'JWT' })}.${encode(claims)}`;
    return `${input}.${provider.signatureOf(input, 'ES256')}`;
  };
  const text = JSON.stringify(good);
  t.equal(await offline.code(signed(text)), ACCEPTED);
  for (const [name, value] of [
    ['exp', '1e400'],
    ['exp', '1e15'],
    ['iat', '1e400'],
    ['iat', '-1'],
    ['nbf', '-1e400'],
  ] as const) {
    const changed =
      name === 'exp'
        ? text.replace(/"exp":\d+/, `"exp":${value}`)
        : text.replace('{', `{"${name}":${value},`);
    refused(t, await offline.code(signed(changed)), 'invalid_token', `${name} ${value}`);
  }
});

t.test('a subject that is not valid UTF-8 is refused', async (t) => {
  const head = encode({ alg: 'ES256', kid: 'ES256', typ: 'JWT' });
  const exp = Math.floor(Date.now() / 1000) + 600;
  const payload = Buffer.concat([
    Buffer.from(`{"iss":"${provider.url}","aud":"${AUDIENCE}","exp":${exp},"sub":"anna`),
    Buffer.from([0xff]),
    Buffer.from('"}'),
  ]).toString('base64url');
  refused(
    t,
    await offline.code(`${head}.${payload}.${provider.signatureOf(`${head}.${payload}`, 'ES256')}`),
    'invalid_token',
  );
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
  const site = await startOfflineService(t, { issuer: issuer.url });
  const byGood = { header: { alg: 'ES256', kid: 'good' }, by: 'ES256', key: good.privateKey } as const;
  t.equal(await site.code(issuer.sign({}, byGood)), ACCEPTED);
  refused(
    t,
    await site.code(
      issuer.sign({}, { header: { alg: 'RS256', kid: 'weak' }, by: 'RS256', key: weak.privateKey }),
    ),
    'invalid_token',
  );
  issuer.documents.set('/jwks', { keys: [] });
  const realNow = Date.now;
  t.intercept(Date, 'now', { value: () => realNow() + 30 * 60_000 });
  const exp = Math.floor(Date.now() / 1000) + 600;
  t.equal(await site.code(issuer.sign({ exp, sub: 'ben' }, byGood)), ACCEPTED);
  t.equal(
    await site.code(issuer.sign({ exp, sub: 'cleo' }, byGood)),
    ACCEPTED,
    'once the empty set was read',
  );
});

t.test('a request with an absolute URL gets links to this service only', async (t) => {
  const sendBytes = await sendBytesTo(service.app);
  await admin.post('/api/tasks', { title: 'One' });
  await admin.post('/api/tasks', { title: 'Two' });
  const token = service.token({ sub: 'anna', clubs: { [north]: 'Admin' } });
  const head = `Host: a\r\nAuthorization: Bearer ${token}\r\nX-Tenant-Id: ${north}\r\n\r\n`;
  const listed = await sendBytes(`GET http://evil.example/api/tasks?limit=1 HTTP/1.1\r\n${head}`, 1);
  t.match(listed.responses[0]?.headers.link, /^<\/api\/tasks\?limit=1&cursor=[\w-]+>; rel="next"$/);
  const missing = await sendBytes(`GET http://evil.example/api/nothing HTTP/1.1\r\n${head}`, 1);
  refused(t, /evil/.test(listed.text + missing.text), false, 'an absolute URL is not repeated');
  refused(t, missing.responses[0]?.body.instance, '/api/nothing', 'nor in instance');
});

t.test('HTTP/2.0 in a request line is refused; a tunnel is closed without an answer', async (t) => {
  const sendBytes = await sendBytesTo(service.app);
  const refusal = await sendBytes('GET /livez HTTP/2.0\r\nHost: a\r\n\r\n', Number.POSITIVE_INFINITY);
  t.match(refusal.text, /^HTTP\/1\.1 400 [\s\S]*Send the request in HTTP\/1\.1\./);
  const tunnel = await sendBytes('CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', Number.POSITIVE_INFINITY);
  t.equal(tunnel.text, '');
});

t.test('a change of a row with the highest possible version is a 409 that says so', async (t) => {
  for (const [path, body, change, table, code] of [
    ['/api/tasks', { title: 'Old' }, { title: 'New' }, 'tasks', 'task_version_conflict'],
    ['/api/shifts', shiftRequest(), shiftRequest({ title: 'New' }), 'shifts', 'shift_version_conflict'],
  ] as const) {
    const made = await admin.post(path, body);
    const row = `${path}/${made.body.id}`;
    await service.db.queryAsAdmin(`alter table app.${table} disable trigger user`);
    await service.db.queryAsAdmin(`update app.${table} set version = ${LAST_VERSION} where id = $1`, [
      made.body.id,
    ]);
    await service.db.queryAsAdmin(`alter table app.${table} enable trigger user`);
    const before = (await admin.get(row)).body;
    const refused = table === 'tasks' ? await admin.patch(row, change) : await admin.put(row, change);
    t.match(refused, { status: 409, body: { code, detail: /highest possible version/ } });
    t.same((await admin.get(row)).body, before);
    t.equal((await admin.delete(row)).status, 204);
  }
});

t.test(
  'no signup is made after the start of its shift: the clock is read once, after the lock',
  async (t) => {
    const [source] = await service.db.queryAsAdmin<{ text: string }>(
      "select pg_get_functiondef('app.sign_up(uuid)'::regprocedure) as text",
    );
    t.equal(source?.text.match(/clock_timestamp\(\)/g)?.length, 1);
    t.ok((source?.text.indexOf('for no key update') ?? 0) < (source?.text.indexOf('clock_timestamp()') ?? 0));
  },
);
