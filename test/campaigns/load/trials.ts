import type { Generator, Request } from './generator.js';
import { observe } from './observer.js';
import { latenciesOf, type Sums, sumUp } from './sums.js';

/** A load on the service, and its duration. */
export interface Trial {
  generator: Generator;
  next: () => Request;
  seconds: number;
}

/** Sends at a rate and sums up the results. */
export async function drive({ generator, next, seconds }: Trial, ratePerSecond: number): Promise<Sums> {
  return sumUp(await generator.drive({ ratePerSecond, seconds, next }), seconds);
}

/** Whether nearly all requests were answered, and most of them quickly. */
const KEEPS_UP = { share: 0.99, p50Ms: 50 };
const STEP = 1.2;
const START_PER_S = 500;

async function keptUp(trial: Trial, rate: number): Promise<boolean> {
  const { goodput, offered, p50Ms } = await drive(trial, rate);
  await untilNormal(trial);
  return goodput * trial.seconds >= offered * KEEPS_UP.share && p50Ms <= KEEPS_UP.p50Ms;
}

/** Whether the service sustains a rate in two of three drives: a single one depends too much on the machine. */
async function keepsUp(trial: Trial, rate: number): Promise<boolean> {
  const once = await keptUp(trial, rate);
  const again = await keptUp(trial, rate);
  return once === again ? once : keptUp(trial, rate);
}

/**
 * The knee: the highest rate, in requests per second, that the service sustains for this many seconds. The search goes
 * up in steps of 20 %, each a third as long; if a step was too optimistic, it goes down again.
 */
export async function findKnee(trial: Trial): Promise<number> {
  let rate = START_PER_S;
  while (await keepsUp({ ...trial, seconds: trial.seconds / 3 }, rate)) {
    rate *= STEP;
  }
  do {
    rate /= STEP;
  } while (!(await keepsUp(trial, rate)));
  return rate;
}

/** The checks per second for recovery, and how long the service must be normal, in milliseconds. */
const LOOKS_PER_S = 50;
const CALM_MS = 300;
const QUICK_MS = 100;
const GIVE_UP_MS = 20_000;

/** The time until every request is answered quickly, in milliseconds, without the confirmation time. */
export async function untilNormal({ generator, next }: Trial): Promise<number> {
  const began = performance.now();
  let calmSince: number | undefined;
  while (performance.now() - began < GIVE_UP_MS) {
    const lookedAt = performance.now();
    const looks = await generator.drive({ ratePerSecond: LOOKS_PER_S, seconds: 0.1, next });
    const isNormal = looks.every(
      ({ status, latencyMs }) => status < 500 && status > 0 && latencyMs < QUICK_MS,
    );
    calmSince = isNormal ? (calmSince ?? lookedAt) : undefined;
    if (calmSince !== undefined && performance.now() - calmSince > CALM_MS) {
      return calmSince - began;
    }
  }
  return GIVE_UP_MS;
}

const HEALTH = ['/livez', '/readyz'].map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\nhost: club\r\n\r\n`));
const HEALTH_PER_S = 20;
/** The connections that the metrics port allows. */
const HEALTH_CONNECTIONS = 50;

/** Requests /livez and /readyz for this long; returns the worst latency in milliseconds. Throws when one is not 200. */
export async function watchHealth(url: string, seconds: number): Promise<number> {
  const arrivals = await observe({
    url,
    limit: HEALTH_CONNECTIONS,
    requests: HEALTH,
    ratePerSecond: HEALTH_PER_S,
    seconds,
  });
  const other = arrivals.find(({ status }) => status !== 200);
  if (other !== undefined) {
    throw new Error(`/livez or /readyz answered ${other.status} under load`);
  }
  return Math.max(...latenciesOf(arrivals));
}
