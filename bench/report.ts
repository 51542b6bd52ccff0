import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tools/root.js';
import type { Result } from './benchmarks.js';
import { SETTINGS } from './environment.js';
import { disturbances, type Measurement } from './measurement.js';
import { plan } from './plan.js';
import { processorCount, processorName } from './processors.js';
import { type Figures, figuresOf, lineOf, median, type Ratio } from './rounds.js';

/** The input of a report. */
export interface Findings {
  postgresVersion: string;
  pgbench: string | undefined;
  /** The description of each contender, with its pool size. */
  contenders: { name: string; pool: string }[];
  results: Result[];
  ratios: Ratio[];
  minutes: number;
}

/** The report, as Markdown. */
export function reportOf(findings: Findings): string {
  const { results, ratios, contenders } = findings;
  return `# What was measured

${conditions(findings).join('\n')}

A ratio is the service's requests per second over the other's, in the same round: the median of the rounds, with the
lowest and the highest. Above 1 the service is faster. The lines of growth, start, memory and the rush divide times by
times, or bytes by bytes: below 1 is better. The lines of shifts-batch count shifts, not requests. event-over-write is the
processor time of PostgreSQL for the events of a write over that of the write without them.

The absolute figures are medians of the rounds: of the service before the slash, of the other after it. In the
lines of growth both are of the service, for the two cases in the line, in that order. There are no percentiles of
pgbench, because it has fewer requests in flight.

| Workload | Against | Ratio | Lowest–highest | requests/s | p50 ms | p95 ms | p99 ms |
|---|---|--:|--:|--:|--:|--:|--:|
${ratios.map(rowOf).join('\n')}

The cost of a request in microseconds of processor time (medians of the rounds): of the contender's process (for pgbench of
pgbench itself), and of all PostgreSQL processes. The load generator shares the processors with both. "Others" is the share
of the processors that all other processes used during the measurement: where it is high, the row is not reliable.

| Workload | Contender | requests/s | Node µs | PostgreSQL µs | Others % |
|---|---|--:|--:|--:|--:|
${results.flatMap(costsOf).join('\n')}

Connections to the database: ${contenders.map(({ name, pool }) => `${name} ${pool}`).join('; ')}.

[BASELINE.md](BASELINE.md) has runs of the same benchmark with the service's database layer on node-postgres.

    ${ratios.map(lineOf).join('\n    ')}
`;
}

/** The environment and method of the measurement, one per line. */
function conditions({ postgresVersion, pgbench, minutes }: Findings): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'bench/rivals/package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const versions = ['express', 'pg', '@nestjs/core', 'typeorm', 'fastify', 'postgres'];
  const { repeated, measurements, kept } = disturbances;
  return [
    `- ${new Date().toISOString().slice(0, 10)}; the last commit to src or sql is ${serviceCommit()}.`,
    `- ${processorName()}, ${processorCount()} processors; Node.js ${process.version}; PostgreSQL ${postgresVersion}.`,
    `- ${versions.map((name) => `${name} ${dependencies[name]}`).join(', ')}; pgbench: ${pgbench ?? 'not installed, so what it would show is missing'}.`,
    `- ${plan.tasks} tasks and ${plan.shifts} shifts in ${plan.clubs} clubs, and as many in one; ${plan.callers} distinct tokens.`,
    `- At least ${plan.rounds} rounds of ${plan.measurementMs / 1000} s for each contender and workload, over ${plan.connections} connections; ${minutes.toFixed(0)} minutes${plan.isQuick ? ', a quick run' : ''}.`,
    `- Measurements in which others had more than ${plan.disturbedShare * 100} % of the processors: ${repeated} measured again, ${kept} of ${measurements} kept because none was better.`,
    `- PostgreSQL with ${listOf(SETTINGS)}.`,
    '- The service, the rivals and pgbench use one login, with the settings of sql/roles.sql.',
  ];
}

const listOf = (settings: Record<string, string>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/** Identifies the measured code; commits that change only the benchmark do not change it. */
function serviceCommit(): string {
  try {
    return execFileSync('git', ['log', '-1', '--format=%h', '--', 'src', 'sql'], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
  } catch {
    return 'unknown';
  }
}

function rowOf({ workload, against, median: middle, min, max, figures }: Ratio): string {
  const pair = (name: keyof Figures, format: (figure: number) => string) =>
    figures === undefined ? missing : figures.map((side) => format(side[name])).join(' / ');
  return `| ${[
    workload,
    against,
    two(middle),
    `${two(min)}–${two(max)}`,
    pair('perSecond', whole),
    pair('p50Ms', one),
    pair('p95Ms', one),
    pair('p99Ms', one),
  ].join(' | ')} |`;
}

function costsOf({ workload, rounds }: Result): string[] {
  return [...rounds].map(([name, measurements]) => {
    const middle = (figure: (measurement: Measurement) => number) => whole(median(measurements.map(figure)));
    return `| ${[
      workload,
      name,
      middle(({ perSecond }) => perSecond),
      middle(({ nodeUs }) => nodeUs),
      middle(({ postgresUs }) => postgresUs),
      middle(({ foreignShare }) => foreignShare * 100),
    ].join(' | ')} |`;
  });
}

/** A short result for the output during the run. */
export function linesOf({ workload, rounds }: Result): string[] {
  return [...rounds].map(([name, measurements]) => {
    const { perSecond, p50Ms, p95Ms, p99Ms } = figuresOf(measurements);
    const times = [p50Ms, p95Ms, p99Ms].map(one).join(' / ');
    return `${workload} ${name}: ${whole(perSecond)} requests/s, p50 / p95 / p99 ${times} ms`;
  });
}

const missing = '–';
const two = (figure: number): string => (Number.isNaN(figure) ? missing : figure.toFixed(2));
const one = (figure: number): string => (Number.isNaN(figure) ? missing : figure.toFixed(1));
const whole = (figure: number): string => figure.toFixed(0);
