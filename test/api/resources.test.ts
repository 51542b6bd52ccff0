import t from 'tap';
import { document, endpointsFor, makeClubFor, makers } from '../setup/endpoints.js';
import { bodySchemaOf } from '../setup/fields.js';
import { walk } from '../setup/paging.js';
import { startService } from '../setup/service.js';

interface Schema {
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
}

const service = await startService(t);
/** A creation of a row, in a new club. */
async function creationOf(maker: (typeof makers)[number]) {
  const { clubId, ids, body } = await makeClubFor(service, maker);
  return {
    path: maker.path,
    clubId,
    ids,
    body: body as Record<string, unknown>,
    admin: service.as('anna', 'Admin', clubId),
  };
}
const schemas = document.components.schemas as Record<string, Schema>;

// Every response of a test is validated against these schemas (setup/contract.ts), including the formats.
t.test(
  'every property of a DTO is always present and in camelCase; ids are UUIDs and times date-times',
  async (t) => {
    const names = Object.keys(schemas).filter((name) => name.endsWith('Dto'));
    t.ok(names.length >= 7);
    for (const name of names) {
      const { properties = {}, required = [] } = schemas[name] as Schema;
      t.same(
        [...required].sort(),
        Object.keys(properties).sort(),
        `${name}: no field is Optional; it may be Nullable`,
      );
      for (const [key, { format }] of Object.entries(properties)) {
        t.match(key, /^[a-z]+([A-Z][a-z]+)*$/, `${name}.${key}`);
        const isId = /^id$|Id$/.test(key) && key !== 'externalUserId';
        t.equal(
          format === 'uuid',
          isId,
          `${name}.${key}: an Id() is id or ends with Id, and nothing else does`,
        );
        const isTime = /^at$|(At|Until)$/.test(key);
        t.equal(
          format === 'date-time',
          isTime,
          `${name}.${key}: a Timestamp() ends with At or Until, and nothing else does`,
        );
      }
    }
  },
);

t.test(
  'an optional field that is absent from a new row, or empty, is empty: null or an empty array',
  async (t) => {
    for (const maker of makers) {
      for (const isSent of [false, true]) {
        const { path, body, admin } = await creationOf(maker);
        const { properties = {}, required = [] } = bodySchemaOf({ method: 'POST', path });
        const optional = Object.entries(properties).filter(([name]) => !required.includes(name));
        const empty = Object.fromEntries(
          optional.map(([name, { type }]) => [name, type === 'array' ? [] : null]),
        );
        const least = Object.fromEntries(required.map((name) => [name, body[name]]));
        const made = await admin.post(path, isSent ? { ...least, ...empty } : least);
        t.match(
          made,
          { status: 201, body: empty },
          `${path} stores null or an empty array for what is absent`,
        );
      }
    }
  },
);

t.test('a new row is a 201 with its Location and ETag, and is there', async (t) => {
  for (const maker of makers) {
    const { path, body, admin } = await creationOf(maker);
    const made = await admin.post(path, body);
    const location = `${path}/${made.body.id}`;
    // Members have no version: a change names what it changes.
    const etag = path === '/api/members' ? undefined : '"1"';
    t.match(
      made,
      { status: 201, headers: { location, etag }, body: { version: etag && 1 } },
      `${path}: what \`reply.create\` is given`,
    );
    for (const url of [location, `${path}/${made.body.id.toUpperCase()}`]) {
      const read = await admin.get(url);
      t.same([read.status, read.headers.etag, read.body], [200, etag, made.body], url);
    }
    const listed = (await walk(admin, path)).find(({ id }) => id === made.body.id) ?? {};
    t.ok(Object.keys(listed).length > 0, `${path} lists a new row`);
    for (const [name, value] of Object.entries(listed)) {
      t.same(value, made.body[name], `${path}: ${name} in the list`);
    }
  }
});

t.test('a deletion is a 204 without a body; then every method is a 404, before 412', async (t) => {
  for (const maker of makers.filter(({ path }) => document.paths[`${path}/{id}`]?.delete)) {
    const { path, clubId, ids, body, admin } = await creationOf(maker);
    const url = `${path}/${(await admin.post(path, body)).body.id}`;
    const gone = await admin.delete(url, { 'content-type': 'application/json' });
    t.same([gone.status, gone.text, gone.headers['content-type']], [204, '', undefined], path);
    for (const endpoint of endpointsFor(ids).filter((one) => one.path === `${path}/:id`)) {
      for (const headers of [{}, { 'if-match': '"9"' }]) {
        const again = await service.send(endpoint.method, url, {
          headers: {
            authorization: `Bearer ${service.token({ sub: 'anna', clubs: { [clubId]: 'Admin' } })}`,
            'x-tenant-id': clubId,
            ...headers,
          },
          body: endpoint.body,
        });
        const at = `${endpoint.method} ${path}/:id`;
        t.match(
          again,
          { status: 404, body: { code: endpoint.answer } },
          `${at}: the row is locked and found first`,
        );
      }
    }
    t.notOk(
      (await walk(admin, path)).some(({ id }) => url.endsWith(String(id))),
      path,
    );
  }
});
