import type { Arrival } from './arrivals.js';
import type { BusyClub } from './busy-club.js';
import { observe } from './observer.js';
import { latenciesOf, quantile } from './sums.js';
import { drive, type Trial, untilNormal } from './trials.js';

/** The loud club and the seconds of each drive, the quiet club, and the knee in requests per second. */
export interface Comparison extends Trial {
  url: string;
  quiet: BusyClub;
  knee: number;
}

/** The 99th percentile of the quiet club's latency in milliseconds, and what else became of its requests. */
export interface QuietClubResult {
  /** The number of its requests beside the flood. */
  sent: number;
  alone: number;
  /** While the loud club sends at the knee. */
  busy: number;
  /** While the loud club sends at ten times the knee. */
  flooded: number;
  refused: number;
  /** Without a response: a broken connection, a time-out, or no connection left. */
  lost: number;
}

/** The quiet club's rate as a part of the knee. */
const QUIET_PART = 1 / 20;

/** The quiet club's results while another club sends this many requests per second. */
async function beside(loudRate: number, { url, quiet, knee, ...loud }: Comparison): Promise<Arrival[]> {
  const requests = Array.from({ length: 1_000 }, quiet.nextRequest);
  const [arrivals] = await Promise.all([
    observe({
      url,
      limit: loud.generator.rest,
      requests,
      ratePerSecond: knee * QUIET_PART,
      seconds: loud.seconds,
    }),
    loudRate > 0 && drive(loud, loudRate),
  ]);
  await untilNormal(loud);
  return arrivals;
}

/** The latency of a club alone, and beside another club's requests per second. */
export async function compareBeside(
  ratePerSecond: number,
  comparison: Comparison,
): Promise<Omit<QuietClubResult, 'busy'>> {
  const alone = await beside(0, comparison);
  const flooded = await beside(ratePerSecond, comparison);
  return {
    sent: flooded.length,
    alone: p99Of(alone),
    flooded: p99Of(flooded),
    refused: refusedOf(flooded),
    lost: lostOf(flooded),
  };
}

/** The latency of a club beside another one that sends nothing, at the knee, and at ten times the knee. */
export async function compare(comparison: Comparison): Promise<QuietClubResult> {
  const arrivals: Record<'alone' | 'busy' | 'flooded', Arrival[]> = { alone: [], busy: [], flooded: [] };
  // Three alternating rounds, because the speed of the machine varies.
  for (const _ of ['once', 'again', 'and again']) {
    arrivals.alone.push(...(await beside(0, comparison)));
    arrivals.busy.push(...(await beside(comparison.knee, comparison)));
    arrivals.flooded.push(...(await beside(10 * comparison.knee, comparison)));
  }
  return {
    sent: arrivals.flooded.length,
    alone: p99Of(arrivals.alone),
    busy: p99Of(arrivals.busy),
    flooded: p99Of(arrivals.flooded),
    refused: refusedOf(arrivals.flooded),
    lost: lostOf(arrivals.flooded),
  };
}

/** Of the requests with a response. */
function p99Of(arrivals: Arrival[]): number {
  return quantile(latenciesOf(arrivals.filter(({ status }) => status > 0 && status < 500)), 0.99);
}

function refusedOf(arrivals: Arrival[]): number {
  return arrivals.filter(({ status }) => status >= 500).length;
}

function lostOf(arrivals: Arrival[]): number {
  return arrivals.filter(({ status }) => status <= 0).length;
}
