/**
 * `make test` and `make campaigns`: runs tests against a real PostgreSQL. It prints each failure at once, a line for each
 * finished file, and the totals at the end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { Parser, type Result } from 'tap-parser';
import { environmentWith, readDevelopmentConfig } from '../src/config.js';
import { root } from './root.js';
import { openTestCluster } from './test-cluster.js';

const answers = join(root, '.tap/answers.txt');
/** A TAP comment that is printed: a total, such as `model: 4925 operations`. */
const SUM = /^# (\w[\w ]*: (?:faults )?\d.*)/;

/** The totals of the top-level tests of all files. */
const counts = { passed: 0, failed: 0, skipped: [] as string[] };

/** Runs the files in parallel. */
async function runFiles(files: string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const waiting = files.values();
  const work = async () => {
    for (const file of waiting) {
      await runFile(file, environment);
    }
  };
  // One more than the number of cores: tests often wait for PostgreSQL, a timer or a process.
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, work));
}

async function runFile(file: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const began = performance.now();
  // A test file is a program that prints TAP.
  const program = join('dist/development', file.replace(/\.ts$/, '.js'));
  const child = spawn(process.execPath, ['--enable-source-maps', program], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let [rules, failed] = [0, 0];
  const parser = new Parser();
  parser.on('child', followTest);
  parser.on('assert', (rule: Result) => {
    rules += 1;
    if (rule.skip) {
      counts.skipped.push(String(rule.skip));
      return;
    }
    counts.passed += rule.ok ? 1 : 0;
    failed += rule.ok ? 0 : 1;
    printFailure(file, rule);
  });
  child.stdout.pipe(parser);
  const [[code, signal]] = await Promise.all([once(child, 'close'), once(parser, 'complete')]);
  if (failed === 0 && (code !== 0 || rules === 0)) {
    failed = 1;
    console.log(`${file}: ended with ${signal ?? code} after ${rules} tests`);
  }
  counts.failed += failed;
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${failed === 0 ? 'passed' : 'FAILED'} ${file} (${seconds} s)`);
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
  const lines = new Set((await readFile(answers, 'utf8')).split('\n'));
  return [...lines].filter((line) => line.startsWith('= ') && !lines.has(`+ ${line.slice(2)}`));
}

/** All test files except the campaigns. */
async function findFiles(): Promise<string[]> {
  const names = await readdir(join(root, 'test'), { recursive: true });
  return names
    .filter((name) => name.endsWith('.test.ts') && !name.startsWith('campaigns/'))
    .map((name) => join('test', name));
}

const given = process.argv.slice(2);
await mkdir(dirname(answers), { recursive: true });
await rm(answers, { force: true });
const { cluster, close } = await openTestCluster(readDevelopmentConfig());
try {
  const environment = environmentWith({
    TEST_CLUSTER: JSON.stringify(cluster),
    NODE_ENV: 'test',
    TEST_ANSWERS: answers,
    // In seconds, for each file; long campaigns set another value.
    TAP_TIMEOUT: '300',
  });
  await runFiles(given.length > 0 ? given : await findFiles(), environment);
} finally {
  await close();
}
if (given.length === 0) {
  const missing = await unproduced();
  counts.failed += missing.length;
  for (const answer of missing) {
    console.log(`documented, but no test produces it: ${answer.slice(2)}`);
  }
}
for (const reason of counts.skipped) {
  console.log(`skipped: ${reason}`);
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 ? 1 : 0;
