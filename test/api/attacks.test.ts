import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { jwkOf, newKey, startIssuer } from '../setup/issuer.js';
import { sendBytesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { ACCEPTED, startOfflineService } from '../setup/without-database.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const admin = service.as('anna', 'Admin', north);
const LAST_VERSION = 2_147_483_647;

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

t.test('a request with an absolute URL gets links to this service only', async (t) => {
  const sendBytes = await sendBytesTo(service.app);
  await admin.post('/api/tasks', { title: 'One' });
  await admin.post('/api/tasks', { title: 'Two' });
  const token = service.token({ sub: 'anna', clubs: { [north]: 'Admin' } });
  const head = `Host: a\r\nAuthorization: Bearer ${token}\r\nX-Tenant-Id: ${north}\r\n\r\n`;
  const listed = await sendBytes(`GET http://evil.example/api/tasks?limit=1 HTTP/1.1\r\n${head}`, 1);
  t.match(listed.responses[0]?.headers.link, /^<\/api\/tasks\?limit=1&cursor=[\w-]+>; rel="next"$/);
  const missing = await sendBytes(`GET http://evil.example/api/nothing HTTP/1.1\r\n${head}`, 1);
  t.equal(/evil/.test(listed.text + missing.text), false, 'an absolute URL is not repeated');
  t.equal(missing.responses[0]?.body.instance, '/api/nothing', 'nor in instance');
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
    const changed = table === 'tasks' ? await admin.patch(row, change) : await admin.put(row, change);
    t.match(changed, { status: 409, body: { code, detail: /highest possible version/ } });
    t.same((await admin.get(row)).body, before);
    t.equal((await admin.delete(row)).status, 204);
  }
});
