import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { root } from '../../tools/root.js';
import { contract, endpoints, fit, makeRows, makers } from '../setup/endpoints.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const { body: document } = await service.send('GET', '/openapi.json');
const operations = Object.entries<Record<string, { operationId: string }>>(document.paths).flatMap(
  ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
) as {
  path: string;
  method: string;
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: { name: string }[];
}[];

t.test('the document is OpenAPI 3.1 and needs neither a token nor a club', async (t) => {
  const answer = await service.send('GET', '/openapi.json');
  t.equal(answer.status, 200);
  t.match(String(answer.headers['content-type']), /^application\/json/);
  t.equal(answer.body.openapi, '3.1.0');
  t.equal((await service.send('GET', '/openapi.json?x=1')).body.code, 'invalid_parameter');
});

t.test('the version of the document is that of the release', async (t) => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  t.equal(document.info.version, version);
});

t.test('the document has every operation of the contract once, with a summary and a group', async (t) => {
  const names = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  const expected = [...contract.map(({ method, path }) => `${method} ${path.replace(':id', '{id}')}`)];
  t.same(
    [...expected, 'GET /livez', 'GET /readyz'].filter((name) => !names.includes(name)),
    [],
  );
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
  for (const { operationId, summary, tags } of operations) {
    t.ok(summary, operationId);
    t.equal(tags.length, 1, operationId);
  }
});

t.test('the DTOs are components with their names', async (t) => {
  const names = [
    'ClubDto',
    'CreateShiftRequest',
    'CreateTaskRequest',
    'MemberDto',
    'Problem',
    'ShiftDetailDto',
    'ShiftListDto',
    'ShiftSignupDto',
    'TaskDetailDto',
    'TaskListDto',
    'UpdateShiftRequest',
    'UpdateTaskRequest',
  ];
  t.same(
    names.filter((name) => document.components.schemas[name] === undefined),
    [],
  );
});

t.test('every operation below /api but GET /api/clubs/me asks for the tenant header', async (t) => {
  for (const { method, path, parameters = [] } of operations) {
    const asks = parameters.some(({ name }) => name === 'X-Tenant-Id');
    t.equal(asks, path.startsWith('/api') && path !== '/api/clubs/me', `${method} ${path}`);
  }
});

t.test('every request has an example that the service accepts and returns unchanged', async (t) => {
  const club = await service.db.makeClub();
  const admin = service.as('anna', 'Admin', club);
  const ids = await makeRows(service, club);
  const made: Record<string, string> = {};
  for (const { path, body } of makers) {
    const sent = fit(body, ids) as object;
    const { status, headers, body: row } = await admin.post(path, sent);
    t.equal(status, 201, `${path}; an id in its example is that of an example of another list`);
    made[path] = row.id;
    t.same(differences(sent, row), [], path);
    t.same((await admin.get(String(headers.location))).body, row, `${path}, read again`);
  }
  for (const { method, path } of endpoints.filter(({ method }) => ['PATCH', 'PUT'].includes(method))) {
    const [list = '', ...below] = path.split('/:id');
    const { schema } =
      document.paths[path.replace(':id', '{id}')][method.toLowerCase()].requestBody.content[
        'application/json'
      ];
    for (const example of examplesOf(schema)) {
      const { version: _seen, ...changes } = fit(example, ids);
      const url = `${list}/${made[list]}${below.join('')}`;
      const { status, body: row } = await (method === 'PUT' ? admin.put : admin.patch)(url, changes);
      t.equal(status, 200, `${method} ${path} ${JSON.stringify(changes)}`);
      t.same(differences(changes, row), [], `${method} ${path}`);
    }
  }
});

// biome-ignore lint/suspicious/noExplicitAny: examples have every shape
function examplesOf(schema: { $ref?: string; examples?: any[] }): any[] {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return (name === undefined ? schema : document.components.schemas[name]).examples;
}

/** The fields that were returned changed; `25.5` equals `25.50`, and a time equals itself in any offset. */
function differences(sent: object, row: Record<string, unknown>): string[] {
  const plain = (value: unknown) => {
    const text = String(value);
    return /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : /^[\d.]+$/.test(text) ? Number(text) : value;
  };
  return Object.entries(sent)
    .filter(([name]) => name in row)
    .filter(([name, value]) => JSON.stringify(plain(value)) !== JSON.stringify(plain(row[name])))
    .map(([name, value]) => `${name}: ${value} became ${row[name]}`);
}

t.test('every error response has an example for each of its codes', async (t) => {
  for (const { path, method } of operations) {
    const { responses } = document.paths[path][method];
    for (const [status, { content }] of Object.entries<{
      content?: Record<
        string,
        { schema: { allOf?: { properties?: { code: { enum: string[] } } }[] }; examples: object }
      >;
    }>(responses)) {
      const problem = content?.['application/problem+json'];
      if (problem !== undefined) {
        t.same(
          Object.keys(problem.examples),
          problem.schema.allOf?.[1]?.properties?.code.enum,
          `${method} ${path} ${status}`,
        );
      }
    }
  }
});

t.test('an additional property is allowed in an answer, and is a fault in a body', async (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document');
  const takes = (place: unknown[], value: unknown) => {
    const pointer = place.map((part) => encodeURIComponent(String(part).replaceAll('/', '~1'))).join('/');
    return ajv.compile({ $ref: `document#/${pointer}/schema` })(value);
  };
  const grown = (value: unknown) =>
    JSON.parse(JSON.stringify(value), (_name, part) =>
      part !== null && typeof part === 'object' && !Array.isArray(part) ? { ...part, colour: 'red' } : part,
    );
  const wrong: string[] = [];
  for (const { path, method, operationId } of operations) {
    const { responses, requestBody } = document.paths[path][method];
    for (const [status, { content = {} }] of Object.entries<{ content?: object }>(responses)) {
      for (const [media, { example, examples }] of Object.entries(content)) {
        const all =
          example === undefined ? Object.values<{ value: unknown }>(examples) : [{ value: example }];
        const at = ['paths', path, method, 'responses', status, 'content', media];
        if (!all.every(({ value }) => takes(at, value) && takes(at, grown(value)))) {
          wrong.push(`${operationId} ${status}`);
        }
      }
    }
    for (const [media, { schema }] of Object.entries<{ schema: { $ref?: string } }>(
      requestBody?.content ?? {},
    )) {
      const example = document.components.schemas[schema.$ref?.split('/').at(-1) ?? '']?.examples[0] ?? {};
      const at = ['paths', path, method, 'requestBody', 'content', media];
      if (!takes(at, example) || takes(at, grown(example))) {
        wrong.push(`${operationId} ${media}`);
      }
    }
  }
  t.same(wrong, []);
});

t.test('/docs shows the document with its own assets only', async (t) => {
  const page = await service.send('GET', '/docs');
  t.equal(page.status, 200);
  const assets = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => String(url));
  t.ok(assets.length > 3);
  for (const url of assets) {
    t.match(url, /^\/docs\//);
    t.equal((await service.send('GET', url)).status, 200, url);
  }
});
