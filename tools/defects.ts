/**
 * `make defects`: plants defects, each in a copy of the project, and expects that the test which it names fails there. The same
 * test must pass in an unchanged copy. With --check it only tests that each defect can be planted.
 */
import { execFile } from 'node:child_process';
import { access, cp, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { environmentWith, readDevelopmentConfig } from '../src/config.js';
import { withClient } from '../src/deploy/client.js';
import { urlOf } from './database-url.js';
import { root } from './root.js';
import { openTestCluster, type TestCluster } from './test-cluster.js';

/** A diff of the source, and the test that finds it. */
interface Defect {
  file: string;
  /** The files that it changes. */
  changed: string[];
  title: string;
  /** The test file that must fail. */
  finder: string;
  /** Variables for the test. */
  settings: Record<string, string>;
  /** A text that the failed test must print. */
  reports: string;
}

const copies = join(root, '.tap/defects');
const UNCHANGED = 'unchanged';
/** What a test needs besides the packages, which are found in the project above its copy. */
const COPIED = [
  'package.json',
  'docs/api.md',
  'sql',
  ...['src', 'test', 'tools'].map((folder) => `dist/development/${folder}`),
];
/** One more than the number of cores: tests often wait for PostgreSQL or a timer. */
const PROCESSES = availableParallelism() + 1;
/** A defect can make its test hang. On a busy machine a test takes minutes. */
const TIMEOUT_S = 300;

const run = promisify(execFile);

/** Reads a diff with its header. */
async function readDefect(file: string): Promise<Defect> {
  const text = await readFile(join(root, file), 'utf8');
  const [header = ''] = text.split(/^(?=diff |--- )/m, 1);
  const valuesOf = (name: string) =>
    [...header.matchAll(new RegExp(`^${name}: (.+)$`, 'gm'))].map(([, value]) => value as string);
  return {
    file,
    changed: [...text.matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, path]) => path as string),
    title: valuesOf('Title')[0] ?? '',
    finder: valuesOf('Found by')[0] ?? '',
    settings: Object.fromEntries(valuesOf('With').map((setting) => setting.split(/=(.*)/s, 2))),
    reports: valuesOf('Reports')[0] ?? '',
  };
}

async function apply(file: string, directory: string, ...options: string[]): Promise<void> {
  // A copy is not a repository: inside the project's, the paths of a diff would be relative to its top.
  const env = environmentWith({ GIT_CEILING_DIRECTORIES: dirname(directory) });
  await run('git', ['apply', '-C1', ...options, join(root, file)], { cwd: directory, env });
}

/** Why a defect cannot be planted, and what to do; undefined when it can. */
async function problemOf({ file, changed, title, finder }: Defect): Promise<string | undefined> {
  if (title === '' || finder === '' || changed.length === 0) {
    return `${file} must begin with the lines “Title: …” and “Found by: …”, before a diff of the source.`;
  }
  try {
    await access(join(root, finder));
  } catch {
    return `${file} is found by ${finder}, which does not exist: name the test file that states the rule now.`;
  }
  return apply(file, root, '--check').then(
    () => undefined,
    ({ stderr }) =>
      `${file} does not apply any more: plant “${title}” in the source as it is now, and store the new diff.\n${stderr}`,
  );
}

/** Copies what the tests need, and plants the defect if one is given. */
async function makeCopy(name: string, defect?: Defect): Promise<string> {
  const copy = join(copies, name);
  const take = (path: string) =>
    cp(join(root, path), join(copy, path), { recursive: true, filter: (from) => !from.endsWith('.map') });
  await Promise.all(COPIED.map(take));
  if (defect !== undefined) {
    await Promise.all(defect.changed.map(take));
    await apply(defect.file, copy);
    await build({
      absWorkingDir: copy,
      entryPoints: defect.changed.filter((path) => path.endsWith('.ts')),
      outdir: 'dist/development',
      outbase: '.',
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
  }
  return copy;
}

/** Deploys the SQL of a copy to a new database, to be cloned by its test. */
async function makeTemplate(copy: string, { adminUrl, template, migrator }: TestCluster): Promise<void> {
  await withClient(adminUrl, async (client) => {
    await client.query(`create database ${client.escapeIdentifier(template)}`);
    await client.query(`grant create on database ${client.escapeIdentifier(template)} to club_owner`);
  });
  const env = environmentWith({ MIGRATION_DATABASE_URL: urlOf(adminUrl, template, migrator) });
  await run(process.execPath, [join(copy, 'dist/development/src/migrate.js')], { cwd: copy, env });
}

/** Runs the test of a defect in a copy; returns its TAP. */
async function runFinder(
  copy: string,
  { finder, settings }: Defect,
  cluster: TestCluster,
): Promise<{ tap: string; passed: boolean }> {
  const env = environmentWith({
    ...settings,
    NODE_ENV: 'test',
    TEST_CLUSTER: JSON.stringify(cluster),
    TAP_TIMEOUT: String(TIMEOUT_S),
  });
  const program = join(copy, 'dist/development/tools/test-group.js');
  const options = { cwd: copy, env, maxBuffer: 2 ** 28 };
  return run(process.execPath, [program, finder], options).then(
    ({ stdout }) => ({ tap: stdout, passed: /^ok /m.test(stdout) }),
    ({ stdout, stderr }) => ({ tap: `${stdout}${stderr}`, passed: false }),
  );
}

/** Plants a defect. @returns by which rule it was found @throws when it was not */
async function plant(defect: Defect, name: string, common: TestCluster): Promise<string> {
  const copy = await makeCopy(name, defect);
  let cluster = common;
  if (defect.changed.some((path) => path.startsWith('sql/'))) {
    cluster = { ...common, template: `${common.template}_${name}` };
    await makeTemplate(copy, cluster);
  }
  const { tap } = await runFinder(copy, defect, cluster);
  await rm(copy, { recursive: true });
  // On a busy machine a test times out without any defect: only a failure before it counts. A defect that makes its test hang
  // says so by its line “Reports”.
  const [beforeTimeout = ''] = tap.split(/\btimeout!|\bexpired: /, 1);
  const failures = defect.reports === '' ? beforeTimeout : tap;
  // An assertion outside of any test is an error while the file was loaded.
  const rule = /^ +not ok /m.test(failures)
    ? /^not ok \d+ - (.*?)( # time=.*)?$/m.exec(failures)?.[1]
    : undefined;
  // The reporter breaks long lines.
  if (rule === undefined || !tap.replaceAll(/\s+/g, ' ').includes(defect.reports)) {
    const reason = beforeTimeout === tap ? 'no test fails as expected' : 'the test timed out';
    throw new Error(`“${defect.title}” is not reported by ${defect.finder}: ${reason}\n${failuresOf(tap)}`);
  }
  return `by “${rule}”`;
}

/** The end of a TAP: from its first failure on, if there is one. */
function failuresOf(tap: string): string {
  const lines = tap.trimEnd().split('\n');
  const first = lines.findIndex((line) => /^ *not ok /.test(line));
  return (first === -1 ? lines.slice(-20) : lines.slice(first, first + 60)).join('\n');
}

/** Runs the test of a defect without it. @throws when it fails */
async function runWithout(defect: Defect, cluster: TestCluster): Promise<string> {
  const { tap, passed } = await runFinder(join(copies, UNCHANGED), defect, cluster);
  if (!passed) {
    throw new Error(`the test fails\n${failuresOf(tap)}`);
  }
  return 'passes';
}

/** Runs all tests without a defect, and then each with its defect, several at once. */
async function plantAll(defects: Defect[], cluster: TestCluster): Promise<void> {
  await makeCopy(UNCHANGED);
  const counts = { passed: 0, failed: 0 };
  const finders = new Map(
    defects.map((defect) => [JSON.stringify([defect.finder, defect.settings]), defect]),
  );
  const tasks = [
    ...[...finders.values()].map((defect) => ({
      name: `without a defect ${defect.finder}`,
      work: () => runWithout(defect, cluster),
    })),
    ...defects.map((defect, number) => ({
      name: `found ${defect.file}`,
      work: () => plant(defect, `d${number}`, cluster),
    })),
  ].values();
  const takeTasks = async () => {
    for (const { name, work } of tasks) {
      const began = performance.now();
      const [count, result] = await work().then(
        (result) => ['passed', `${name} ${result}`] as const,
        (error: Error) => ['failed', `not ok: ${name}: ${error.message}`] as const,
      );
      counts[count] += 1;
      console.log(`${result} (${((performance.now() - began) / 1_000).toFixed(1)} s)`);
    }
  };
  await Promise.all(Array.from({ length: PROCESSES }, takeTasks));
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed > 0 ? 1 : 0;
}

const isCheck = process.argv[2] === '--check';
const defects = await Promise.all(process.argv.slice(isCheck ? 3 : 2).map(readDefect));
const problems = (await Promise.all(defects.map(problemOf))).filter((problem) => problem !== undefined);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else if (!isCheck) {
  await rm(copies, { recursive: true, force: true });
  const { cluster, close } = await openTestCluster(readDevelopmentConfig());
  await plantAll(defects, cluster).finally(close);
  await rm(copies, { recursive: true });
}
