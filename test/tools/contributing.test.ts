import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { root } from '../../tools/root.js';

// The test compiles the project, deploys it and runs some of its tests.
t.setTimeout(240_000);

const page = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');
/** The blocks of the page by file: a whole file, or lines to add. */
const files = [...page.matchAll(/^`([\w./-]+)`[^\n]*\n\n```(\w+)\n(.*?)^```$/gms)].map(
  ([, path, kind, text]) => ({
    path: path as string,
    isWhole: kind !== 'diff',
    text: text as string,
  }),
);
/** The place of an added line: before the first line with this start. */
const places: Record<string, string> = {
  'src/resources.ts': 'export { clubs }',
  'sql/policies/30_clubs.sql': '  delete from app.members;',
  'sql/audit/10_intent.sql': "  ('app.shifts.shifts_stamp'",
};

/** A copy of the project with the example in it. */
async function makeCopy(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'club-contributing-'));
  t.teardown(() => rm(copy, { recursive: true, force: true }));
  const { stdout } = await promisify(execFile)(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard'],
    {
      cwd: root,
    },
  );
  for (const path of new Set(stdout.trim().split('\n'))) {
    await cp(join(root, path), join(copy, path), { recursive: true }).catch(() => {});
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const { path, isWhole, text } of files) {
    const file = join(copy, path);
    await mkdir(dirname(file), { recursive: true });
    const added = text.replaceAll(/^\+/gm, '');
    await writeFile(
      file,
      isWhole ? text : (await readFile(file, 'utf8')).replace(places[path] as string, (line) => added + line),
    );
  }
  return copy;
}

t.test(
  'the example of a resource passes the checks and the tests, with ten files written by hand',
  async (t) => {
    t.equal(files.length, 10);
    const cwd = await makeCopy();
    const run = async (command: string, ...args: string[]) => {
      const { stdout, stderr } = await promisify(execFile)(command, args, { cwd, maxBuffer: 2 ** 26 }).catch(
        (failure) => failure,
      );
      return `${stdout}${stderr}`;
    };
    const node = process.execPath;
    // The packages are those of this checkout.
    const installed = ['--old-file=package-lock.json', '--old-file=node_modules'];
    const bin = join(cwd, 'node_modules/.bin');
    const sources = files.map(({ path }) => path).filter((path) => path.endsWith('.ts'));
    t.notMatch(await run(join(bin, 'biome'), 'check', '--error-on-warnings', ...sources), /Found \d+ error/);
    t.equal(await run(node, '--import=tsx', 'tools/snapshot.ts'), '', 'make snapshot');
    t.equal(await run(node, '--import=tsx', 'tools/snapshot.ts', '--verify'), '', 'make verify');
    t.equal(await run(join(bin, 'tsc'), '--noEmit', '--project', 'tsconfig.json'), '', 'the types');
    const tests = [
      'boats',
      'idempotency-keys',
      'openapi',
      'openapi-refusals',
      'openapi-examples',
      'authorization',
      'refusals',
      'routes',
    ];
    t.equal(await run('make', ...installed, 'development'), '', 'the build');
    const output = await run(
      node,
      'dist/development/tools/test.js',
      ...tests.map((name) => `test/api/${name}.test.ts`),
      ...['isolation', 'references', 'audit-answers', 'operate'].map((name) => `test/sql/${name}.test.ts`),
      'test/database/read-plans.test.ts',
      'test/tools/structure.test.ts',
      'test/tools/requests.test.ts',
    );
    t.match(output, /^\d+ passed, 0 failed$/m, output);
  },
);
