/**
 * `make test`: the suite against a real PostgreSQL. It prints a line for each file when it has ended, each failure when it
 * happens, and a plain line at the end.
 */
import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Parser, type Result } from 'tap-parser';
import { environmentWith, readDevelopmentConfig } from '../src/config.js';
import { openTestCluster } from './test-cluster.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const answers = fileURLToPath(new URL('../.tap/answers.txt', import.meta.url));
/** A comment of a test that is printed: a sum, such as `model: 4925 operations`. */
const SUM = /^# (\w[\w ]*: (?:faults )?\d.*)/;

/** The rules, which are the tests at the top of each file. */
const counts = { passed: 0, failed: 0, skipped: [] as string[] };

async function runTap(files: string[], environment: NodeJS.ProcessEnv): Promise<number> {
  // One more than there are cores: much of a test is waiting for PostgreSQL, for a clock or for a process.
  const jobs = availableParallelism() + 1;
  const tap = spawn('node_modules/.bin/tap', ['run', '--reporter=tap', `--jobs=${jobs}`, ...files], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const parser = new Parser();
  parser.on('child', followFile);
  parser.on('assert', ({ ok, name, time }: Result) => {
    console.log(`${ok ? 'passed' : 'FAILED'} ${name} (${((time ?? 0) / 1_000).toFixed(1)} s)`);
  });
  tap.stdout.pipe(parser);
  return new Promise((resolve) => tap.once('close', (code) => resolve(code ?? 1)));
}

function followFile(file: Parser): void {
  let rules = 0;
  file.on('child', followTest);
  file.on('assert', (rule: Result) => {
    rules += 1;
    if (rule.skip) {
      counts.skipped.push(String(rule.skip));
      return;
    }
    counts[rule.ok ? 'passed' : 'failed'] += 1;
    printFailure(file.name, rule);
  });
  file.on('complete', () => {
    if (rules === 0) {
      counts.failed += 1;
      console.log(`${file.name}: ended before its first test`);
    }
  });
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
  // A test within which something failed has no stack of its own, and what failed was printed before it.
  const { diff, source, stack } = diag ?? {};
  const details = stack === undefined ? [] : [diff, source, stack].filter(Boolean);
  console.log([`not ok: ${of}: ${name}`, ...details].join('\n'));
}

/** The answers of the OpenAPI document that no test produced: they may be wrong without anybody noticing. */
async function unproduced(): Promise<string[]> {
  const lines = new Set((await readFile(answers, 'utf8')).split('\n'));
  return [...lines].filter((line) => line.startsWith('= ') && !lines.has(`+ ${line.slice(2)}`));
}

const files = process.argv.slice(2);
await rm(answers, { force: true });
const { cluster, close } = await openTestCluster(readDevelopmentConfig());
let exitCode = 1;
try {
  const environment = environmentWith({
    TEST_CLUSTER: JSON.stringify(cluster),
    NODE_ENV: 'test',
    TEST_ANSWERS: answers,
  });
  exitCode = await runTap(files.length > 0 ? files : ['test/**/*.test.ts'], environment);
} finally {
  await close();
}
if (files.length === 0) {
  const missing = await unproduced();
  counts.failed += missing.length;
  for (const answer of missing) {
    console.log(`documented, and produced by no test: ${answer.slice(2)}`);
  }
}
for (const reason of counts.skipped) {
  console.log(`skipped: ${reason}`);
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(exitCode === 0 && counts.failed > 0 ? 1 : exitCode);
