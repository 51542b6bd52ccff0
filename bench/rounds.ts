import type { Slice } from './measurement.js';
import { plan } from './plan.js';

/** The number of warm-up requests, after which V8 has optimized the code. */
const WARM_REQUESTS = 4_000;
const WARM_UPS = 6;

/** A participant whose slices are compared: a contender with a workload, or a limit. */
export interface Entrant {
  name: string;
  /** Runs for the given time and returns the measurements. */
  run(durationMs: number): Promise<Slice>;
}

/** The slices of all rounds, by the entrant's name. */
export type Rounds = Map<string, Slice[]>;

/** Absolute figures of one side of a ratio: medians of its rounds. */
export type Figures = Pick<Slice, 'perSecond' | 'p50Ms' | 'p95Ms' | 'p99Ms'>;

/** A ratio over the rounds: each round has one, because its slices were measured one after another. */
export interface Ratio {
  workload: string;
  against: string;
  median: number;
  min: number;
  max: number;
  /** The figures of the dividend and the divisor, if requests were measured. */
  figures?: [Figures, Figures];
}

/** Warms up all entrants, then measures all of them in each round, in alternating order. */
export async function runRounds(
  entrants: Entrant[],
  measure: (run: () => Promise<Slice>) => Promise<Slice>,
): Promise<Rounds> {
  const rounds: Rounds = new Map(entrants.map(({ name }) => [name, []]));
  for (const entrant of entrants) {
    // Also by number of requests: on a busy machine a second is too short for V8 to optimize.
    let asked = 0;
    for (let time = 0; time < WARM_UPS && (time === 0 || asked < WARM_REQUESTS); time += 1) {
      asked += (await entrant.run(plan.warmUpMs)).requests;
    }
  }
  for (let round = 0; round < plan.rounds; round += 1) {
    const order = round % 2 === 0 ? entrants : [...entrants].reverse();
    for (const entrant of order) {
      rounds.get(entrant.name)?.push(await measure(() => entrant.run(plan.sliceMs)));
    }
  }
  return rounds;
}

/** The ratio of one entrant's figure to another's, paired by round. */
export function ratioOf(
  rounds: Rounds,
  [one, other]: [string, string],
  [workload, against]: [string, string],
  figure: (slice: Slice) => number,
): Ratio {
  const slices = rounds.get(one) ?? [];
  const others = rounds.get(other) ?? [];
  const all = slices.map((slice, round) => figure(slice) / figure(others[round] as Slice));
  return { workload, against, ...spreadOf(all), figures: [figuresOf(slices), figuresOf(others)] };
}

/** The medians of some slices. */
export function figuresOf(slices: Slice[]): Figures {
  const middle = (name: keyof Figures) => median(slices.map((slice) => slice[name]));
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
