import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { Arrival } from './arrivals.js';
import { Generator, type Request } from './generator.js';

/** What a witness asks, how often, and for how long. */
export interface Watch {
  url: string;
  requests: Request[];
  ratePerSecond: number;
  seconds: number;
}

/**
 * Asks now and then, beside a flood, from a thread of its own: that of the flood is busy, and would take its own
 * lateness for the service's.
 */
export async function witness(watch: Watch): Promise<Arrival[]> {
  const [arrivals] = await once(new Worker(new URL(import.meta.url), { workerData: watch }), 'message');
  return arrivals as Arrival[];
}

if (!isMainThread) {
  const { url, requests, ratePerSecond, seconds } = workerData as Watch;
  const generator = new Generator(url);
  const next = () => requests[Math.floor(Math.random() * requests.length)] as Request;
  parentPort?.postMessage(await generator.drive({ ratePerSecond, seconds, next }));
  generator.close();
}
