import type { Measurement } from './measurement.js';
import { plan } from './plan.js';

/** The number of warm-up requests, after which V8 has optimized the code: the first 2,000 take a contender two to three times as long. */
const WARM_REQUESTS = 4_000;
/** Enough for these requests on a slow machine too. */
const WARM_UPS = 20;

/** What is compared: a contender with a workload, or a limit. */
export interface Benchmark {
  name: string;
  /** Runs for the given time and returns the figures. */
  run(durationMs: number): Promise<Measurement>;
}

/** The measurements of all rounds, by the benchmark's name. */
export type Rounds = Map<string, Measurement[]>;

/** Absolute figures of one side of a ratio: medians of its rounds. */
export type Figures = Pick<Measurement, 'perSecond' | 'p50Ms' | 'p95Ms' | 'p99Ms'>;

/** A ratio over the rounds: each round has one, because its measurements were taken one after another. */
export interface Ratio {
  workload: string;
  against: string;
  median: number;
  min: number;
  max: number;
  /** The figures of the dividend and the divisor, if requests were measured. */
  figures?: [Figures, Figures];
}

/**
 * The order of each round, for at least so many rounds. Each benchmark has each place equally often, and is before each other one as
 * often as after it: every second round has the opposite order of the one before, and each two rounds start one benchmark later.
 */
function ordersOf<Item>(items: Item[], least: number): Item[][] {
  const orders = items.flatMap((_, first) => {
    const order = [...items.slice(first), ...items.slice(0, first)];
    return [order, order.toReversed()];
  });
  return Array.from({ length: Math.ceil(least / orders.length) }, () => orders).flat();
}

/** Warms up all benchmarks, then measures all of them in each round. */
export async function runRounds(
  benchmarks: Benchmark[],
  measure: (run: () => Promise<Measurement>) => Promise<Measurement>,
): Promise<Rounds> {
  const rounds: Rounds = new Map(benchmarks.map(({ name }) => [name, []]));
  for (const benchmark of benchmarks) {
    // By number of requests too: on a busy machine a second is too short for V8 to optimize.
    let requests = 0;
    for (let time = 0; time < WARM_UPS && (time === 0 || requests < WARM_REQUESTS); time += 1) {
      requests += (await benchmark.run(plan.warmUpMs)).requests;
    }
  }
  for (const order of ordersOf(benchmarks, plan.rounds)) {
    for (const benchmark of order) {
      rounds.get(benchmark.name)?.push(await measure(() => benchmark.run(plan.measurementMs)));
    }
  }
  return rounds;
}

/** The ratio of one benchmark's figure to another's, paired by round. */
export function ratioOf(
  rounds: Rounds,
  [one, other]: [string, string],
  [workload, against]: [string, string],
  figure: (measurement: Measurement) => number,
): Ratio {
  const measurements = rounds.get(one) ?? [];
  const others = rounds.get(other) ?? [];
  const all = measurements.map(
    (measurement, round) => figure(measurement) / figure(others[round] as Measurement),
  );
  return { workload, against, ...spreadOf(all), figures: [figuresOf(measurements), figuresOf(others)] };
}

/** The medians of some measurements. */
export function figuresOf(measurements: Measurement[]): Figures {
  const middle = (name: keyof Figures) => median(measurements.map((measurement) => measurement[name]));
  return {
    perSecond: middle('perSecond'),
    p50Ms: middle('p50Ms'),
    p95Ms: middle('p95Ms'),
    p99Ms: middle('p99Ms'),
  };
}

/** The median, minimum and maximum of some figures. */
export function spreadOf(figures: number[]): { median: number; min: number; max: number } {
  return { median: median(figures), min: Math.min(...figures), max: Math.max(...figures) };
}

/** The median. */
export function median(figures: number[]): number {
  const sorted = [...figures].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** The line for a ratio at the end of a run. */
export function lineOf({ workload, against, median: middle, min, max }: Ratio): string {
  return `ratio ${workload} ${against} ${middle.toFixed(2)} ${min.toFixed(2)}-${max.toFixed(2)}`;
}
