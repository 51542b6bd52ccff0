import t from 'tap';
import type { Role } from '../../src/roles.js';
import { MISSING, SHIFT } from '../setup/endpoints.js';
import type { Method } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const endpoints: [method: Method, path: string, tooLow: Role, enough: Role, body: unknown, last: string][] = [
  ['PATCH', `/api/tasks/${MISSING}`, 'Viewer', 'Member', { title: 'Mow' }, 'task_not_found'],
  ['PUT', `/api/shifts/${MISSING}`, 'Member', 'Manager', SHIFT, 'shift_not_found'],
  ['POST', `/api/shifts/${MISSING}/signup`, 'Viewer', 'Member', {}, 'shift_not_found'],
];

/** Faults of the rest of the message. */
const faults: [body: string, type: string, code: string][] = [
  ['{"nonsense":1}', 'application/json', 'validation_failed'],
  ['{"title":', 'application/json', 'malformed_json'],
  ['{"title":"Mow"}', 'text/plain', 'unsupported_media_type'],
  [`{"title":"${'a'.repeat(200_000)}"}`, 'application/json', 'payload_too_large'],
];

t.test(
  'of several faults the first is reported: token, tenant header, club, role, message, row',
  async (t) => {
    for (const [method, path, tooLow, enough, body, last] of endpoints) {
      const low = `Bearer ${service.token({ sub: 'low', clubs: { [north]: tooLow } })}`;
      const high = `Bearer ${service.token({ sub: 'high', clubs: { [north]: enough } })}`;
      for (const [text, type, code] of faults) {
        const steps: [headers: Record<string, string>, code: string][] = [
          [{ 'x-tenant-id': 'north' }, 'unauthenticated'],
          [{ authorization: 'Bearer nonsense', 'x-tenant-id': 'north' }, 'invalid_token'],
          [{ authorization: low }, 'tenant_header_missing'],
          [{ authorization: low, 'x-tenant-id': 'north' }, 'tenant_header_invalid'],
          [{ authorization: low, 'x-tenant-id': south }, 'tenant_forbidden'],
          [{ authorization: low, 'x-tenant-id': north }, 'insufficient_role'],
          [{ authorization: high, 'x-tenant-id': north }, code],
        ];
        for (const [headers, expected] of steps) {
          const answer = await service.send(method, path, {
            headers: { ...headers, 'content-type': type },
            body: text,
          });
          t.equal(answer.body.code, expected, `${method} ${path}: ${expected} before ${code}`);
        }
      }
      const headers = { authorization: high, 'x-tenant-id': north };
      t.equal((await service.send(method, path, { headers, body })).body.code, last);
    }
  },
);

t.test(
  'an invalid path id and an unknown parameter are reported after the role and before the row',
  async (t) => {
    const viewer = service.as('low', 'Viewer', north);
    const member = service.as('high', 'Member', north);
    for (const path of ['/api/tasks/nonsense', `/api/tasks/${MISSING}?nonsense=1`, '/api/members/nonsense']) {
      t.equal((await viewer.get(path)).body.code, 'insufficient_role', path);
      t.equal((await member.get(path)).body.code, 'invalid_parameter', path);
    }
    t.equal((await member.get(`/api/tasks/${MISSING}`)).body.code, 'task_not_found');
  },
);

t.test('a club of the token that does not exist is reported after the checks of the message', async (t) => {
  const lost = service.as('lost', 'Admin', MISSING);
  t.equal((await lost.post('/api/tasks', { title: '' })).body.code, 'validation_failed');
  t.equal((await lost.get(`/api/tasks/${MISSING}?nonsense=1`)).body.code, 'invalid_parameter');
  const answer = await lost.post('/api/tasks', { title: 'Mow' });
  t.equal(answer.status, 403);
  t.equal(answer.body.code, 'tenant_forbidden');
});

t.test('an unknown route and a wrong method are reported before any other fault', async (t) => {
  const types = ['application/json', 'text/plain', 'nonsense', ''];
  const texts = ['', '{"title":', '{"nonsense":1}', 'a'.repeat(200_000)];
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    const found = new Map<string, unknown>();
    for (const type of types) {
      for (const text of texts) {
        for (const headers of [{}, { authorization: 'Bearer nonsense', 'x-tenant-id': 'north' }]) {
          const message = { headers: { ...headers, 'content-type': type }, body: text };
          const nowhere = await service.send(method, '/api/nothing', message);
          const wrong = await service.send(method, '/api/clubs/current', message);
          const codes = [nowhere.body.code, wrong.body.code, wrong.headers.allow];
          if (codes.join() !== 'route_not_found,method_not_allowed,GET, HEAD') {
            found.set(`${type} ${text.slice(0, 15)}`, codes);
          }
        }
      }
    }
    t.same(Object.fromEntries(found), {}, method);
  }
});
