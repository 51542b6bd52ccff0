/**
 * Runs tests against a real PostgreSQL: the given files, or those that prove the rules of the service. It prints each failure at
 * once, a line for each finished file, and the totals at the end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { Parser, type Result } from 'tap-parser';
import { environmentWith, readDevelopmentConfig } from '../src/config.js';
import { explain } from '../src/database/errors.js';
import { root } from './root.js';
import { openTestCluster } from './test-cluster.js';

const responses = join(root, '.tap/answers.txt');
/** A TAP comment that is printed: a total, such as `matrix: 4925 cells`. */
const SUM = /^# (\w[\w ]*: (?:faults )?\d.*)/;

/** The comment that test-group.ts prints before a file. */
const FILE = /^# file (.*)/;
/** The folders of `make test`. Their files run in the process of other files. */
const SHARING = /^test\/(api|client|database|sql)\//;
/** The folder of tests that read only the source, and need no server. */
const SOURCE = /^test\/source\//;
/** The most files of a process; each keeps its services open until the process ends. */
const GROUP_SIZE = 12;
/** One more than the number of cores: tests often wait for PostgreSQL, a timer or a process. */
const PROCESSES = availableParallelism() + 1;
/** The time-out of a file in seconds: for a hang, on a slow machine too. Long campaigns set another value. */
const FILE_TIMEOUT_S = 900;

/** The totals of the top-level tests of all files. */
const counts = { passed: 0, failed: 0, skipped: [] as string[] };

/** Runs the files in parallel, in groups. */
async function runFiles(files: string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const waiting = groupsOf(files).values();
  const work = async () => {
    for (const group of waiting) {
      await runGroup(group, environment);
    }
  };
  await Promise.all(Array.from({ length: PROCESSES }, work));
}

/**
 * The groups of files that share a process: tests of the service do, to load it once. The others come first: they take
 * longest. Each group has files of all folders, so that the groups take equally long.
 */
function groupsOf(files: string[]): string[][] {
  const sharing = files.filter((file) => SHARING.test(file));
  const count = Math.max(Math.ceil(sharing.length / GROUP_SIZE), Math.min(sharing.length, PROCESSES));
  const groups = Array.from({ length: count }, (_, group) => sharing.filter((_, at) => at % count === group));
  return [...files.filter((file) => !SHARING.test(file)).map((file) => [file]), ...groups];
}

async function runGroup(files: string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const program = join(root, 'dist/development/tools/test-group.js');
  const child = spawn(process.execPath, ['--enable-source-maps', program, ...files], {
    cwd: root,
    env: { ...environment, TAP_TIMEOUT: String(FILE_TIMEOUT_S) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const runs: FileRun[] = [];
  const parser = new Parser();
  parser.on('child', followTest);
  parser.on('assert', (rule: Result) => runs.at(-1)?.take(rule));
  parser.on('comment', (comment: string) => {
    const file = FILE.exec(comment)?.[1];
    if (file !== undefined) {
      runs.at(-1)?.end();
      runs.push(new FileRun(file));
    }
  });
  child.stdout.pipe(parser);
  const [[code, signal]] = await Promise.all([once(child, 'close'), once(parser, 'complete')]);
  // A process with a failed test ends with 1.
  const isExpected = code === 0 || (code === 1 && runs.some(({ failed }) => failed > 0));
  runs.at(-1)?.end(isExpected ? undefined : `the process ended with ${signal ?? code}`);
  for (const file of files.slice(runs.length)) {
    new FileRun(file).end('not finished');
  }
}

/** A test file that runs, and its results. */
class FileRun {
  failed = 0;
  private rules = 0;
  private readonly began = performance.now();

  constructor(private readonly file: string) {}

  /** Counts a top-level test. */
  take(rule: Result): void {
    this.rules += 1;
    if (rule.skip) {
      counts.skipped.push(String(rule.skip));
      return;
    }
    counts.passed += rule.ok ? 1 : 0;
    this.failed += rule.ok ? 0 : 1;
    printFailure(this.file, rule);
  }

  /** Prints the result. @param problem what is wrong apart from its tests */
  end(problem = this.rules === 0 ? 'has no tests' : undefined): void {
    if (problem !== undefined) {
      this.failed += 1;
      console.log(`not ok: ${this.file}: ${problem}`);
    }
    counts.failed += this.failed;
    const seconds = ((performance.now() - this.began) / 1_000).toFixed(1);
    console.log(`${this.failed === 0 ? 'passed' : 'FAILED'} ${this.file} (${seconds} s)`);
  }
}

function followTest(test: Parser): void {
  test.on('child', followTest);
  test.on('assert', (assertion: Result) => printFailure(test.name, assertion));
  test.on('comment', (comment: string) => {
    const sum = SUM.exec(comment)?.[1];
    if (sum !== undefined) {
      console.log(sum);
    }
  });
}

function printFailure(of: string, { ok, skip, todo, name, diag }: Result): void {
  if (ok || skip || todo) {
    return;
  }
  // A failed test without a stack has a failed assertion inside it, which was printed before.
  const { diff, source, stack } = diag ?? {};
  const details = stack === undefined ? [] : [diff, source, stack].filter(Boolean);
  console.log([`not ok: ${of}: ${name}`, ...details].join('\n'));
}

/** The documented responses that no test has produced, so nothing has checked them. */
async function unproduced(): Promise<string[]> {
  const lines = new Set((await readFile(responses, 'utf8')).split('\n'));
  return [...lines].filter((line) => line.startsWith('= ') && !lines.has(`+ ${line.slice(2)}`));
}

/** All test files. */
async function findFiles(): Promise<string[]> {
  const names = await readdir(join(root, 'test'), { recursive: true });
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => join('test', name));
}

/** Opens the server for the tests, or ends the process with the reason why there is none. */
async function openServer() {
  try {
    return await openTestCluster(readDevelopmentConfig());
  } catch (error) {
    return refuse(explain(error));
  }
}

/** Prints why the tests cannot run. It does not wait for connections that a failed login leaves open. */
function refuse(sentence: unknown): never {
  console.error(sentence);
  process.exit(1);
}

const given = process.argv.slice(2).map(normalize);
const all = await findFiles();
const unknown = given.find((file) => !all.includes(file));
if (unknown !== undefined) {
  refuse(`There is no test file ${unknown}.`);
}
const files = given.length > 0 ? given : all.filter((file) => SHARING.test(file));
const server = files.every((file) => SOURCE.test(file)) ? undefined : await openServer();
await mkdir(dirname(responses), { recursive: true });
await rm(responses, { force: true });
try {
  const environment = environmentWith({
    ...(server && { TEST_CLUSTER: JSON.stringify(server.cluster) }),
    NODE_ENV: 'test',
    TEST_ANSWERS: responses,
  });
  await runFiles(files, environment);
} finally {
  await server?.close();
}
if (given.length === 0) {
  const missing = await unproduced();
  counts.failed += missing.length;
  for (const response of missing) {
    console.log(`documented, but no test produces it: ${response.slice(2)}`);
  }
}
for (const reason of counts.skipped) {
  console.log(`skipped: ${reason}`);
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 ? 1 : 0;
