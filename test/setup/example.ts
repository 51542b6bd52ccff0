/** The example of a new resource in CONTRIBUTING.md, in a copy of the project. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { root } from '../../tools/root.js';

/** The place of an added line: before the first line with this start. */
const places: Record<string, string> = {
  'src/resources.ts': 'export { calendar }',
  'docs/api.md': '| `/api/events`',
  'sql/audit/10_intent.sql': "  ('app.shifts.shifts_stamp'",
  'test/setup/endpoints.ts': "  { method: 'GET', path: '/api/tasks', ",
};

export interface Example {
  /** The files that the page shows, whole or in part. */
  files: string[];
  /** Runs a program in the copy; returns what it prints. */
  run(program: string, ...args: string[]): Promise<string>;
  /** Runs a target of the Makefile in the copy; returns what it prints. */
  make(target: string): Promise<string>;
  /** Changes a file of the copy. */
  edit(path: string, change: (text: string) => string): Promise<void>;
  /** Runs test files of the copy, without the folder `test` and the ending; returns the output. */
  test(...names: string[]): Promise<string>;
}

/** Copies the project, writes the example into the copy and generates what is generated; removed with the test. */
export async function makeExample(t: Test): Promise<Example> {
  const page = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');
  /** The blocks of the page by file: a whole file, or lines to add. */
  const files = [...page.matchAll(/^`([\w./-]+)`[^\n]*\n\n```(\w+)\n(.*?)^```$/gms)].map(
    ([, path, kind, text]) => ({ path: path as string, isWhole: kind !== 'diff', text: text as string }),
  );
  const copy = await mkdtemp(join(tmpdir(), 'club-example-'));
  t.teardown(() => rm(copy, { recursive: true, force: true }));
  const run: Example['run'] = async (program, ...args) => {
    const { stdout, stderr } = await promisify(execFile)(program, args, {
      cwd: copy,
      maxBuffer: 2 ** 26,
    }).catch((failure) => failure);
    return `${stdout}${stderr}`;
  };

  const tracked = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await promisify(execFile)('git', tracked, { cwd: root });
  for (const path of new Set(stdout.trim().split('\n'))) {
    await cp(join(root, path), join(copy, path), { recursive: true }).catch(() => {});
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  const edit: Example['edit'] = async (path, change) => {
    const file = join(copy, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, change(await readFile(file, 'utf8').catch(() => '')));
  };
  for (const { path, isWhole, text } of files) {
    const added = text.replaceAll(/^\+/gm, '');
    await edit(path, (old) => (isWhole ? text : old.replace(places[path] as string, (line) => added + line)));
  }
  const make: Example['make'] = (target) =>
    run('make', '--no-print-directory', '--old-file=package-lock.json', '--old-file=node_modules', target);
  t.equal(await make('snapshot'), '', 'make snapshot');
  t.equal(await make('development'), '', 'the compilation of the tests');

  const test = (...names: string[]) =>
    run(process.execPath, 'dist/development/tools/test.js', ...names.map((name) => `test/${name}.test.ts`));
  return { files: files.map(({ path }) => path), run, make, edit, test };
}
