import type { Arrival } from './arrivals.js';
import type { BusyClub } from './habits.js';
import { latenciesOf, quantile } from './sums.js';
import { drive, type Trial, untilNormal } from './trials.js';
import { witness } from './witness.js';

/** The loud club and how long it is driven at a time, the quiet club beside it, and the knee in requests a second. */
export interface Comparison extends Trial {
  url: string;
  quiet: BusyClub;
  knee: number;
}

/** The 99th percentile of what the quiet club waits for an answer, in milliseconds, and how many of it were refused. */
export interface Heard {
  alone: number;
  /** Beside the loud club at the knee. */
  busy: number;
  /** Beside the loud club at ten times the knee. */
  flooded: number;
  refused: number;
}

/** Which part of the knee the quiet club asks for. */
const QUIET_PART = 1 / 20;

/** What the quiet club hears while somebody else asks for so many requests a second. */
async function beside(loudRate: number, { url, quiet, knee, ...loud }: Comparison): Promise<Arrival[]> {
  const requests = Array.from({ length: 1_000 }, quiet.draw);
  const [arrivals] = await Promise.all([
    witness({ url, requests, ratePerSecond: knee * QUIET_PART, seconds: loud.seconds }),
    loudRate > 0 && drive(loud, loudRate),
  ]);
  await untilNormal(loud);
  return arrivals;
}

/** How quick a club is alone, and beside so many requests a second of somebody else. */
export async function compareBeside(
  ratePerSecond: number,
  comparison: Comparison,
): Promise<Omit<Heard, 'busy'>> {
  const alone = await beside(0, comparison);
  const flooded = await beside(ratePerSecond, comparison);
  return { alone: p99Of(alone), flooded: p99Of(flooded), refused: refusedOf(flooded) };
}

/** How quick a club is beside another that asks for nothing, for all that can be had, and for ten times that. */
export async function compare(comparison: Comparison): Promise<Heard> {
  const heard: Record<'alone' | 'busy' | 'flooded', Arrival[]> = { alone: [], busy: [], flooded: [] };
  // Three times in turns, because the machine is not equally fast all the time.
  for (const _ of ['once', 'again', 'and again']) {
    heard.alone.push(...(await beside(0, comparison)));
    heard.busy.push(...(await beside(comparison.knee, comparison)));
    heard.flooded.push(...(await beside(10 * comparison.knee, comparison)));
  }
  return {
    alone: p99Of(heard.alone),
    busy: p99Of(heard.busy),
    flooded: p99Of(heard.flooded),
    refused: refusedOf(heard.flooded),
  };
}

function p99Of(arrivals: Arrival[]): number {
  return quantile(latenciesOf(arrivals.filter(({ status }) => status > 0 && status < 500)), 0.99);
}

function refusedOf(arrivals: Arrival[]): number {
  return arrivals.filter(({ status }) => status >= 500).length;
}
