import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import t from 'tap';
import { errorTypes } from '../setup/errors.js';
import { startService } from '../setup/service.js';

// biome-ignore lint/suspicious/noExplicitAny: the document has every shape
type Part = any;

const service = await startService(t, { testUserHeader: true });
const { body: document } = await service.send('GET', '/openapi.json');
const operations = Object.entries<Part>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Part>(methods).map(([method, operation]) => ({ name: `${method} ${path}`, ...operation })),
);

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

t.test('the rules find planted faults', async (t) => {
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

t.test(
  'every operation has one described group, a summary, a description and the role that it needs',
  async (t) => {
    const groups = document.tags.filter(({ description }: Part) => description).map(({ name }: Part) => name);
    const bare = operations.filter(
      ({ summary, description, tags }) =>
        !summary ||
        !/^.{20,}Needs (no token|a token and no role|the role (Viewer|Member|Manager|Admin)( or a higher one)?)\.$/s.test(
          description,
        ) ||
        tags.length !== 1 ||
        !groups.includes(tags[0]),
    );
    t.same(
      bare.map(({ name }) => name),
      [],
    );
    t.same([...new Set(operations.flatMap(({ tags }) => tags))].sort(), groups.sort(), 'no group is empty');
  },
);

t.test('every parameter, body, status, header and code has a description and an example', async (t) => {
  const bare: string[] = [];
  const want = (there: unknown, ...place: unknown[]) => there || bare.push(place.join(' '));
  const examplesOf = ({ schema = {}, ...part }: Part): unknown[] => {
    const target =
      document.components.schemas[String(schema.$ref).replace('#/components/schemas/', '')] ?? schema;
    return [part.example, ...Object.values(part.examples ?? {}), ...(target.examples ?? [])].filter(
      (example) => example !== undefined,
    );
  };
  for (const { name, parameters = [], requestBody, responses } of operations) {
    for (const parameter of parameters) {
      want(parameter.description && examplesOf(parameter).length > 0, name, parameter.name);
    }
    for (const [media, content] of Object.entries<Part>(requestBody?.content ?? {})) {
      want(requestBody.description && examplesOf(content).length > 0, name, media);
    }
    for (const [status, { description, headers, content = {} }] of Object.entries<Part>(responses)) {
      want(description && description !== 'Default Response', name, status);
      for (const [header, part] of Object.entries<Part>(headers)) {
        want(part.description && examplesOf(part).length > 0, name, status, header);
      }
      for (const [media, part] of Object.entries<Part>(content)) {
        want(examplesOf(part).length > 0, name, status, media);
        for (const code of part.schema.allOf?.[1]?.properties.code.enum ?? []) {
          const meaning = errorTypes.find((type) => type.code === code)?.meaning;
          want(description.includes(`[\`${code}\`](/problems/${code}): ${meaning}`), name, status, code);
          want(part.examples[code]?.summary && part.examples[code].value.code === code, name, status, code);
        }
      }
    }
  }
  t.same(bare, []);
  const { properties } = document.components.schemas.Problem;
  const members = { ...properties, ...properties.errors.items.properties };
  t.same(
    Object.entries<Part>(members).flatMap(([member, { description }]) => (description ? [] : [member])),
    [],
  );
});
