import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import t from 'tap';
import { list, listAugmentationUses, readModule } from '../setup/source.js';

const { basename, dirname } = posix;

const src = await list('src');
const test = await list('test');
const sql = await list('sql');
const isInstalled = (path: string) => /\/(node_modules|dist)(\/|$)/.test(path);
const { files: benchFiles, folders: benchFolders } = await list('bench');
const bench = {
  files: benchFiles.filter((path) => !isInstalled(path)),
  folders: benchFolders.filter((path) => !isInstalled(path)),
};
const benchModules = await Promise.all(bench.files.filter((path) => path.endsWith('.ts')).map(readModule));
const client = (await list('client/src')).files.filter((path) => !path.includes('/generated/'));
const tools = (await list('tools')).files.filter((path) => path.endsWith('.ts'));
const toolModules = await Promise.all(tools.map(readModule));
const modules = await Promise.all(src.files.filter((path) => path.endsWith('.ts')).map(readModule));
const clientModules = await Promise.all(client.map(readModule));
/** A resource is a folder with its own queries. */
const resources = src.files
  .filter((path) => basename(path) === 'queries.ts')
  .map((path) => basename(dirname(path)));

/** The modules with a forbidden import that matches. */
function importersOf(
  isTarget: (imported: string) => boolean,
  isAllowed: (path: string) => boolean,
): string[] {
  return modules
    .filter(({ path, imports }) => !isAllowed(path) && imports.some(isTarget))
    .map(({ path }) => path);
}

t.test('this test finds the source', async (t) => {
  t.ok(modules.length > 40 && modules.every(({ path }) => path.startsWith('src/')));
  t.ok(['clubs', 'members', 'shifts', 'tasks'].every((resource) => resources.includes(resource)));
  const known = new Set(src.files);
  const broken = modules.flatMap(({ imports }) =>
    imports.filter((path) => /^(src|\.)/.test(path) && !known.has(path)),
  );
  t.same(broken, [], 'every import resolves to a file');
});

/** A resource of this list may import those before it; the others import none. */
const ORDER = [
  'members',
  'tasks',
  'events',
  'shifts',
  'signups',
  'waits',
  'attendance',
  'calendar',
  'copies',
];

t.test('resources import downwards, in one order', async (t) => {
  t.same(
    ORDER.filter((resource) => !resources.includes(resource)),
    [],
  );
  for (const resource of resources) {
    const lower = ORDER.slice(0, Math.max(ORDER.indexOf(resource), 0));
    const others = resources.filter((other) => other !== resource && !lower.includes(other));
    const isOther = (path: string) => others.some((other) => path.startsWith(`src/${other}/`));
    t.same(
      importersOf(isOther, (path) => !path.startsWith(`src/${resource}/`)),
      [],
      resource,
    );
  }
});

t.test('a query runs in the given transaction: resources do not use connections', async (t) => {
  const isConnection = (path: string) => path.startsWith('src/database/') && path !== 'src/database/sql.ts';
  const reaching = modules.filter(
    ({ path, imports, typeImports }) =>
      resources.includes(path.split('/')[1] ?? '') &&
      imports.some((imported) => isConnection(imported) && !typeImports.includes(imported)),
  );
  t.same(
    reaching.map(({ path }) => path),
    [],
  );
});

t.test('only src/config.ts reads the environment', async (t) => {
  t.same(
    [...modules, ...toolModules].filter(({ readsEnvironment }) => readsEnvironment).map(({ path }) => path),
    ['src/config.ts'],
  );
});

t.test(
  'only src/database connects to PostgreSQL as the service, and only src/deploy as deploys and operators’ commands do',
  async (t) => {
    const isService = (path: string) => path.startsWith('src/database/');
    const isOperator = (path: string) => path.startsWith('src/deploy/');
    t.same(
      importersOf((name) => name === 'postgres', isService),
      [],
    );
    t.same(
      importersOf((name) => name === 'pg' || name === 'node-pg-migrate', isOperator),
      [],
    );
    const isPart = (name: string) => /^pg[-/]|^postgres\//.test(name);
    t.same(
      importersOf(isPart, () => false),
      [],
      'no module uses private parts of a driver',
    );
  },
);

t.test('src/database imports nothing of src outside itself', async (t) => {
  const isOutside = (imported: string) =>
    imported.startsWith('src/') && !imported.startsWith('src/database/');
  t.same(
    importersOf(isOutside, (path) => !path.startsWith('src/database/')),
    [],
  );
});

t.test('the service imports neither development tools nor the benchmark', async (t) => {
  const isDevelopment = (path: string) => /^(tools|bench)\//.test(path);
  t.same(importersOf(isDevelopment, isDevelopment), []);
});

/** The cycles of a graph, each as a path. */
function cyclesOf(graph: Map<string, Set<string>>): string[] {
  const cycles = new Set<string>();
  const finished = new Set<string>();
  const follow = (node: string, way: string[]): void => {
    if (way.includes(node)) {
      cycles.add([...way.slice(way.indexOf(node)), node].join(' → '));
    } else if (!finished.has(node)) {
      for (const next of graph.get(node) ?? []) {
        follow(next, [...way, node]);
      }
      finished.add(node);
    }
  };
  for (const node of graph.keys()) {
    follow(node, []);
  }
  return [...cycles];
}

t.test('no module or folder imports itself, directly or indirectly; types count', async (t) => {
  const uses = listAugmentationUses();
  t.ok(
    uses.some((use) => use.join() === 'src/clubs/routes.ts,src/auth/tenant.ts'),
    'what `declare module` adds to a type of a package counts as an import',
  );
  const edges = modules.map(({ path, imports }) => ({
    path,
    imports: [...imports, ...uses.filter(([user]) => user === path).map(([, declarer]) => declarer)],
  }));
  const others = [...toolModules, ...benchModules, ...clientModules];
  t.same(cyclesOf(new Map([...edges, ...others].map(({ path, imports }) => [path, new Set(imports)]))), []);
  // A file at the top, such as app.ts or roles.ts, counts as a folder.
  const placeOf = (path: string) => (dirname(path) === 'src' ? path : dirname(path));
  const folders = new Map<string, Set<string>>();
  for (const { path, imports } of edges) {
    const place = placeOf(path);
    const used = imports.filter((imported) => imported.startsWith('src/')).map(placeOf);
    folders.set(place, new Set([...(folders.get(place) ?? []), ...used.filter((other) => other !== place)]));
  }
  t.ok(folders.size > 10);
  t.same(cyclesOf(folders), []);
  t.same(
    cyclesOf(
      new Map([
        ['a', new Set(['b'])],
        ['b', new Set(['a'])],
      ]),
    ),
    ['a → b → a'],
    'a cycle is found',
  );
});

t.test('what resources stand on imports none of them', async (t) => {
  const lower = ['errors', 'validation', 'http', 'auth', 'resource', 'openapi', 'ops'];
  const folderOf = (path: string) => path.split('/')[1] ?? '';
  t.same(
    modules
      .filter(({ path }) => lower.includes(folderOf(path)))
      .flatMap(({ imports }) => imports.filter((path) => resources.includes(folderOf(path)))),
    [],
  );
});

t.test('file names are nouns of the domain, not generic words', async (t) => {
  const empty = /^(utils?|helpers?|common|services?|managers?)$/i;
  const paths = [src, test, sql, bench].flatMap(({ files, folders }) => [...files, ...folders]);
  const vague = paths.filter((path) =>
    basename(path)
      .split(/[-_.]/)
      .some((word) => empty.test(word)),
  );
  // This one is about the service itself.
  t.same(
    vague.filter((path) => path !== 'test/setup/service.ts'),
    [],
  );
});

t.test('a resource has one name for its folder, its chapter and its test', async (t) => {
  for (const resource of resources) {
    t.ok(src.files.includes(`src/${resource}/routes.ts`), `src/${resource}/routes.ts`);
    const isChapter = (path: string) => new RegExp(`^sql/policies/\\d\\d_${resource}\\.sql$`).test(path);
    t.equal(sql.files.filter(isChapter).length, 1, `a chapter of ${resource}`);
    const isTest = (path: string) => new RegExp(`^test/api/${resource}([/-].*)?\\.test\\.ts$`).test(path);
    t.ok(test.files.some(isTest), `a test of ${resource}`);
  }
});

t.test('CONTRIBUTING.md lists every building block, and src or the example there uses it', async (t) => {
  const page = await readFile('CONTRIBUTING.md', 'utf8');
  const [, chapter = ''] = /^### Building blocks$(.*?)^## /ms.exec(page) ?? [];
  const path = 'src/validation/schemas.ts';
  const sources = await Promise.all(
    src.files.filter((file) => file !== path).map((file) => readFile(file, 'utf8')),
  );
  const code = [...sources, ...[...page.matchAll(/^```ts$(.*?)^```$/gms)].map(([block]) => block)].join();
  const blocks = [...(await readFile(path, 'utf8')).matchAll(/^export const (\w+)/gm)].map(
    ([, name]) => name,
  );
  t.ok(blocks.length > 10);
  t.same(
    blocks.filter(
      (name) => !new RegExp(`\`${name}\\b`).test(chapter) || !new RegExp(`\\b${name}\\b`).test(code),
    ),
    [],
  );
});

t.test('every exported function has a comment', async (t) => {
  t.same(
    [...modules, ...toolModules, ...benchModules, ...clientModules].flatMap(
      ({ undocumented }) => undocumented,
    ),
    [],
  );
});

t.test('the client imports nothing from the service or a package', async (t) => {
  const foreign = clientModules.flatMap(({ path, imports, readsEnvironment }) => [
    ...imports.filter((imported) => !imported.startsWith('client/src/')),
    ...(readsEnvironment ? [`${path} reads the environment`] : []),
  ]);
  t.same(foreign, []);
  t.ok(clientModules.length > 10);
});
