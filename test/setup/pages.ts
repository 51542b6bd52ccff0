import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { root } from '../../tools/root.js';

export const execute = promisify(execFile);

/** The code blocks of a page in one language, as printed. */
export async function codeBlocks(page: string, language: string): Promise<string[]> {
  const text = await readFile(join(root, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(([, , code]) => code as string);
}

/** A temporary folder, removed after the test. */
export async function emptyFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'club-page-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** An empty project with the client installed from its package. */
export async function projectWithClient(t: Test): Promise<string> {
  const project = await emptyFolder(t);
  await execute('npm', ['pack', '--silent', '--workspace', 'client', '--pack-destination', project], {
    cwd: root,
  });
  const [archive = ''] = await readdir(project);
  await execute('tar', ['-xzf', archive], { cwd: project });
  await mkdir(join(project, 'node_modules'));
  await cp(join(project, 'package'), join(project, 'node_modules/club-management-client'), {
    recursive: true,
  });
  return project;
}

/** Runs a module in a folder; returns its output lines. */
export async function runModule(
  folder: string,
  code: string,
  environment: Record<string, string>,
): Promise<string[]> {
  await writeFile(join(folder, 'script.mjs'), code);
  const { stdout } = await execute(process.execPath, ['script.mjs'], {
    cwd: folder,
    env: environment,
    timeout: 300_000,
  });
  return stdout.trimEnd().split('\n');
}

/** The options of the compiler for modules that run in Node.js. */
export const forNode = {
  module: 'NodeNext',
  lib: ['ES2022'],
  typeRoots: [join(root, 'node_modules/@types')],
  types: ['node'],
};

/** Compiles modules with the strictest options, together with the client's types. Returns the names of what it emits. */
export async function compile(folder: string, modules: string[], options: object): Promise<string[]> {
  const names = modules.map((_, index) => `module-${index}.mts`);
  await Promise.all(modules.map((code, index) => writeFile(join(folder, names[index] as string), code)));
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const compilerOptions = { ...strict, target: 'ES2022', noEmit: true, skipLibCheck: false, ...options };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: names }));
  await execute(process.execPath, [join(root, 'node_modules/.bin/tsc'), '--project', folder]);
  return names.map((name) => name.replace('.mts', '.mjs'));
}
