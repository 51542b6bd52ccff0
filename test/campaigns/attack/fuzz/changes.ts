import fc, { type Arbitrary } from 'fast-check';
import type { Described, Operation, Schema } from './document.js';
import { type Draft, draft, written } from './draft.js';
import { header, INHERITED, json, mediaType, nasty } from './noise.js';
import { type FuzzRequest, standIn, tokenOf } from './request.js';

const TIMES = [
  '2031-02-29T00:00:00Z', '2032-02-29T00:00:00Z', '2100-02-29T00:00:00Z', '2031-04-31T00:00:00Z', '2031-13-01T00:00:00Z', '2031-00-01T00:00:00Z', '2031-01-00T00:00:00Z',
  '2031-05-01T24:00:00Z', '2031-05-01T23:60:00Z', '2031-05-01T23:59:60Z', '2016-12-31T23:59:60Z', '2031-05-01', '2031-05-01T18:00Z', '2031-05-01T18:00:00', '2031-05-01 18:00:00Z',
  '2031-05-01t18:00:00z', '2031-05-01T18:00:00+24:00', '2031-05-01T18:00:00+02', '2031-05-01T18:00:00+0200', '2031-05-01T18:00:00+02:60', '2031-05-01T18:00:00-00:00',
  '2031-05-01T18:00:00,5Z', '2031-05-01T18:00:00.Z', '2031-05-01T18:00:00.1234567890123Z', '1969-12-31T23:59:59Z', '1970-01-01T00:00:00Z', '1970-01-01T00:00:00+00:01', '2199-12-31T23:59:59.999999Z',
  '2199-12-31T23:59:59-00:01', '2200-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '+12031-05-01T18:00:00Z', '-0001-01-01T00:00:00Z',
  '2031-05-01T18:00:00Z ', ' 2031-05-01T18:00:00Z', '２031-05-01T18:00:00Z', '2031-05-01T18:00:00−02:00', '2031-05-01T18:00:00[Europe/Berlin]', '1777658400', 'tomorrow', 'infinity', 'now',
]; // biome-ignore format: times, not lines

const row = standIn('task', 0);
const UUIDS = [`urn:uuid:${row}`, `{${row}}`, row.replaceAll('-', ''), row.slice(1), `${row}0`, row.toUpperCase(), row.replace('f', 'g'), `${row}\n`, ` ${row}`, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'me', 'null', '1']; // biome-ignore format: a list

/** Values at both sides of each limit of a schema, and values of another type. */
function edges(schema: Schema): unknown[] {
  const { type, minLength, maxLength, minimum, maximum, format } = schema;
  const words = schema.enum ?? schema.items?.enum ?? [];
  const lengths = [minLength, maxLength].flatMap((length) => (length === undefined ? [] : [length - 1, length, length + 1])).filter((length) => length >= 0); // biome-ignore format: one thing
  const texts = lengths.flatMap((length) =>
    ['a', '😀', ' '].map((letter) => letter.repeat(length)).concat(` ${'a'.repeat(length)}\t`),
  );
  const bounds = [minimum, maximum].flatMap((bound) =>
    bound === undefined ? [] : [bound - 1, bound, bound + 1, bound + 0.5],
  );
  const byFormat: Record<string, string[]> = { 'date-time': TIMES, uuid: UUIDS, assignee: UUIDS };
  const misspelt = words.flatMap((word) => [
    word,
    word.toLowerCase(),
    word.toUpperCase(),
    ` ${word}`,
    `${word},`,
    `${word},${word}`,
    word.slice(0, -1),
    `-${word}`,
  ]);
  const numbers =
    type === 'integer'
      ? [...bounds, ...bounds.map(String), -0, 1e21, Number.MAX_SAFE_INTEGER, '01', '+1', '1.0', ' 1']
      : bounds;
  return [
    ...texts,
    ...numbers,
    ...(byFormat[format ?? ''] ?? []),
    ...misspelt,
    null,
    true,
    5,
    '5',
    [],
    {},
    ['a'],
    { a: 1 },
  ];
}

type Change = (noise: Noise, drawn: Draft) => void;

/** The random input of a change: numbers choose, texts are inserted. */
interface Noise {
  one: number;
  other: number;
  text: string;
  header: string;
  media: string;
  described: Described;
}

const pick = <Item>(items: readonly Item[], index: number) => items[index % items.length] as Item;

function bodyOf(
  drawn: Draft,
  { described }: Noise,
): { body: Record<string, unknown>; members: [string, Schema][] } {
  const schema = Object.values(drawn.operation.bodies)[0];
  drawn.body ??= {};
  const members = schema === undefined ? [] : Object.entries(described.follow(schema).properties ?? {});
  // An operation without members gets an unknown one.
  return {
    body: drawn.body as Record<string, unknown>,
    members: members.length > 0 ? members : [['title', {}]],
  };
}

function queryOf(drawn: Draft, { one }: Noise): [string, Schema] {
  const queries = drawn.operation.parameters.filter((parameter) => parameter.in === 'query');
  const { name, schema } = queries[one % queries.length] ?? { name: 'limit', schema: {} };
  drawn.query = drawn.query.filter(([other]) => other !== name);
  return [name, schema];
}

const inBody: Record<string, Change> = {
  'a member at an edge': (noise, drawn) => {
    const { body, members } = bodyOf(drawn, noise);
    const [name, schema] = pick(members, noise.one);
    body[name] = pick(edges(schema), noise.other);
  },
  'a member of nasty text': (noise, drawn) => {
    const { body, members } = bodyOf(drawn, noise);
    body[pick(members, noise.one)[0]] = noise.text;
  },
  'a member missing': (noise, drawn) => {
    const { body, members } = bodyOf(drawn, noise);
    delete body[pick(members, noise.one)[0]];
  },
  'a member unknown': (noise, drawn) => {
    const { body, members } = bodyOf(drawn, noise);
    const name = pick(
      [
        ...INHERITED,
        noise.text,
        pick(members, noise.other)[0].toUpperCase(),
        'id',
        'clubId',
        'tenantId',
        'createdById',
      ],
      noise.one,
    );
    Object.defineProperty(body, name, { value: 'a', enumerable: true, configurable: true, writable: true });
  },
  'another body': (noise, drawn) => {
    drawn.body = pick([null, true, 0, '', 'title', [], [drawn.body], { body: drawn.body }, {}], noise.one);
  },
  'another media type': (noise, drawn) => {
    drawn.headers['content-type'] = noise.media;
  },
  'no media type': (_noise, drawn) => {
    delete drawn.headers['content-type'];
  },
  'a coding': (noise, drawn) => {
    drawn.headers['content-encoding'] = pick(['gzip', 'identity', 'IDENTITY', 'br', ''], noise.one);
  },
  'no body': (_noise, drawn) => {
    drawn.body = undefined;
  },
};

const elsewhere: Record<string, Change> = {
  'an id that is none': (noise, drawn) => {
    drawn.id = pick([...UUIDS, noise.text], noise.one);
  },
  'a parameter at an edge': (noise, drawn) => {
    const [name, schema] = queryOf(drawn, noise);
    drawn.query.push([name, String(pick(edges(schema), noise.other))]);
  },
  'a parameter of nasty text': (noise, drawn) => {
    drawn.query.push([queryOf(drawn, noise)[0], noise.text]);
  },
  'a parameter unknown': (noise, drawn) => {
    const [name] = queryOf(drawn, noise);
    drawn.query.push([pick([...INHERITED, noise.text, name.toUpperCase(), `${name}[]`, ` ${name}`, 'offset'], noise.other), 'a']);
  },
  'a parameter twice': (noise, drawn) => {
    const [name] = queryOf(drawn, noise);
    drawn.query.push([name, 'a'], [name, 'a']);
  },
  'another method': (noise, drawn) => {
    drawn.method = pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'], noise.one);
  },
  'a header missing': (noise, drawn) => {
    delete drawn.headers[pick(Object.keys(drawn.headers), noise.one)];
  },
  'a header altered': (noise, drawn) => {
    drawn.headers[pick(['if-match', 'idempotency-key', 'x-tenant-id', 'x-test-userid', 'authorization'], noise.one)] = noise.header;
  },
  'another club': (noise, drawn) => {
    const lists = `${standIn('club', 0)}, ${standIn('club', 1)}`;
    drawn.headers['x-tenant-id'] = pick([standIn('club', 1), standIn('club', 0).toUpperCase(), lists, row, ...UUIDS].filter((text) => !/\n/.test(text)), noise.one);
  },
  'another scheme': (noise, drawn) => {
    drawn.headers.authorization = pick(['Basic', 'bearer', 'Bearer ', 'Bearer', 'DPoP'], noise.one).concat(` ${tokenOf('Admin')}`);
  },
}; // biome-ignore format: changes

/** Requests of an operation with one change, which may or may not be a fault. */
export function changed(described: Described, operation: Operation): Arbitrary<FuzzRequest> {
  const changes = { ...(Object.keys(operation.bodies).length > 0 ? inBody : {}), ...elsewhere };
  const names = Object.keys(changes).flatMap((name) =>
    /edge|nasty/.test(name) ? [name, name, name] : [name],
  );
  const noise = fc.record({ one: fc.nat(999), other: fc.nat(999), text: nasty, header, media: mediaType });
  const rewritten = fc.tuple(draft(described, operation), json).map(([drawn, text]): FuzzRequest => ({
    ...written('near', 'a body that is any JSON', drawn),
    ...(Object.keys(operation.bodies).length > 0 && { body: { text } }),
  })); // biome-ignore format: one thing
  return fc.oneof(
    { weight: 12, arbitrary: fc.tuple(draft(described, operation), fc.constantFrom(...names), noise).map(([drawn, name, drawnNoise]) => {
      const copy: Draft = { ...drawn, query: [...drawn.query], headers: { ...drawn.headers }, body: structuredClone(drawn.body) };
      changes[name]?.({ ...drawnNoise, described }, copy);
      return written('near', name, copy);
    }) },
    { weight: 1, arbitrary: rewritten },
  ); // biome-ignore format: two cases
}
