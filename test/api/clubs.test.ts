import t from 'tap';
import { provisionClub } from '../../src/deploy/provision-club.js';
import { MISSING } from '../setup/endpoints.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');

t.test(
  'GET /api/clubs/me lists the existing clubs of the token, by name, without a tenant header',
  async (t) => {
    const token = service.token({
      sub: 'anna',
      clubs: { [south]: 'Viewer', [north.toUpperCase()]: 'Admin', [MISSING]: 'Admin' },
    });
    const response = await service.send('GET', '/api/clubs/me', {
      headers: { authorization: `Bearer ${token}` },
    });
    t.equal(response.status, 200);
    t.match(response.body, [
      { id: north, name: 'Club north', slug: 'north', timeZone: 'Europe/Berlin', role: 'Admin' },
      { id: south, slug: 'south', role: 'Viewer' },
    ]);
    t.equal(response.body.length, 2);
    t.same(Object.keys(response.body[0]).sort(), ['createdAt', 'id', 'name', 'role', 'slug', 'timeZone']);
  },
);

t.test('clubs are sorted by name, in natural language order', async (t) => {
  const clubs: Record<string, string> = {};
  for (const [slug, name] of Object.entries({ z: 'Zebra', ae: 'Äpfel', b: 'Banana', a: 'apple' })) {
    clubs[await provisionClub(service.db.migrationUrl, { name, slug, timeZone: 'Asia/Tokyo' })] = 'Viewer';
  }
  const authorization = `Bearer ${service.token({ sub: 'anna', clubs })}`;
  const { body } = await service.send('GET', '/api/clubs/me', { headers: { authorization } });
  t.equal(body.map(({ name }: { name: string }) => name).join(), 'Äpfel,apple,Banana,Zebra');
});

t.test('GET /api/clubs/me ignores a tenant header and makes no member', async (t) => {
  const token = service.token({ sub: 'passer-by', clubs: { [north]: 'Viewer' } });
  const response = await service.send('GET', '/api/clubs/me', {
    headers: { authorization: `Bearer ${token}`, 'x-tenant-id': 'nonsense' },
  });
  t.equal(response.status, 200);
  t.same(await service.db.queryAsAdmin(`select from app.members where external_user_id = 'passer-by'`), []);
});

t.test('GET /api/clubs/me leaves out the clubs that the caller has left, and no others', async (t) => {
  const clubs = { [north]: 'Admin', [south]: 'Viewer' };
  const listed = async (sub: string) => {
    const authorization = `Bearer ${service.token({ sub, clubs })}`;
    const { body } = await service.send('GET', '/api/clubs/me', { headers: { authorization } });
    return body.map(({ id }: { id: string }) => id);
  };
  const admin = service.as('ada', 'Admin', south);
  const membership = `/api/members/${await service.as('leo', 'Viewer', south).memberId()}/membership`;
  t.same(await listed('leo'), [north, south], 'he has never been in the first');
  await admin.put(membership, { status: 'Left' });
  t.same(await listed('leo'), [north]);
  t.same(await listed('another'), [north, south]);
  await admin.put(membership, { status: 'Active' });
  t.same(await listed('leo'), [north, south]);
});

t.test('GET /api/clubs/current returns the club of the tenant header, with the caller’s role', async (t) => {
  for (const role of ['Viewer', 'Admin'] as const) {
    const response = await service.as('emil', role, south).get('/api/clubs/current');
    t.match(response, { status: 200, body: { id: south, slug: 'south', role } });
  }
});
