import t from 'tap';
import { document, endpoints, MISSING, makeClubFor, operationOf } from '../setup/endpoints.js';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { fingerprint } from '../setup/testbed.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const otherId = await service.as('max', 'Member', north).memberId();

interface Schema {
  properties?: Record<string, unknown>;
}

/** Every field of a response in the document, and values that an attacker may want; also names from other systems. */
const fields = new Map<string, unknown>([
  ...Object.entries(document.components.schemas as Record<string, Schema>)
    .filter(([name]) => name.endsWith('Dto'))
    .flatMap(([, { properties = {} }]) => Object.keys(properties).map((name) => [name, 7] as const)),
  ...Object.entries({
    id: '11111111-1111-4111-8111-111111111111',
    clubId: south,
    tenantId: south,
    club_id: south,
    tenant_id: south,
    createdById: otherId,
    created_by: otherId,
    createdAt: '2001-01-01T00:00:00Z',
    updatedAt: '2001-01-01T00:00:00Z',
    completedAt: '2001-01-01T00:00:00Z',
    state: 'Done',
    signupCount: 0,
    signup_count: 0,
    freeSlots: 99,
    isSignedUp: true,
    signups: [{ memberId: otherId }],
    memberId: otherId,
    allowedTransitions: ['Done'],
    role: 'Admin',
    toString: 'x',
    hasOwnProperty: true,
    prototype: {},
    constructor: { prototype: { isAdmin: true } },
    $ref: '#',
    'a/b~c': 1,
  }),
]);
/** As JSON text, because a JavaScript object cannot have all of these names. */
const members = [...fields].map(([name, value]) => [name, JSON.stringify(value)] as const);
members.push(['__proto__', '{"role":"Admin","isAdmin":true}']);

const refusal = ({ status, body }: Response) =>
  [status, body?.code, ...(body?.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)].join(' ');
const pointerTo = (name: string) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

for (const endpoint of endpoints.filter(({ body }) => body !== undefined)) {
  const { method, path } = endpoint;
  const operation = `${method} ${path}`;
  t.test(`${operation} accepts no field that the server decides, and an error changes nothing`, async (t) => {
    const { clubId, url, body } = await makeClubFor(service, endpoint);
    const admin = service.as('anna', 'Admin', clubId);
    const send = { POST: admin.post, PUT: admin.put, PATCH: admin.patch }[method as 'POST'];
    await admin.memberId();
    const { schema } = operationOf(endpoint).requestBody?.content['application/json'] ?? {};
    const known = document.components.schemas[schema?.$ref?.split('/').at(-1) ?? '']?.properties ?? {};
    const foreign = members.filter(([name]) => !Object.hasOwn(known, name));
    const inner = JSON.stringify(body).slice(1, -1);
    const before = await fingerprint(service.db, clubId);
    const wrong: unknown[] = [];
    for (const [name, value] of foreign) {
      // First and last, for parsers that take either; null, for code that checks the value first.
      for (const member of [`"${name}":${value}`, `"${name}":null`]) {
        const texts = inner === '' ? [`{${member}}`] : [`{${inner},${member}}`, `{${member},${inner}}`];
        for (const text of texts) {
          const result = refusal(await send(url, text));
          if (result !== `400 validation_failed ${pointerTo(name)}`) {
            wrong.push({ text, result });
          }
        }
      }
    }
    t.same(wrong, []);
    const all = [inner, ...foreign.map(([name, value]) => `"${name}":${value}`)].filter(Boolean).join();
    const pointers = refusal(await send(url, `{${all}}`))
      .split(' ')
      .slice(2);
    t.same(pointers.sort(), foreign.map(([name]) => pointerTo(name)).sort());
    t.same(await fingerprint(service.db, clubId), before);
    // Otherwise the errors could come from a body that is always invalid.
    const accepted = await send(url, body);
    t.ok(accepted.status < 300, refusal(accepted));
  });
}

t.test('no request changes Object.prototype', async (t) => {
  t.notOk('isAdmin' in {});
  const viewer = service.as('vera', 'Viewer', north);
  t.equal(refusal(await viewer.delete(`/api/tasks/${MISSING}`)), '403 insufficient_role');
});
