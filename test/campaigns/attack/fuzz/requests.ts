import { METHODS } from 'node:http';
import fc, { type Arbitrary } from 'fast-check';
import type { App } from '../../../../src/app.js';
import { ROLES } from '../../../../src/roles.js';
import { parametersOf } from '../operations.js';
import { INHERITED, idOf, mostly, odd, oddText, rarely, type Schema, valid } from './values.js';

/** A request as plain data, so that it can be printed, saved and sent again. */
export interface FuzzRequest {
  method: string;
  /** Path and query, as sent. */
  url: string;
  headers: Record<string, string>;
  body?: Body | undefined;
}
export type Body = { text: string } | { base64: string };

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: Schema;
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: Parameter[];
        security?: unknown[];
        requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
      }
    >
  >;
  components: { schemas: Record<string, Schema> };
}

/** Requests for every operation of the service's document, each mostly valid, and requests for other paths. */
export function requestsOf(app: App): Arbitrary<FuzzRequest> {
  const { paths, components } = app.swagger() as unknown as Document;
  const follow = (schema: Schema): Schema =>
    JSON.parse(JSON.stringify(schema), (_name, part) =>
      part?.$ref === undefined ? part : follow(components.schemas[part.$ref.split('/').at(-1)] as Schema),
    );
  const known = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, security }]) => ({
      // Mostly writes, because reads have no fields, and few deletions, because the others need rows.
      weight: requestBody !== undefined ? 15 : method === 'delete' ? 2 : 5,
      arbitrary: request({
        method: mostly(
          fc.constant(method.toUpperCase()),
          fc.constantFrom('HEAD', ...METHODS.filter((name) => name !== 'CONNECT')),
          12,
        ),
        path: pathOf(path),
        query: queryOf(parameters.filter((parameter) => parameter.in === 'query')),
        headers: headersOf(
          parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name.toLowerCase()),
          security?.length !== 0,
        ),
        type: mediaTypeOf(Object.keys(requestBody?.content ?? {})),
        body: bodyOf(follow(Object.values(requestBody?.content ?? {})[0]?.schema ?? {}), requestBody),
      }),
    })),
  );
  const unknown = request({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY'),
    path: otherPath,
    query: queryOf([]),
    headers: headersOf(['x-tenant-id'], true),
    type: mediaTypeOf([]),
    body: bodyOf({}, undefined),
  });
  return fc.oneof(...known, { weight: 10, arbitrary: unknown });
}

/** A request from the parts; its URL as the HTTP client writes it. */
function request(parts: {
  method: Arbitrary<string>;
  path: Arbitrary<string>;
  query: Arbitrary<string>;
  headers: Arbitrary<Record<string, string>>;
  type: Arbitrary<Record<string, string>>;
  body: Arbitrary<Body | undefined>;
}): Arbitrary<FuzzRequest> {
  return fc.record(parts).map(({ method, path, query, headers, type, body }) => {
    const full = `http://localhost${path}${query}`;
    const url = URL.canParse(full) ? new URL(full).pathname + new URL(full).search : '/';
    return { method, url, headers: body === undefined ? headers : { ...type, ...headers }, body };
  });
}

/** Percent-encodes a text, a lone surrogate as a replacement character. */
const encode = (text: string) => encodeURIComponent(Buffer.from(text).toString());
const oddlyEncoded = fc.constantFrom('%', '%f', '%ff', '%c0%af', '%00', '%ed%a0%80', '+', 'a=b', '[]', '[a]', ';', ':', '&&', '=', '?'); // biome-ignore format: a list

function pathOf(template: string): Arbitrary<string> {
  const places = parametersOf(template);
  const ids = places.map(({ kind }) =>
    mostly(idOf(`${kind}s`), fc.oneof(oddText.map(encode), oddlyEncoded), 12),
  );
  return fc
    .tuple(...ids)
    .map((texts) =>
      places.reduce(
        (path, { name }, index) => path.replace(`{${name}}`, () => texts[index] as string),
        template,
      ),
    );
}

const otherPath: Arbitrary<string> = fc.oneof(
  fc.array(
    fc.constantFrom(
      'api', 'tasks', 'shifts', 'members', 'events', 'clubs', 'me', 'current', 'signup', 'signups', 'batch', 'docs', 'livez', 'openapi.json', 'static', '..', '.', '', '%2e%2e', '%2f', '%00', '%ff', '%', '*',
      ':id', 't%61sks', 'TASKS', 'tasks-0', 'shifts-1', ...INHERITED,
    ),
    { maxLength: 5 },
  ).map((parts) => `/${parts.join('/')}`),
  fc.oneof(oddText.map(encode), oddlyEncoded).map((text) => `/${text}`),
  fc.webPath(),
); // biome-ignore format: a case a line

/** Each parameter sometimes; rarely one that is unknown or given twice. */
function queryOf(parameters: Parameter[]): Arbitrary<string> {
  const pairs = parameters.map(({ name, schema }) =>
    rarely(
      mostly(valid(schema, name), odd(schema), 5).map((value) => `${name}=${encode(String(value))}`),
      4,
    ),
  );
  const names = [...parameters.map(({ name }) => name), ...INHERITED, 'offset', 'Q', 'limit[]', ' q'];
  const more = fc.oneof(
    fc.tuple(fc.oneof(fc.constantFrom(...names), oddText), oddText).map((pair) => pair.map(encode).join('=')),
    oddlyEncoded,
  );
  return fc.tuple(...pairs, rarely(more, 15)).map((all) => {
    const given = all.filter((pair) => pair !== undefined);
    return given.length === 0 ? '' : `?${given.join('&')}`;
  });
}

/** Header values that Node.js parses: what its parser refuses is sent by raw-sockets.test.ts. */
const oddHeader: Arbitrary<string> = fc.oneof(
  oddText.map((text) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?').trim()),
  fc.constantFrom('*', '""', 'W/"1"', '"1", "2"', 'clubs-0, clubs-9', 'clubs-9', 'CLUBS-0', '{clubs-0}', 'Bearer', 'Basic token-Admin', 'bearer  token-Admin', 'Bearer token-Admin, Bearer token-Viewer', 'gzip', 'identity'),
); // biome-ignore format: a case a line

const OTHER_HEADERS = [
  'content-encoding', 'accept', 'origin', 'range', 'cookie', 'if-none-match', 'x-forwarded-for', 'x-http-method-override', 'x-request-id', 'accept-version', 'upgrade',
  'x-tenant-id', 'authorization', 'x-test-userid', 'if-match', 'idempotency-key', 'content-type', ...INHERITED,
]; // biome-ignore format: a list

function headersOf(names: string[], isSecured: boolean): Arbitrary<Record<string, string>> {
  const values: Record<string, Arbitrary<string | undefined>> = {
    'x-tenant-id': mostly<string | undefined>(fc.constant('clubs-0'), fc.constantFrom('clubs-9', 'CLUBS-0', undefined), 15),
    'if-match': rarely(fc.constantFrom('"1"', '*', '"2"', '"1", "2"', 'W/"1"', ''), 3),
    'idempotency-key': rarely(fc.constantFrom('a', 'b', 'c d', '~', 'e', 'f'), 3),
    'x-test-userid': rarely(idOf('members'), 6),
  }; // biome-ignore format: a header a line
  const role = mostly<string>(fc.constant('Admin'), fc.constantFrom(...ROLES), 4);
  return fc
    .record({
      ...Object.fromEntries(names.map((name) => [name, values[name] ?? rarely(oddHeader, 2)])),
      authorization: isSecured ? role.map((name) => `Bearer token-${name}`) : fc.constant(undefined),
      other: rarely(fc.tuple(fc.constantFrom(...OTHER_HEADERS), oddHeader), 10),
    })
    .map(({ other, ...headers }: Record<string, string | [string, string] | undefined>) => {
      const all = [...Object.entries(headers), ...(other === undefined ? [] : [other as [string, string]])];
      return Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Record<string, string>;
    });
}

function mediaTypeOf(documented: string[]): Arbitrary<Record<string, string>> {
  const usual = documented.length === 0 ? ['application/json'] : documented;
  const others = fc.constantFrom(
    'application/json; charset=utf-8', 'application/merge-patch+json', 'APPLICATION/JSON', 'application/json;charset=utf-16', 'text/plain', 'text/json', '*/*',
    'application/x-www-form-urlencoded', 'multipart/form-data; boundary=a', 'application/problem+json', 'application/jsonx', 'json', '', ';', 'application/json,text/plain',
  ); // biome-ignore format: a list
  return mostly<string>(fc.constantFrom(...usual), others, 15).map((type) => ({ 'content-type': type }));
}

/** JSON that JavaScript does not write: other numbers, fields given twice, deep and long values, and texts that are not JSON. */
const oddJson: Arbitrary<string> = fc.oneof(
  fc.jsonValue({ depthSize: 'small' }).map((value) => JSON.stringify(value)),
  fc.tuple(
    fc.constantFrom('title', 'capacity', 'version', 'dueAt', ...INHERITED),
    fc.constantFrom('0', '-0', '1.5', '1e2', '1E400', '-1', '2147483648', '9007199254740993', '1e-400', '1'.repeat(400), '{"polluted":true}'),
  ).map(([name, value]) => `{"${name}":${value}}`),
  fc.tuple(fc.constantFrom('[', '{"a":', '{"title":'), fc.constantFrom(100, 20_000)).map(([open, depth]) => open.repeat(depth)),
  fc.integer({ min: 1, max: 30_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.constantFrom(131_071, 131_072, 131_073, 200_000).map((size) => JSON.stringify('a'.repeat(size - 2))),
  fc.constantFrom(100, 3_000).map((count) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 0])))),
  fc.constantFrom('', '{', '}', 'nul', '{"title":"a",}', "{'title':'a'}", '{"title":"a"}{}', '{"title":"\t"}', '// a\n{}', '[NaN]', '{"title":"\\ud800"}'),
); // biome-ignore format: a case a line

function bodyOf(
  { properties = {}, required = [] }: Schema,
  documented: { required?: boolean } | undefined,
): Arbitrary<Body | undefined> {
  const fields = Object.entries(properties).map(([name, schema]) => [name, mostly(valid(schema, name), odd(schema), 8)] as const);
  const names = [...Object.keys(properties), ...INHERITED, 'id', 'clubId', 'tenantId', 'createdById', 'TITLE'];
  const object = fc
    .record({
      usual: fc.record(Object.fromEntries(fields), { requiredKeys: required as never[], noNullPrototype: true }),
      removed: rarely(fc.constantFrom(...names), 15),
      added: rarely(fc.tuple(fc.oneof(fc.constantFrom(...names), oddText), fc.oneof(oddText, fc.constant(1))), 20),
    })
    .map(({ usual, removed, added }) => {
      const all = Object.entries(usual).filter(([name]) => name !== removed);
      // As text, because an object of JavaScript has no second field of a name, and no field named __proto__.
      const members = [...all, ...(added === undefined ? [] : [added])];
      return `{${members.map((member) => member.map((part) => JSON.stringify(part)).join(':')).join()}}`;
    });
  const text = mostly(object, fc.oneof(oddJson, object.map((json) => `\ufeff${json}`), object.map((json) => ` \n${json}\t`)), 12);
  const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
  // A text field with bytes that are not UTF-8.
  const latin1 = fc.constant(Buffer.from('{"title":"caf\xe9"}', 'latin1'));
  const body = mostly<Body>(
    text.map((json) => ({ text: json })),
    fc.oneof(bytes, latin1).map((buffer) => ({ base64: buffer.toString('base64') })),
    25,
  );
  const isRare = documented === undefined;
  return isRare || documented.required === false ? rarely<Body>(body, isRare ? 12 : 2) : mostly<Body | undefined>(body, fc.constant(undefined), 25);
} // biome-ignore format: one decision a line
