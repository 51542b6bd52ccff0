import { readFile } from 'node:fs/promises';
import t from 'tap';
import { root } from '../setup/source.js';

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}
interface Package {
  link?: boolean;
  integrity?: string;
  hasInstallScript?: boolean;
  dev?: boolean;
}

const read = async (file: string) => JSON.parse(await readFile(`${root}${file}`, 'utf8'));
const { dependencies }: Manifest = await read('package.json');
const { packages } = (await read('package-lock.json')) as { packages: Record<string, Package> };
/** The packages of others, by where they are installed. */
const foreign = Object.entries(packages).filter(
  ([path, { link }]) => path.startsWith('node_modules/') && !link,
);

t.test('production installs exact versions, each held to the hash in the lock file', async (t) => {
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

t.test('no package runs a script when it is installed', async (t) => {
  t.match(await readFile(`${root}.npmrc`, 'utf8'), /^ignore-scripts=true$/m);
  t.same(
    foreign.filter(([, { hasInstallScript, dev }]) => hasInstallScript && !dev).map(([path]) => path),
    ['node_modules/@scarf/scarf'],
    'of what production installs one has a script: it would report that swagger-ui-dist was installed',
  );
});
