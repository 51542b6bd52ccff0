import { METHODS } from 'node:http';
import fc, { type Arbitrary } from 'fast-check';
import type { Described } from './document.js';
import { type FuzzRequest, ROLES, standIn, tokenOf } from './request.js';

/** Inherited property names, and names that an object must not take from a request. */
export const INHERITED = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']; // biome-ignore format: a list

const HALF = '\ud83d';

/** Texts that are known to break software. */
export const nasty: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '', ' ', '\0', 'a\0b', HALF, `a${HALF}`, '\udc00', '\u0085', '\u2028', '\ufeff', '\ufffe', '\u202e', '\r\n', '\t', '\x7f', '\x1b[0m',
    "'", "'; drop table app.tasks; --", '{{7*7}}', '%00', '%', '../..', '\\', '\\u0000', '$1', 'null', 'undefined', 'NaN', 'true',
    '-1', '0', '1e400', '99999999999999999999', '0x10', 'infinity', '-infinity', 'now', 'epoch', 'Ⅷ', '٣', '１', 'ﬀ', 'İ', 'a'.repeat(5_000), '😀'.repeat(300),
    ...INHERITED,
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)), maxLength: 6 }),
); // biome-ignore format: texts, not lines

const number = fc.constantFrom('0', '-0', '1.5', '1e2', '1E400', '-1', '2147483648', '9007199254740993', '1e-400', '1'.repeat(400)); // biome-ignore format: a list

/** Created once: each takes longer to create than a request to answer. */
const FIELDS = Array.from({ length: 3_000 }, (_, index) => `"f${index}":0`);
const HUGE = [131_071, 131_072, 131_073, 200_000].map((size) => ({
  text: JSON.stringify('a'.repeat(size - 2)),
}));

/** Unusual JSON as text: numbers that JavaScript cannot write, duplicate members, deep nesting. */
export const json: Arbitrary<string> = fc.oneof(
  fc.jsonValue({ depthSize: 'small' }).map((value) => JSON.stringify(value)),
  number,
  fc.tuple(fc.constantFrom('title', 'capacity', 'version', 'dueAt', ...INHERITED), number).map(([name, written]) => `{"${name}":${written}}`),
  fc.tuple(fc.constantFrom('title', 'state', ...INHERITED), fc.constantFrom('"a"', 'null', '{"polluted":true}')).map(([name, value]) => `{"${name}":"b","${name}":${value}}`),
  fc.tuple(fc.constantFrom('[', '{"a":', '{"title":'), fc.constantFrom(100, 5_000, 20_000)).map(([open, depth]) => open.repeat(depth)),
  fc.integer({ min: 1, max: 30_000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  fc.integer({ min: 100, max: 3_000 }).map((count) => `{${FIELDS.slice(0, count).join()}}`),
  fc.constantFrom('', '{', '}', 'nul', '\ufeff{}', '{"title":"a",}', "{'title':'a'}", '{"title":"a"}{}', '{"title":"\t"}', '// a\n{}', '[NaN]', '{"title":"\\ud800"}'),
); // biome-ignore format: a case a line

const bytes = fc
  .uint8Array({ maxLength: 200 })
  .map((drawn) => ({ base64: Buffer.from(drawn).toString('base64') }));

/** Header values that Node accepts: its parser refuses others, which other tests cover. */
export const header: Arbitrary<string> = fc.oneof(
  nasty.map((text) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?').trim()),
  fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).filter((code) => code < 0x7f || code > 0x9f).map((code) => String.fromCharCode(code)), maxLength: 20 }).map((text) => text.trim()),
); // biome-ignore format: a case a line

/** Valid and invalid content types. */
export const mediaType = fc.constantFrom(
  'application/merge-patch+json', 'APPLICATION/JSON', 'application/json;charset=utf-16', 'application/json; charset=utf-8', 'text/plain', 'text/json', '*/*',
  'application/x-www-form-urlencoded', 'multipart/form-data; boundary=a', 'application/problem+json', 'application/jsonx', 'json', '', ';', 'application/json,text/plain',
); // biome-ignore format: types, not lines

const names = ['x-tenant-id', 'authorization', 'x-test-userid', 'if-match', 'idempotency-key', 'content-type', 'content-encoding', 'accept', 'origin', 'range', 'cookie', 'if-none-match', 'x-forwarded-for', 'x-http-method-override', 'x-request-id', 'accept-version', 'upgrade', ...INHERITED]; // biome-ignore format: a list

const methods = METHODS.filter((method) => method !== 'CONNECT');

/** Any request, mostly with a valid token and club, so that it passes the first checks. */
export function noise(described: Described): Arbitrary<FuzzRequest> {
  const paths = [...new Set(described.operations.map(({ path }) => path))];
  const parts = ['api', 'tasks', 'shifts', 'members', 'clubs', 'me', 'signup', 'docs', 'livez', 'openapi.json', 'static', '..', '.', '', '%2e%2e', '%2f', '%00', '%ff', '%', '*', ':id', 't%61sks', 'TASKS', standIn('task', 0), standIn('shift', 1), ...INHERITED]; // biome-ignore format: a list
  const encoded = fc.oneof(nasty.map((text) => encodeURIComponent(Buffer.from(text).toString())), fc.constantFrom('%', '%f', '%ff', '%c0%af', '%00', '%ed%a0%80', '+', 'a=b', '[]', '[a]', ';', ':')); // biome-ignore format: one thing
  const path = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...paths), fc.oneof(fc.constantFrom(standIn('task', 0), standIn('shift', 0)), encoded)).map(([known, id]) => known.replace('{id}', id)) },
    { weight: 2, arbitrary: fc.array(fc.constantFrom(...parts), { maxLength: 5 }).map((drawn) => `/${drawn.join('/')}`) },
    { weight: 1, arbitrary: encoded.map((drawn) => `/${drawn}`) },
    { weight: 1, arbitrary: fc.webPath() },
  ); // biome-ignore format: a case a line
  const known = [
    'q',
    'state',
    'limit',
    'cursor',
    'sort',
    'from',
    'to',
    'assigneeId',
    'dueBefore',
    'role',
    'signedUp',
    ...INHERITED,
  ];
  const pair = fc
    .tuple(fc.oneof(fc.constantFrom(...known), encoded), fc.oneof(encoded, fc.constant('1')))
    .map((drawn) => drawn.join('='));
  const query = fc.oneof(
    fc.constantFrom('', '?', '?&', '?=', '?a'),
    fc.array(pair, { maxLength: 3 }).map((drawn) => `?${drawn.join('&')}`),
  );
  const good: Record<string, string> = {
    authorization: `Bearer ${tokenOf('Admin')}`,
    'x-tenant-id': standIn('club', 0),
  };
  const headers = fc.oneof(
    { weight: 3, arbitrary: fc.constant(good) },
    { weight: 1, arbitrary: fc.constantFrom(...ROLES).map((role) => ({ ...good, authorization: `Bearer ${tokenOf(role)}` })) },
    { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...names), header).map(([name, value]) => ({ ...good, [name]: value })) },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...names), header, { maxKeys: 3, noNullPrototype: true }) },
  ); // biome-ignore format: a case a line
  const text = json.map((drawn) => ({ text: drawn }));
  const body = fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 5, arbitrary: text }, { weight: 2, arbitrary: bytes }, { weight: 1, arbitrary: fc.constantFrom(...HUGE) }); // biome-ignore format: one thing
  const method = fc.oneof({ weight: 4, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD') }, { weight: 1, arbitrary: fc.constantFrom(...methods) }); // biome-ignore format: one thing
  const type = fc.oneof(
    { weight: 3, arbitrary: fc.constant('application/json') },
    { weight: 1, arbitrary: mediaType },
  );
  return fc.record({ method, path, query, headers, body, type }).map((drawn): FuzzRequest => {
    const typed = drawn.body === undefined || drawn.type === '' ? {} : { 'content-type': drawn.type };
    const sent = { ...typed, ...drawn.headers };
    const url = normal(drawn.path + drawn.query);
    return {
      kind: 'random',
      change: 'anything',
      method: drawn.method,
      url,
      headers: sent,
      ...(drawn.body && { body: drawn.body }),
    };
  });
}

/** The URL as light-my-request parses it: an unreadable one becomes the root. */
function normal(url: string): string {
  const full = `http://localhost${url}`;
  if (!URL.canParse(full)) {
    return '/';
  }
  const { pathname, search } = new URL(full);
  return pathname + search;
}
