/**
 * `make bench`: starts PostgreSQL, the service, its rivals and the limits, checks that all give the same answers, measures
 * them alternately in one run, and writes a report. It fails when an answer was wrong.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../tools/root.js';
import { type Asked, contest, entrantOf, faults, prepare } from './benchmarks.js';
import { makeCallers, Signer } from './callers.js';
import { chartOf } from './chart.js';
import { type Contender, limits, service, startContender } from './contenders.js';
import { openStage, type Stage } from './environment.js';
import { findDifferences } from './equivalence.js';
import { measureGrowth, measureStart } from './growth.js';
import { measureMemory } from './memory.js';
import { findPgbench, runPgbench } from './pgbench.js';
import { isAsked, plan } from './plan.js';
import { chooseRivals } from './pools.js';
import { profileService } from './profile.js';
import { type Findings, linesOf, reportOf } from './report.js';
import { type Entrant, lineOf, type Ratio, ratioOf } from './rounds.js';
import { measureRush } from './rush.js';
import { serviceScripts } from './statements.js';

const say = (line: string) => console.log(`# ${(performance.now() / 1000).toFixed(0)} s: ${line}`);

const WORKLOADS = [
  ...['tasks-page', 'tasks-deep', 'task-one', 'shifts-window'],
  ...['task-patch', 'signup-keyed', 'signup-cancel', 'mix', 'first-visit'],
];

/** pgbench with the service's own statements of a workload, if it is installed. */
async function pgbenchEntrants(
  stage: Stage,
  pgbench: string | undefined,
  workload: string,
): Promise<Entrant[]> {
  if (pgbench === undefined) {
    return [];
  }
  const scripts: Record<string, Record<string, string>> = serviceScripts();
  const requests = workload === 'signup-cancel' ? 2 : 1;
  return Object.entries(scripts[workload] ?? {}).map(([name, script]) => ({
    name,
    run: (durationMs) => {
      const length = { seconds: Math.max(1, Math.round(durationMs / 1000)) };
      return runPgbench(pgbench, stage, { script, requests, length });
    },
  }));
}

async function bench(stage: Stage): Promise<Findings | undefined> {
  const signer = new Signer(stage.issuer);
  const callers = await makeCallers(stage, signer, 'many');
  if (plan.profile) {
    console.log((await profileService(stage, callers, signer)).join('\n'));
    return undefined;
  }
  const programs = await chooseRivals(stage, callers, signer, say);
  const running: Contender[] = [];
  const asked: Asked[] = [];
  for (const program of [service, ...programs]) {
    const contender = await startContender(program, stage);
    running.push(contender);
    asked.push(await prepare(contender, callers, signer));
  }
  const differences = await findDifferences(asked, callers, signer);
  if (differences.length > 0) {
    throw new Error(`The contenders give different answers:\n${differences.join('\n')}`);
  }
  say('all contenders answer alike');

  const pgbench = findPgbench();
  say(pgbench ?? 'pgbench is not installed: without it there is no ratio to PostgreSQL alone');
  const [ours] = asked as [Asked];
  const httpLimits: Entrant[] = [];
  for (const program of isAsked('tasks-page') ? limits : []) {
    const contender = await startContender(program, stage);
    running.push(contender);
    httpLimits.push(entrantOf({ contender, workloads: ours.workloads }, 'tasks-page', stage));
  }

  const findings: Findings = {
    postgresVersion: stage.postgresVersion,
    pgbench,
    contenders: running,
    results: [],
    ratios: [],
    minutes: 0,
  };
  const { results, ratios } = findings;
  for (const workload of WORKLOADS.filter(isAsked)) {
    const entrants = [
      ...asked.map((each) => entrantOf(each, workload, stage)),
      ...(workload === 'tasks-page' ? httpLimits : []),
      ...(plan.isQuick && workload !== 'tasks-page' ? [] : await pgbenchEntrants(stage, pgbench, workload)),
    ];
    const result = await contest(workload, entrants);
    results.push(result);
    for (const { name } of entrants.slice(1)) {
      ratios.push(ratioOf(result.rounds, ['service', name], [workload, name], ({ perSecond }) => perSecond));
    }
    linesOf(result).forEach(say);
  }
  const add = (ratio: Ratio | undefined) => ratio && ratios.push(ratio);
  if (isAsked('growth')) {
    const growth = await measureGrowth(stage, signer, ours);
    results.push(growth.result);
    ratios.push(...growth.ratios);
    linesOf(growth.result).forEach(say);
    add(await measureStart(stage));
  }
  if (isAsked('memory') && plan.memoryMs > 0) {
    add(await measureMemory(stage, ours));
  }
  if (isAsked('signup-rush')) {
    add(await measureRush(stage, ours.contender, signer, pgbench));
  }
  findings.minutes = performance.now() / 60_000;
  return findings;
}

const stage = await openStage(say);
let findings: Findings | undefined;
try {
  findings = await bench(stage);
} finally {
  await stage.close();
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
if (faults.length > 0) {
  console.error(`Some answers were wrong, so the figures are invalid:\n${faults.slice(0, 20).join('\n')}`);
  process.exitCode = 1;
}
