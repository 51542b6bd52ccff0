/**
 * `make bench`: starts PostgreSQL, the service, its rivals and the limits, checks that all give the same responses, measures
 * them alternately in one run, and writes a report. It fails if a response was wrong.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../tools/root.js';
import { measureBatch } from './batch.js';
import {
  benchmarkOf,
  measureBenchmarks,
  type PreparedContender,
  prepare,
  wrongResponses,
} from './benchmarks.js';
import { makeCallers, Signer } from './callers.js';
import { chartOf } from './chart.js';
import { type Contender, limits, service, startContender } from './contenders.js';
import { type Environment, startEnvironment } from './environment.js';
import { findDifferences } from './equivalence.js';
import { measureEventCost } from './event-cost.js';
import { measureGrowth, measureStart } from './growth.js';
import { measureMemory } from './memory.js';
import { findPgbench, runPgbench } from './pgbench.js';
import { isSelected, plan } from './plan.js';
import { chooseRivals } from './pools.js';
import { profileService } from './profile.js';
import { measureRecording } from './recording.js';
import { type Findings, linesOf, reportOf } from './report.js';
import { type Benchmark, lineOf, type Ratio, ratioOf } from './rounds.js';
import { measureRush } from './rush.js';
import { serviceScripts } from './statements.js';

const say = (line: string) => console.log(`# ${(performance.now() / 1000).toFixed(0)} s: ${line}`);

const WORKLOADS = [
  ...['tasks-page', 'tasks-deep', 'task-one', 'shifts-window'],
  ...['task-patch', 'signup-keyed', 'signup-cancel', 'mix', 'first-visit'],
];

/** pgbench with the service's own statements of a workload, if it is installed. */
async function pgbenchBenchmarks(
  environment: Environment,
  pgbench: string | undefined,
  workload: string,
): Promise<Benchmark[]> {
  if (pgbench === undefined) {
    return [];
  }
  const scripts: Record<string, Record<string, string>> = serviceScripts();
  const requests = workload === 'signup-cancel' ? 2 : 1;
  return Object.entries(scripts[workload] ?? {}).map(([name, script]) => ({
    name,
    run: (durationMs) => {
      const length = { seconds: Math.max(1, Math.round(durationMs / 1000)) };
      return runPgbench(pgbench, environment, { script, requests, length });
    },
  }));
}

async function bench(environment: Environment): Promise<Findings | undefined> {
  const signer = new Signer(environment.issuer);
  const callers = await makeCallers(environment, signer, 'many');
  if (plan.profile !== undefined) {
    console.log((await profileService(plan.profile, { environment, callers, signer })).join('\n'));
    return undefined;
  }
  const programs = WORKLOADS.some(isSelected) ? await chooseRivals(environment, callers, signer, say) : [];
  const running: Contender[] = [];
  const prepared: PreparedContender[] = [];
  for (const program of [service, ...programs]) {
    const contender = await startContender(program, environment);
    running.push(contender);
    prepared.push(await prepare(contender, callers, signer));
  }
  const differences = await findDifferences(prepared, callers, signer);
  if (differences.length > 0) {
    throw new Error(`The contenders give different responses:\n${differences.join('\n')}`);
  }
  say('all contenders give the same responses');

  const pgbench = findPgbench();
  say(pgbench ?? 'pgbench is not installed: without it there is no ratio to PostgreSQL alone');
  const [ours] = prepared as [PreparedContender];
  const httpLimits: Benchmark[] = [];
  for (const program of isSelected('tasks-page') ? limits : []) {
    const contender = await startContender(program, environment);
    running.push(contender);
    httpLimits.push(benchmarkOf({ contender, workloads: ours.workloads }, 'tasks-page', environment));
  }

  const findings: Findings = {
    postgresVersion: environment.postgresVersion,
    pgbench,
    contenders: running,
    results: [],
    ratios: [],
    minutes: 0,
  };
  const { results, ratios } = findings;
  for (const workload of WORKLOADS.filter(isSelected)) {
    const benchmarks = [
      ...prepared.map((each) => benchmarkOf(each, workload, environment)),
      ...(workload === 'tasks-page' ? httpLimits : []),
      ...(plan.isQuick && workload !== 'tasks-page'
        ? []
        : await pgbenchBenchmarks(environment, pgbench, workload)),
    ];
    const result = await measureBenchmarks(workload, benchmarks);
    results.push(result);
    for (const { name } of benchmarks.slice(1)) {
      ratios.push(ratioOf(result.rounds, ['service', name], [workload, name], ({ perSecond }) => perSecond));
    }
    linesOf(result).forEach(say);
  }
  const own = await measureService(environment, signer, { ours, pgbench });
  results.push(...own.results);
  ratios.push(...own.ratios);
  findings.minutes = performance.now() / 60_000;
  return findings;
}

/** Compares the service with itself, and with the limits of growth, memory and time. */
async function measureService(
  environment: Environment,
  signer: Signer,
  { ours, pgbench }: { ours: PreparedContender; pgbench: string | undefined },
): Promise<Pick<Findings, 'results' | 'ratios'>> {
  const results: Findings['results'] = [];
  const ratios: Ratio[] = [];
  const add = (ratio: Ratio | undefined) => ratio && ratios.push(ratio);
  if (isSelected('growth')) {
    const growth = await measureGrowth(environment, signer, ours);
    results.push(growth.result);
    ratios.push(...growth.ratios);
    linesOf(growth.result).forEach(say);
    add(await measureStart(environment));
  }
  if (isSelected('memory') && plan.memoryMs > 0) {
    add(await measureMemory(environment, ours));
  }
  if (isSelected('signup-rush')) {
    add(await measureRush(environment, ours.contender, signer, pgbench));
  }
  if (isSelected('batch')) {
    ratios.push(...(await measureBatch(ours.contender, signer)));
  }
  if (isSelected('events')) {
    const recording = await measureRecording(environment, signer, ours);
    results.push(...recording.results);
    ratios.push(...recording.ratios);
    recording.results.flatMap(linesOf).forEach(say);
    ratios.push(...(await measureEventCost(environment, say)));
  }
  return { results, ratios };
}

const environment = await startEnvironment(say);
let findings: Findings | undefined;
try {
  findings = await bench(environment);
} finally {
  await environment.close();
}
if (findings !== undefined) {
  // Only a complete run may replace the stored report.
  const folder = join(root, plan.isWhole ? 'bench' : '.tap/bench');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'RESULTS.md'), reportOf(findings));
  await writeFile(join(folder, 'results.svg'), chartOf(findings.ratios));
  console.log(`\n${reportOf(findings)}`);
  console.log(findings.ratios.map(lineOf).join('\n'));
}
if (wrongResponses.length > 0) {
  console.error(
    `Some responses were wrong, so the figures are invalid:\n${wrongResponses.slice(0, 20).join('\n')}`,
  );
  process.exitCode = 1;
}
