import t from 'tap';
import { sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const NOW_S = Math.floor(Date.now() / 1000) - 600;

/** The member after a request with a token of these claims, issued that many seconds later. */
async function arrive(sub: string, claims: Record<string, unknown>, { age = 0, role = 'Member' } = {}) {
  const authorization = `Bearer ${service.token({ iat: NOW_S + age, sub, clubs: { [north]: role }, ...claims })}`;
  const headers = { authorization, 'x-tenant-id': north };
  const response = await sendUnderLoad(() => service.send('GET', '/api/members/me', { headers }));
  if (response.status !== 200) {
    throw new Error(`${sub}: ${response.text}`);
  }
  return response.body;
}

let newcomers = 0;
const newcomer = (claims: Record<string, unknown>) => arrive(`newcomer-${++newcomers}`, claims);
const displayName = async (claims: Record<string, unknown>) => (await newcomer(claims)).displayName;
const email = async (claims: Record<string, unknown>) => (await newcomer(claims)).email;

/** Optional claims with invalid values. */
const unfit = [null, 5, true, '', '   ', [], ['Anna'], {}, 'An\0na', 'An\u0007na', 'An\ud800na'];

t.test('the display name is name, else preferred_username, else the local part of email', async (t) => {
  const claims = { name: 'Anna Albers', preferred_username: 'anna_a', email: 'albers@example.org' };
  t.equal(await displayName(claims), 'Anna Albers');
  t.equal(await displayName({ ...claims, name: undefined }), 'anna_a');
  t.equal(await displayName({ email: claims.email }), 'albers');
  t.equal(await displayName({}), 'Member');
});

t.test('an invalid claim is treated like a missing one', async (t) => {
  const claims = { preferred_username: 'anna_a', email: 'albers@example.org' };
  for (const value of unfit) {
    const shown = JSON.stringify(value);
    t.equal(await displayName({ ...claims, name: value }), 'anna_a', `name ${shown}`);
    t.equal(await displayName({ ...claims, preferred_username: value }), 'albers', shown);
    t.equal(await displayName({ name: value, preferred_username: value, email: value }), 'Member', shown);
    t.equal(await email({ email: value }), null, `email ${shown}`);
  }
});

t.test('a name is trimmed and cut to 200 code points', async (t) => {
  t.equal(await displayName({ name: '  Anna Albers\u00a0 ' }), 'Anna Albers');
  t.equal(await displayName({ name: 'a'.repeat(200) }), 'a'.repeat(200));
  t.equal(await displayName({ name: `  ${'a'.repeat(300)}` }), 'a'.repeat(200));
  t.equal(await displayName({ name: '😀'.repeat(201) }), '😀'.repeat(200));
  t.equal(await displayName({ preferred_username: 'b'.repeat(201) }), 'b'.repeat(200));
  t.equal(await displayName({ email: `${'c'.repeat(250)}@example.org` }), 'c'.repeat(200));
});

t.test('an e-mail address is stored in lower case', async (t) => {
  t.equal(await email({ email: 'Anna.ALBERS@Example.ORG' }), 'anna.albers@example.org');
  t.equal(await email({ email: 'ÄNNE@ÖRTLICH.example' }), 'änne@örtlich.example');
  t.equal(await email({}), null);
});

t.test('a newer token with other claims updates the member', async (t) => {
  const before = await arrive('ben', { name: 'Ben', email: 'ben@example.org' });
  const after = await arrive('ben', { name: 'Benedikt', email: 'b@example.org' }, { age: 1, role: 'Admin' });
  t.match(after, { displayName: 'Benedikt', email: 'b@example.org', role: 'Admin', id: before.id });
  t.equal(after.joinedAt, before.joinedAt);
  t.ok(after.updatedAt > before.updatedAt);
});

t.test('a token as old as the last one updates the member too', async (t) => {
  await arrive('cleo', { name: 'Cleo' });
  t.equal((await arrive('cleo', { name: 'Cleopatra' })).displayName, 'Cleopatra');
  t.equal((await arrive('cleo', { name: 'Cleopatra' }, { role: 'Admin' })).role, 'Admin');
});

t.test('an older token changes nothing', async (t) => {
  const current = await arrive('dora', { name: 'Dora', email: 'dora@example.org' }, { age: 10 });
  const stale = { name: 'Doris', email: 'doris@example.org' };
  t.same(await arrive('dora', stale, { age: 9, role: 'Admin' }), current);
  t.same(await arrive('dora', stale, { age: -100, role: 'Viewer' }), current);
  t.match(await arrive('dora', stale, { age: 11 }), { displayName: 'Doris', role: 'Member' });
});

t.test('a token from the future counts as issued now, so later tokens update the member', async (t) => {
  const day = 24 * 60 * 60;
  t.equal((await arrive('finn', { name: 'Finn' }, { age: day })).displayName, 'Finn');
  t.equal((await arrive('finn', { name: 'Old' })).displayName, 'Finn', 'an older token');
  const now = Math.ceil(Date.now() / 1_000) - NOW_S;
  t.equal((await arrive('finn', { name: 'Finley' }, { age: now })).displayName, 'Finley');
});

t.test('missing or invalid claims change nothing', async (t) => {
  const current = await arrive('emil', { name: 'Emil', email: 'emil@example.org' });
  t.same(await arrive('emil', {}, { age: 1 }), current);
  for (const value of unfit) {
    t.same(await arrive('emil', { name: value, email: value }, { age: 2 }), current, JSON.stringify(value));
  }
  t.same(
    await arrive('emil', { email: 'emil@example.org' }, { age: 2 }),
    current,
    'no name: that of the e-mail address is for new members only',
  );
  const renamed = await arrive('emil', { name: 'Emilio' }, { age: 3 });
  t.match(renamed, { displayName: 'Emilio', email: 'emil@example.org' });
  const moved = await arrive('emil', { email: 'moved@example.org' }, { age: 4 });
  t.match(moved, { displayName: 'Emilio', email: 'moved@example.org' });
});

t.test('a token with unchanged claims changes nothing', async (t) => {
  const first = await arrive('fay', { name: 'Fay', email: 'FAY@example.org' });
  t.same(await arrive('fay', { name: ' Fay ', email: 'fay@example.org' }, { age: 1 }), first);
});

t.test('a request that only reads updates the member as well', async (t) => {
  const gus = await arrive('gus', { name: 'Gus' });
  const claims = { sub: 'gus', name: 'Gustav', clubs: { [north]: 'Admin' } };
  const authorization = `Bearer ${service.token({ iat: NOW_S + 1, ...claims })}`;
  const headers = { authorization, 'x-tenant-id': north };
  t.equal((await service.send('HEAD', '/api/tasks', { headers })).status, 200);
  t.match(
    await service.db.queryAsAdmin('select display_name, role from app.members where id = $1', [gus.id]),
    [{ display_name: 'Gustav', role: 'Admin' }],
  );
});

t.test('concurrent first requests create one member', async (t) => {
  for (const sub of ['crowd-1', 'crowd-2', 'crowd-3']) {
    const found = await Promise.all(Array.from({ length: 20 }, () => arrive(sub, { name: 'Crowd' })));
    t.equal(new Set(found.map(({ id }) => id)).size, 1);
    const rows = await service.db.queryAsAdmin('select from app.members where external_user_id = $1', [sub]);
    t.equal(rows.length, 1);
  }
});

t.test('of concurrent tokens, in any order, the newest one decides', async (t) => {
  for (const sub of ['race-1', 'race-2', 'race-3']) {
    const ages = [3, 9, 1, 7, 5, 8, 2, 6, 4, 0];
    await Promise.all(ages.map((age) => arrive(sub, { name: `Name ${age}` }, { age })));
    const [row] = await service.db.queryAsAdmin(
      'select display_name from app.members where external_user_id = $1',
      [sub],
    );
    t.same(row, { display_name: 'Name 9' });
  }
});

t.test('a subject is stored exactly, up to 255 code points', async (t) => {
  for (const sub of [
    'a',
    'A',
    'ä'.repeat(255),
    '😀'.repeat(255),
    "'; drop table app.members; --",
    '5',
    'null',
  ]) {
    t.equal((await arrive(sub, {})).externalUserId, sub);
  }
  t.not((await arrive('a', {})).id, (await arrive('A', {})).id);
});
