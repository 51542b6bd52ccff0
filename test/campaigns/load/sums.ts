import type { Arrival } from './arrivals.js';
import { UNSENT } from './generator.js';

/** The results of the requests of a drive. */
export interface Sums {
  offered: number;
  /** Requests per second that were answered in time. */
  goodput: number;
  /** Without a response: a broken connection or a time-out. */
  unanswered: number;
  unsent: number;
  /** 5xx responses other than overload. */
  faults: number;
  p50Ms: number;
  p99Ms: number;
  /** The time from the last scheduled request to the last response. */
  lastMs: number;
  /** The latency of each rejection. */
  refusedMs: number[];
}

/** A later response does not count as in time, in milliseconds. */
const IN_TIME_MS = 2_000;

/** Sums up a drive of this many seconds. A domain error, such as 409, counts as answered; 429 and 503 do not. */
export function sumUp(arrivals: Arrival[], seconds: number): Sums {
  const answered = arrivals.filter(({ status }) => status >= 200 && status < 500 && status !== 429);
  return {
    offered: arrivals.length,
    goodput: answered.filter(({ latencyMs }) => latencyMs <= IN_TIME_MS).length / seconds,
    unanswered: arrivals.filter(({ status }) => status === 0).length,
    unsent: arrivals.filter(({ status }) => status === UNSENT).length,
    faults: arrivals.filter(({ status }) => status >= 500 && status !== 503).length,
    p50Ms: quantile(latenciesOf(answered), 0.5),
    p99Ms: quantile(latenciesOf(answered), 0.99),
    lastMs:
      Math.max(0, ...arrivals.slice(-5_000).map(({ intendedMs, latencyMs }) => intendedMs + latencyMs)) -
      seconds * 1_000,
    refusedMs: latenciesOf(arrivals.filter(({ status }) => status === 503 || status === 429)),
  };
}

export function latenciesOf(arrivals: Arrival[]): number[] {
  return arrivals.map(({ latencyMs }) => latencyMs);
}

/** The quantile of the numbers; 0 for none. */
export function quantile(numbers: number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function mean(numbers: number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
