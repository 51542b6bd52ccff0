import { readFile } from 'node:fs/promises';
import t from 'tap';
import { root } from '../../tools/root.js';

interface Manifest {
  version: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}
interface Package {
  version: string;
  link?: boolean;
  integrity?: string;
  hasInstallScript?: boolean;
  dev?: boolean;
}

const read = async (file: string) => JSON.parse(await readFile(`${root}${file}`, 'utf8'));
const { dependencies, version }: Manifest = await read('package.json');
const { packages } = (await read('package-lock.json')) as { packages: Record<string, Package> };
/** Third-party packages, by their install path. */
const foreign = Object.entries(packages).filter(
  ([path, { link }]) => path.startsWith('node_modules/') && !link,
);

t.test('the service, its client, the lock file and the pages have one version', async (t) => {
  const client: Manifest = await read('client/package.json');
  const find = async (page: string, pattern: RegExp) =>
    pattern.exec(await readFile(`${root}${page}`, 'utf8'))?.[1];
  t.same(
    {
      client: client.version,
      lock: [packages['']?.version, packages.client?.version],
      changelog: await find('CHANGELOG.md', /^## (\S+)/m),
      install: await find('client/README.md', /club-management-client-(\S+)\.tgz/),
    },
    {
      client: version,
      lock: [version, version],
      changelog: version.endsWith('-dev') ? 'Unreleased' : version,
      install: version,
    },
  );
});

t.test('production installs exact versions, each verified by the hash in the lock file', async (t) => {
  t.same(
    Object.entries(dependencies).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version)),
    [],
  );
  t.ok(foreign.length > 200);
  t.same(
    foreign.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([path]) => path),
    [],
  );
});

t.test('no package runs a script during installation', async (t) => {
  t.match(await readFile(`${root}.npmrc`, 'utf8'), /^ignore-scripts=true$/m);
  t.same(
    foreign.filter(([, { hasInstallScript, dev }]) => hasInstallScript && !dev).map(([path]) => path),
    ['node_modules/@scarf/scarf'],
    'one production package has a script, which reports the installation of swagger-ui-dist',
  );
});
