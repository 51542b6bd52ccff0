/**
 * `make test`: the suite against a real PostgreSQL, and a plain line at the end.
 */
import { spawn } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { environmentWith, readDevelopmentConfig } from '../src/config.js';
import { openTestCluster } from './test-cluster.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const results = new URL('../.tap/test-results/', import.meta.url);
const answers = fileURLToPath(new URL('../.tap/answers.txt', import.meta.url));

async function runTap(files: string[], environment: NodeJS.ProcessEnv): Promise<number> {
  // The reporters repaint a terminal; where there is none, only what failed is worth printing.
  const reporter = process.stdout.isTTY ? 'terse' : 'silent';
  // One more than there are cores: much of a test is waiting for PostgreSQL, for a clock or for a process.
  const jobs = availableParallelism() + 1;
  const tap = spawn('node_modules/.bin/tap', ['run', `--reporter=${reporter}`, `--jobs=${jobs}`, ...files], {
    cwd: root,
    env: environment,
    stdio: 'inherit',
  });
  return new Promise((resolve) => tap.once('close', (code) => resolve(code ?? 1)));
}

/** Counts the rules: the tests that stand at the top of each file. Prints what failed, and the sums that tests comment on. */
async function count(): Promise<{ passed: number; failed: number; skipped: string[] }> {
  const counts = { passed: 0, failed: 0, skipped: [] as string[] };
  const files = await readdir(results, { recursive: true, withFileTypes: true });
  for (const file of files.filter((entry) => entry.isFile() && entry.name.endsWith('.tap'))) {
    const text = await readFile(`${file.parentPath}/${file.name}`, 'utf8');
    for (const [failure] of text.matchAll(
      /^( *)not ok .*\n(?:\1 {2}---\n(?:\1 {2}.*\n|\n)*?\1 {2}\.\.\.\n)?/gm,
    )) {
      console.log(`${file.name}:\n${failure}`);
    }
    for (const [, sum] of text.matchAll(/^ *# (\w[\w ]*: (?:faults )?\d.*)$/gm)) {
      console.log(sum);
    }
    const rules = [...text.matchAll(/^(not )?ok \d+(.*)$/gm)];
    if (rules.length === 0) {
      console.log(`${file.name}: ended before its first test`);
      counts.failed += 1;
    }
    for (const [, not, rest = ''] of rules) {
      const skip = /# SKIP (.*)/i.exec(rest);
      if (skip) {
        counts.skipped.push(skip[1] ?? '');
      } else {
        counts[not ? 'failed' : 'passed'] += 1;
      }
    }
  }
  return counts;
}

/** The answers of the OpenAPI document that no test produced: they may be wrong without anybody noticing. */
async function unproduced(): Promise<string[]> {
  const lines = new Set((await readFile(answers, 'utf8')).split('\n'));
  return [...lines].filter((line) => line.startsWith('= ') && !lines.has(`+ ${line.slice(2)}`));
}

const files = process.argv.slice(2);
await rm(results, { recursive: true, force: true });
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
const { passed, skipped, ...counted } = await count();
let { failed } = counted;
if (files.length === 0) {
  const missing = await unproduced();
  failed += missing.length;
  for (const answer of missing) {
    console.log(`documented, and produced by no test: ${answer.slice(2)}`);
  }
}
for (const reason of skipped) {
  console.log(`skipped: ${reason}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(exitCode === 0 && failed > 0 ? 1 : exitCode);
