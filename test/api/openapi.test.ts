import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { testUserInvalid } from '../../src/errors/test-user.js';
import { root } from '../../tools/root.js';
import { contract } from '../setup/endpoints.js';
import { errorTypes } from '../setup/errors.js';
import { startService } from '../setup/service.js';

// biome-ignore lint/suspicious/noExplicitAny: the document has every shape
type Part = any;

const service = await startService(t, { testUserHeader: true });
const { body: document } = await service.send('GET', '/openapi.json');
const operations = Object.entries<Part>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Part>(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path,
    method,
    ...operation,
  })),
);
const componentOf = ({ $ref }: Part): Part =>
  document.components.schemas[String($ref).replace('#/components/schemas/', '')];

t.test('the document is OpenAPI 3.1 and needs neither a token nor a club', async (t) => {
  const response = await service.send('GET', '/openapi.json');
  t.equal(response.status, 200);
  t.match(String(response.headers['content-type']), /^application\/json/);
  t.equal(response.body.openapi, '3.1.0');
  t.equal((await service.send('GET', '/openapi.json?x=1')).body.code, 'invalid_parameter');
});

t.test('the version of the document is the version of the release', async (t) => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  t.equal(document.info.version, version);
});

/** The findings of the recommended rules, of every severity. */
async function lint(document: Part): Promise<string[]> {
  const linter = new spectral.Spectral();
  // Its rules are a ruleset, although the types of the two packages disagree.
  linter.setRuleset({ extends: [rulesets.oas as never] });
  const found = await linter.run(structuredClone(document));
  return found.map(({ code, path, message }) => `${code} ${path.join('.')}: ${message}`);
}

t.test(
  'the document has no finding of Spectral’s recommended rules, with and without its options',
  async (t) => {
    t.same(await lint(document), []);
    const plain = await startService(t, { rateLimitPerMinute: 0 });
    t.same(await lint((await plain.send('GET', '/openapi.json')).body), []);
  },
);

t.test('the rules find planted errors', async (t) => {
  const defects: Record<string, (broken: Part) => void> = {
    'info-contact': ({ info }) => delete info.contact,
    'operation-description': ({ paths }) => delete paths['/api/tasks'].get.description,
    'operation-tag-defined': ({ paths }) => paths['/livez'].get.tags.push('Nowhere'),
    'oas3-unused-component': ({ components }) => {
      components.schemas.Forgotten = { type: 'object' };
    },
    'invalid-ref': ({ components }) => {
      components.schemas.ShiftDetailDto.properties.signups.items.$ref = '#/components/schemas/Nothing';
    },
    'oas3-valid-media-example': ({ paths }) => {
      delete paths['/api/tasks'].get.responses[401].content['application/problem+json'].examples
        .unauthenticated.value.code;
    },
    'path-params': ({ paths }) => paths['/api/tasks/{id}'].get.parameters.shift(),
  };
  const broken = structuredClone(document);
  for (const plant of Object.values(defects)) {
    plant(broken);
  }
  const found = (await lint(broken)).map((finding) => finding.split(' ')[0]);
  t.same([...new Set(found)].sort(), Object.keys(defects).sort());
});

t.test('the document has every operation of the contract, and the DTOs by their names', async (t) => {
  const names = operations.map(({ name }) => name);
  const expected = contract.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  t.same(
    [...expected, 'GET /livez', 'GET /readyz'].filter((name) => !names.includes(name)),
    [],
  );
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
  const schemas = [
    'ClubDto',
    'CreateShiftRequest',
    'CreateTaskRequest',
    'EventDto',
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
    schemas.filter((name) => document.components.schemas[name] === undefined),
    [],
  );
});

t.test('every operation below /api but GET /api/clubs/me has the tenant header', async (t) => {
  for (const { name, path, parameters = [] } of operations) {
    const hasIt = parameters.some((parameter: Part) => parameter.name === 'X-Tenant-Id');
    t.equal(hasIt, path.startsWith('/api') && path !== '/api/clubs/me', name);
  }
});

t.test(
  'every POST takes an Idempotency-Key, and a list or an object with a version has an ETag',
  async (t) => {
    for (const { name, method, parameters = [], responses } of operations.filter(({ path }) =>
      path.startsWith('/api'),
    )) {
      const takesKey = parameters.some((parameter: Part) => parameter.name === 'Idempotency-Key');
      t.equal(takesKey, method === 'post', `${name}: Idempotency-Key in requestHeaders of its schema`);
      const [, { headers, content }] =
        Object.entries<Part>(responses).find(([status]) => status < '300') ?? [];
      const { properties } = componentOf(content?.['application/json'].schema ?? {}) ?? {};
      const hasTag = properties?.version !== undefined || headers.Link !== undefined;
      t.equal(headers.ETag !== undefined, hasTag, `${name}: ETag in responseHeaders of its schema`);
    }
  },
);

t.test(
  'every operation has one described group, a summary, a description and the role that it needs',
  async (t) => {
    const groups = document.tags.filter(({ description }: Part) => description).map(({ name }: Part) => name);
    const role =
      /^.{20,}Needs (no token|a token and no role|the role (Viewer|Member|Manager|Admin)( or a higher one)?)\.$/s;
    for (const { name, summary, description, tags } of operations) {
      t.ok(summary, `${name}: summary of its schema`);
      t.match(description, role, `${name}: description of its schema, of 20 characters or more`);
      t.ok(tags.length === 1 && groups.includes(tags[0]), name);
    }
    t.same([...new Set(operations.flatMap(({ tags }) => tags))].sort(), groups.sort(), 'no group is empty');
  },
);

t.test('every parameter, body, status, header and code has a description and an example', async (t) => {
  const missing: string[] = [];
  const check = (isThere: unknown, ...place: unknown[]) => isThere || missing.push(place.join(' '));
  const hasExample = ({ schema = {}, example, examples }: Part): boolean =>
    example !== undefined ||
    Object.keys(examples ?? {}).length > 0 ||
    ((componentOf(schema) ?? schema).examples ?? []).length > 0;
  for (const { name, parameters = [], requestBody, responses } of operations) {
    for (const parameter of parameters) {
      check(parameter.description && hasExample(parameter), name, parameter.name);
    }
    for (const [media, content] of Object.entries<Part>(requestBody?.content ?? {})) {
      check(requestBody.description && hasExample(content), name, media);
    }
    for (const [status, { description, headers, content = {} }] of Object.entries<Part>(responses)) {
      check(description && description !== 'Default Response', name, status);
      for (const [header, part] of Object.entries<Part>(headers)) {
        check(part.description && part.example !== undefined, name, status, header);
      }
      for (const [media, part] of Object.entries<Part>(content)) {
        check(hasExample(part), name, status, media);
        const codes: string[] = part.schema.allOf?.[1]?.properties.code.enum ?? [];
        if (media === 'application/problem+json') {
          t.same(Object.keys(part.examples), codes, `${name} ${status}`);
        }
        for (const code of codes) {
          const meaning = [...errorTypes, testUserInvalid].find((type) => type.code === code)?.meaning;
          check(description.includes(`[\`${code}\`](/problems/${code}): ${meaning}`), name, status, code);
          check(part.examples[code]?.summary && part.examples[code].value.code === code, name, status, code);
        }
      }
    }
  }
  t.same(missing, []);
  const { properties } = document.components.schemas.Problem;
  for (const [member, { description }] of Object.entries<Part>({
    ...properties,
    ...properties.errors.items.properties,
  })) {
    t.ok(description, member);
  }
});

t.test('an additional property is allowed in a response, and is an error in a body', async (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document');
  const isValid = (place: unknown[], value: unknown) => {
    const pointer = place.map((part) => encodeURIComponent(String(part).replaceAll('/', '~1'))).join('/');
    return ajv.compile({ $ref: `document#/${pointer}/schema` })(value);
  };
  // The members of changes are fields by name.
  const withMore = (value: unknown) =>
    JSON.parse(JSON.stringify(value), (name, part) =>
      part !== null && typeof part === 'object' && !Array.isArray(part) && name !== 'changes'
        ? { ...part, colour: 'red' }
        : part,
    );
  const wrong: string[] = [];
  for (const { name, path, method, responses, requestBody } of operations) {
    for (const [status, { content = {} }] of Object.entries<Part>(responses)) {
      for (const [media, { example, examples }] of Object.entries<Part>(content)) {
        const values =
          example === undefined ? Object.values<Part>(examples).map(({ value }) => value) : [example];
        const at = ['paths', path, method, 'responses', status, 'content', media];
        if (!values.every((value) => isValid(at, value) && isValid(at, withMore(value)))) {
          wrong.push(`${name} ${status}`);
        }
      }
    }
    for (const [media, { schema }] of Object.entries<Part>(requestBody?.content ?? {})) {
      const example = componentOf(schema)?.examples[0] ?? {};
      const at = ['paths', path, method, 'requestBody', 'content', media];
      if (!isValid(at, example) || isValid(at, withMore(example))) {
        wrong.push(`${name} ${media}`);
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
