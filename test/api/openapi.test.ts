import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { contract } from '../setup/endpoints.js';
import { startService } from '../setup/service.js';
import { root } from '../setup/source.js';

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

t.test('its version is that of the release', async (t) => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  t.equal(document.info.version, version);
});

t.test('it names every operation of the contract, once each, with a summary and a group', async (t) => {
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

t.test('the DTOs are components by their names', async (t) => {
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

t.test('every request has an example that the service takes', async (t) => {
  const club = await service.db.makeClub();
  const anna = service.as('anna', 'Manager', club);
  const { CreateTaskRequest, UpdateTaskRequest, CreateShiftRequest, UpdateShiftRequest } =
    document.components.schemas;
  const task = await anna.post('/api/tasks', CreateTaskRequest.examples[0]);
  t.equal(task.status, 201);
  for (const example of UpdateTaskRequest.examples) {
    t.equal((await anna.patch(`/api/tasks/${task.body.id}`, example)).status, 200);
  }
  const shift = await anna.post('/api/shifts', CreateShiftRequest.examples[0]);
  t.equal(shift.status, 201);
  t.equal((await anna.put(`/api/shifts/${shift.body.id}`, UpdateShiftRequest.examples[0])).status, 200);
});

t.test('every refusal has an example for each of its codes', async (t) => {
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

t.test('a member that comes later is no fault in an answer, and one in a body', async (t) => {
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

t.test('/docs shows it with assets of its own and nothing from elsewhere', async (t) => {
  const page = await service.send('GET', '/docs');
  t.equal(page.status, 200);
  const assets = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => String(url));
  t.ok(assets.length > 3);
  for (const url of assets) {
    t.match(url, /^\/docs\//);
    t.equal((await service.send('GET', url)).status, 200, url);
  }
});
