import t from 'tap';
import { document, endpointsFor, makers, operationOf, pathOf } from '../setup/endpoints.js';
import { walk } from '../setup/paging.js';
import { startService } from '../setup/service.js';
import { instants } from '../setup/shifts.js';

interface Schema {
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
}

const service = await startService(t);
const club = await service.db.makeClub('north');
const admin = service.as('anna', 'Admin', club);
const endpoints = await endpointsFor(service, club);
const creations = makers.map(({ path }) => ({
  path,
  body: endpoints.find((one) => one.method === 'POST' && one.path === path)?.body as Record<string, unknown>,
}));
const schemas = document.components.schemas as Record<string, Schema>;

/** The schema of the body of an endpoint. */
function bodyOf(endpoint: Parameters<typeof operationOf>[0]): Schema {
  const { $ref = '' } = operationOf(endpoint).requestBody?.content['application/json']?.schema ?? {};
  return schemas[$ref.split('/').at(-1) as string] ?? {};
}

// Every answer of a test is validated against these schemas (setup/contract.ts), including the formats.
t.test(
  'every property of a DTO is always present and in camelCase; ids are UUIDs and times date-times',
  async (t) => {
    const names = Object.keys(schemas).filter((name) => name.endsWith('Dto'));
    t.ok(names.length >= 7);
    for (const name of names) {
      const { properties = {}, required = [] } = schemas[name] as Schema;
      t.same([...required].sort(), Object.keys(properties).sort(), name);
      for (const [key, { format }] of Object.entries(properties)) {
        t.match(key, /^[a-z]+([A-Z][a-z]+)*$/, `${name}.${key}`);
        const isId = /^id$|Id$/.test(key) && key !== 'externalUserId';
        t.equal(format === 'uuid', isId, `${name}.${key}`);
        t.equal(format === 'date-time', key.endsWith('At'), `${name}.${key}`);
      }
    }
  },
);

t.test('an optional field that is absent from a new row, or null, is null', async (t) => {
  for (const { path, body } of creations) {
    const { properties = {}, required = [] } = bodyOf({ method: 'POST', path });
    const optional = Object.keys(properties).filter((name) => !required.includes(name));
    const nulls = Object.fromEntries(optional.map((name) => [name, null]));
    const least = Object.fromEntries(required.map((name) => [name, body[name]]));
    for (const sent of [least, { ...least, ...nulls }]) {
      t.match(await admin.post(path, sent), { status: 201, body: nulls }, path);
    }
  }
});

t.test('a new row is a 201 with its Location and ETag, and is there', async (t) => {
  for (const { path, body } of creations) {
    const made = await admin.post(path, body);
    const location = `${path}/${made.body.id}`;
    t.match(made, { status: 201, headers: { location, etag: '"1"' }, body: { version: 1 } }, path);
    for (const url of [location, `${path}/${made.body.id.toUpperCase()}`]) {
      const read = await admin.get(url);
      t.same([read.status, read.headers.etag, read.body], [200, '"1"', made.body], url);
    }
    const listed = (await walk(admin, path)).find(({ id }) => id === made.body.id) ?? {};
    t.ok(Object.keys(listed).length > 0, path);
    for (const [name, value] of Object.entries(listed)) {
      t.same(value, made.body[name], `${path}: ${name} in the list`);
    }
  }
});

t.test('a deletion is a 204 without a body; then every method is a 404, before 412', async (t) => {
  for (const { path, body } of creations.filter(({ path }) => document.paths[`${path}/{id}`]?.delete)) {
    const url = `${path}/${(await admin.post(path, body)).body.id}`;
    const gone = await admin.delete(url, { 'content-type': 'application/json' });
    t.same([gone.status, gone.text, gone.headers['content-type']], [204, '', undefined], path);
    for (const endpoint of endpoints.filter((one) => one.path === `${path}/:id`)) {
      for (const headers of [{}, { 'if-match': '"9"' }]) {
        const again = await service.send(endpoint.method, url, {
          headers: {
            authorization: `Bearer ${service.token({ sub: 'anna', clubs: { [club]: 'Admin' } })}`,
            'x-tenant-id': club,
            ...headers,
          },
          body: endpoint.body,
        });
        t.match(again, { status: 404, body: { code: endpoint.answer } }, `${endpoint.method} ${path}`);
      }
    }
    t.notOk(
      (await walk(admin, path)).some(({ id }) => url.endsWith(String(id))),
      path,
    );
  }
});

t.test(
  'a time in a body is RFC 3339 with an offset, in the years 1970 to 2199 as written and in UTC',
  async (t) => {
    const send = { POST: admin.post, PUT: admin.put, PATCH: admin.patch } as const;
    for (const endpoint of endpoints.filter(({ body }) => body !== undefined)) {
      const { method, body, answer } = endpoint;
      const times = Object.entries(bodyOf(endpoint).properties ?? {}).flatMap(([name, { format }]) =>
        format === 'date-time' ? name : [],
      );
      const result = async (changes: object) => {
        const { version: _any, ...fields } = body as Record<string, unknown>;
        const { status, body: received } = await send[method as 'POST'](pathOf(endpoint), {
          ...fields,
          ...changes,
        });
        const errors = (received.errors ?? []) as { pointer: string }[];
        return status === 400 ? errors.map(({ pointer }) => pointer) : (received.code ?? status);
      };
      const [first, ...others] = times;
      if (first === undefined) {
        continue;
      }
      for (const time of instants.valid) {
        // A later field is a moment later, because a period does not end at its begin.
        const later = new Date(Date.parse(time) + 1).toISOString();
        const changes = Object.fromEntries([[first, time], ...others.map((name) => [name, later])]);
        t.equal(await result(changes), answer, `${method} ${endpoint.path}: ${time}`);
      }
      for (const time of instants.invalid) {
        for (const name of times) {
          t.same(await result({ [name]: time }), [`/${name}`], `${method} ${endpoint.path}: ${name} ${time}`);
        }
      }
    }
  },
);
