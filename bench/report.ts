import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from './entrants.js';
import { plan, root } from './plan.js';
import { processorCount, processorName } from './processors.js';
import { lineOf, median, type Ratio } from './rounds.js';
import { disturbances, type Slice } from './slice.js';
import { SETTINGS } from './stage.js';

/** What a report is made of. */
export interface Findings {
  postgresVersion: string;
  pgbench: string | undefined;
  /** What each contender is, with its pool. */
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
lowest and the highest. Above 1 the service is faster. Those of growth are times over times: below 1 is better.

| Workload | Against | Ratio | Lowest | Highest |
|---|---|--:|--:|--:|
${ratios.map(({ workload, against, median: middle, min, max }) => `| ${workload} | ${against} | ${[middle, min, max].map(two).join(' | ')} |`).join('\n')}

The figures behind them belong to this machine: medians of the rounds. µs are microseconds of the processors per
request, of the contender's process (of pgbench itself for pgbench) and of all of PostgreSQL. The generator shares the
processors with both.

| Workload | Contender | requests/s | Node µs | PostgreSQL µs | p50 ms | p99 ms |
|---|---|--:|--:|--:|--:|--:|
${results.flatMap(rowsOf).join('\n')}

Connections to the database: ${contenders.map(({ name, pool }) => `${name} ${pool}`).join('; ')}.

    ${ratios.map(lineOf).join('\n    ')}
`;
}

/** Where and how it was measured, a line each. */
export function conditions({ postgresVersion, pgbench, minutes }: Findings): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'bench/rivals/package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const versions = ['express', 'pg', '@nestjs/core', 'typeorm', 'fastify', 'postgres'];
  const { repeated, slices, kept } = disturbances;
  return [
    `- ${processorName()}, ${processorCount()} processors; Node.js ${process.version}; PostgreSQL ${postgresVersion}.`,
    `- ${versions.map((name) => `${name} ${dependencies[name]}`).join(', ')}; pgbench: ${pgbench ?? 'not installed, so what it would show is missing'}.`,
    `- ${plan.tasks} tasks and ${plan.shifts} shifts in ${plan.clubs} clubs, and as many in one; ${plan.callers} distinct tokens.`,
    `- ${plan.rounds} rounds of ${plan.sliceMs / 1000} s for each contender and workload, over ${plan.connections} connections; ${minutes.toFixed(0)} minutes${plan.isQuick ? ', a quick run' : ''}.`,
    `- Slices in which others had more than ${plan.disturbedShare * 100} % of the processors: ${repeated} measured again, ${kept} of ${slices} kept for want of better ones.`,
    `- PostgreSQL with ${Object.entries(SETTINGS)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}.`,
  ];
}

function rowsOf({ workload, rounds }: Result): string[] {
  return [...rounds].map(([name, slices]) => {
    const middle = (figure: (slice: Slice) => number) => median(slices.map(figure));
    return `| ${[
      workload,
      name,
      whole(middle(({ perSecond }) => perSecond)),
      whole(middle(({ nodeUs }) => nodeUs)),
      whole(middle(({ postgresUs }) => postgresUs)),
      two(middle(({ p50Ms }) => p50Ms)),
      two(middle(({ p99Ms }) => p99Ms)),
    ].join(' | ')} |`;
  });
}

/** A result in few words, while the run goes on. */
export function linesOf(result: Result): string[] {
  return rowsOf(result).map((row) => row.replaceAll('|', '').replaceAll(/ +/g, ' ').trim());
}

const two = (figure: number): string => (Number.isNaN(figure) ? '–' : figure.toFixed(2));
const whole = (figure: number): string => figure.toFixed(0);
