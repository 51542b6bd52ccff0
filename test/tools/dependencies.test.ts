import { readFile } from 'node:fs/promises';
import t from 'tap';
import { advisories } from '../../tools/advisories.js';
import { vulnerable } from '../../tools/dependencies.js';
import { root } from '../setup/source.js';

const lock = JSON.parse(await readFile(`${root}package-lock.json`, 'utf8')) as Parameters<
  typeof vulnerable
>[0];
const production = Object.entries(lock.packages)
  .filter(([path, { dev }]) => path !== '' && dev !== true)
  .map(([path, { version }]) => ({ name: path.slice(path.lastIndexOf('node_modules/') + 13), version }));

/** What is said of one package in one version, wherever it is installed. */
const saidOf = (name: string, version: string, more: { dev?: boolean } = {}, path = `node_modules/${name}`) =>
  vulnerable({ packages: { '': { version: '0.0.1' }, [path]: { version, ...more } } });

t.test('nothing that production installs has a version of which something bad is known', async (t) => {
  t.same(vulnerable(lock), []);
});

t.test('a lower version of any of them is refused, by name', async (t) => {
  const missed = advisories.filter(
    ({ package: name, ids }) =>
      !saidOf(name, '0.0.1').some((line) => line.startsWith(`${name} 0.0.1`) && line.includes(ids[0] ?? '')),
  );
  t.same(missed, []);
  for (const [name, version, id] of [
    ['fast-jwt', '6.2.3', 'CVE-2026-44351'],
    ['fast-jwt', '5.0.6', 'CVE-2026-34950'],
    ['fastify', '5.12.1', 'GHSA-3m5p-2c4r-xxw2'],
    ['fastify', '5.12.2-rc.1', 'GHSA-3m5p-2c4r-xxw2'],
    ['fast-uri', '3.1.6', 'CVE-2026-84292'],
    ['fast-uri', '4.1.3', 'CVE-2026-84292'],
    ['minimatch', '8.0.0', 'CVE-2026-26996'],
  ] as const) {
    t.match(saidOf(name, version).join(), id, `${name} ${version}`);
    t.match(
      saidOf(name, version, {}, `node_modules/a/node_modules/${name}`).join(),
      id,
      'within another package',
    );
  }
});

t.test('the version that mends it is accepted, and later ones', async (t) => {
  for (const [name, version] of [
    ['fast-jwt', '6.2.4'],
    ['fast-jwt', '10.0.0'],
    ['fast-uri', '3.1.7'],
    ['fast-uri', '3.2.0'],
    ['fast-uri', '4.1.4'],
    ['cookie', '1.0.0'],
    ['@fastify/static', '10.1.3'],
    ['not-listed', '0.0.1'],
  ] as const) {
    t.same(saidOf(name, version), [], `${name} ${version}`);
  }
  t.same(saidOf('fast-jwt', '1.0.0', { dev: true }), [], 'what only the tests use');
});

t.test('the list speaks of what is installed', async (t) => {
  const installed = new Set(production.map(({ name }) => name));
  t.same(
    advisories.filter(({ package: name }) => !installed.has(name)),
    [],
  );
});
