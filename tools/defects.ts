/**
 * `make defects`: plants defects, each in a copy of the project, and expects that its test fails there. Beside them it runs the
 * test of the first one with a change that is no defect: it must pass. The arguments are files of defects and titles.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { environmentWith, readDevelopmentConfig } from '../src/config.js';
import { withClient } from '../src/deploy/client.js';
import { deploy } from '../src/deploy/deploy.js';
import { readRelease } from '../src/deploy/release.js';
import { urlOf } from './database-url.js';
import { type Defect, plantedFiles, readDefects } from './defect-files.js';
import { root } from './root.js';
import { openTestCluster, type TestCluster } from './test-cluster.js';

/** Where a defect is planted. */
interface Place {
  copy: string;
  /** The name of the database to which its SQL is deployed. */
  template: string;
  cluster: TestCluster;
}

const copies = join(root, '.tap/defects');
/** What a test needs besides the packages, which are found in the project above its copy. */
const COPIED = [
  'package.json',
  'docs/api.md',
  'sql',
  ...['src', 'test', 'tools'].map((folder) => `dist/development/${folder}`),
];
/** A chapter that the control changes, so that its SQL is deployed as that of a defect is. */
const ANY_CHAPTER = 'sql/policies/99_prune.sql';
/** One more than the number of cores: tests often wait for PostgreSQL or a timer. */
const PROCESSES = availableParallelism() + 1;
/** For a test that hangs: no test takes this long, even on a slow machine. */
const TIMEOUT_S = 900;

const run = promisify(execFile);

const take = (copy: string, path: string) =>
  cp(join(root, path), join(copy, path), { recursive: true, filter: (from) => !from.endsWith('.map') });

const compiledOf = (path: string) => join('dist/development', path.replace(/\.ts$/, '.js'));

/** Writes files to a copy and compiles them. */
async function change(copy: string, files: Map<string, string>): Promise<void> {
  for (const [path, text] of files) {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await writeFile(join(copy, path), text);
  }
  await build({
    absWorkingDir: copy,
    entryPoints: [...files.keys()].filter((path) => path.endsWith('.ts')),
    outdir: 'dist/development',
    outbase: '.',
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
}

/**
 * Deploys the SQL of a copy to a new database, to be cloned by its test. It is not a clone of the deployed one, where a table
 * would keep what a changed chapter no longer says, such as its row-level security.
 */
async function makeTemplate({ copy, template, cluster: { adminUrl, migrator } }: Place): Promise<void> {
  await withClient(adminUrl, async (client) => {
    await client.query(
      `create database ${client.escapeIdentifier(template)} template template0 strategy file_copy`,
    );
    await client.query(`grant create on database ${client.escapeIdentifier(template)} to club_owner`);
  });
  await deploy(urlOf(adminUrl, template, migrator), readRelease(pathToFileURL(join(copy, 'sql/'))));
}

/** Drops the database and its clones: a test that ends at its first failure leaves its own. */
async function dropTemplate({ template, cluster }: Place): Promise<void> {
  await withClient(cluster.adminUrl, async (client) => {
    const { rows } = await client.query(
      "select datname from pg_database where datname = $1 or starts_with(datname, $1 || '_')",
      [template],
    );
    for (const { datname } of rows) {
      await client.query(`drop database ${client.escapeIdentifier(datname)} with (force)`);
    }
  });
}

/** Runs the test of a defect in a copy; returns its TAP. */
async function runFinder(
  copy: string,
  { finder, settings, reports }: Defect,
  cluster: TestCluster,
): Promise<{ tap: string; passed: boolean }> {
  const env = environmentWith({
    ...settings,
    NODE_ENV: 'test',
    TEST_CLUSTER: JSON.stringify(cluster),
    TAP_TIMEOUT: String(TIMEOUT_S),
    // The first failure is enough, unless another one has the text.
    TAP_BAIL: reports === '' ? '1' : '0',
  });
  const program = join(copy, 'dist/development/tools/test-group.js');
  const options = { cwd: copy, env, maxBuffer: 2 ** 28 };
  return run(process.execPath, [program, finder], options).then(
    ({ stdout }) => ({ tap: stdout, passed: /^ok /m.test(stdout) }),
    ({ stdout, stderr }) => ({ tap: `${stdout}${stderr}`, passed: false }),
  );
}

/** Runs the test of a defect with changed files, and takes the change back. */
async function runWith(
  files: Map<string, string>,
  defect: Defect,
  place: Place,
): Promise<{ tap: string; passed: boolean }> {
  const { copy, template, cluster } = place;
  const paths = [...files.keys()];
  const isDeployed = paths.some((path) => path.startsWith('sql/'));
  try {
    await change(copy, files);
    if (isDeployed) {
      await makeTemplate(place);
    }
    return await runFinder(copy, defect, isDeployed ? { ...cluster, template } : cluster);
  } finally {
    await Promise.all(paths.map((path) => take(copy, path.endsWith('.ts') ? compiledOf(path) : path)));
    await dropTemplate(place);
  }
}

/** Plants a defect. @returns by which rule it was found @throws Error when it was not */
async function plant(defect: Defect, place: Place): Promise<string> {
  const { tap } = await runWith(await plantedFiles(defect), defect, place);
  // Without any defect a test times out on a machine that is busy enough: only a failure before it counts.
  const [beforeTimeout = ''] = tap.split(/^.*(?:\btimeout!|\bexpired: )/m, 1);
  const rule = ruleOf(beforeTimeout);
  // The reporter breaks long lines.
  if (rule === undefined || !tap.replaceAll(/\s+/g, ' ').includes(defect.reports)) {
    const reason = beforeTimeout === tap ? 'no test fails as expected' : 'the test timed out';
    throw new Error(`it is not reported: ${reason}\n${failuresOf(tap)}`);
  }
  return `found by “${rule}”`;
}

/** Runs the test of a defect with a change that is none. @throws Error when it fails */
async function runWithout(defect: Defect, place: Place): Promise<string> {
  const chapter = await readFile(join(root, ANY_CHAPTER), 'utf8');
  const { tap, passed } = await runWith(new Map([[ANY_CHAPTER, `${chapter}-- No defect.\n`]]), defect, place);
  if (!passed) {
    throw new Error(`the test fails without a defect\n${failuresOf(tap)}`);
  }
  return 'passes without a defect';
}

/** The title of the test in which the first assertion failed; the assertion if several tests ran at once; undefined if none failed. */
function ruleOf(tap: string): string | undefined {
  const failure = /^( *)not ok |^Bail out! (.+)/m.exec(tap);
  const [, indentation, assertion] = failure ?? [];
  // An assertion outside of any test, which is not indented, is an error while the file was loaded.
  return failure === null || indentation === ''
    ? undefined
    : (assertion ?? [...tap.slice(0, failure.index).matchAll(/^# Subtest: (.+)$/gm)].at(-1)?.[1]);
}

/** The end of a TAP: from its first failure on, if there is one. */
function failuresOf(tap: string): string {
  const lines = tap.trimEnd().split('\n');
  const first = lines.findIndex((line) => /^ *not ok /.test(line));
  return (first === -1 ? lines.slice(-20) : lines.slice(first, first + 60)).join('\n');
}

/** Runs the control and plants the defects, several at once, each time in the copy that is free. */
async function plantAll(defects: Defect[], cluster: TestCluster): Promise<void> {
  const counts = { passed: 0, failed: 0 };
  const tasks = [
    ...defects.slice(0, 1).map((defect) => ({ name: defect.finder, work: runWithout, defect })),
    ...defects.map((defect) => ({ name: `${defect.file}: “${defect.title}”`, work: plant, defect })),
  ].values();
  const takeTasks = async (_: unknown, number: number) => {
    const place = { copy: join(copies, String(number)), template: `${cluster.template}_${number}`, cluster };
    await Promise.all(COPIED.map((path) => take(place.copy, path)));
    for (const { name, work, defect } of tasks) {
      const began = performance.now();
      const [count, result] = await work(defect, place).then(
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

/** The defects with these titles or in these files, in their order. */
function selected(all: Defect[], given: string[]): Defect[] {
  return given.flatMap((name) => {
    const found = all.filter(({ file, title }) => [file, title].includes(name));
    if (found.length === 0) {
      throw new Error(`There is neither a file nor a planted defect “${name}”.`);
    }
    return found;
  });
}

const defects = selected(await readDefects(), process.argv.slice(2));
await rm(copies, { recursive: true, force: true });
const { cluster, close } = await openTestCluster(readDevelopmentConfig());
await plantAll(defects, cluster).finally(close);
await rm(copies, { recursive: true });
