import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Arrival } from './arrivals.js';
import { Generator, type Request, random } from './generator.js';

/** The requests of a observe, their rate, and the duration. */
export interface Watch {
  url: string;
  /** The connections that the service allows it. */
  limit: number;
  requests: Request[];
  ratePerSecond: number;
  seconds: number;
}

/**
 * Sends requests during a flood, from a separate process: the process of the flood is busy, and would measure its own
 * delay as the service's.
 */
export async function observe(watch: Watch): Promise<Arrival[]> {
  const child = fork(fileURLToPath(import.meta.url), {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send(watch);
  const [arrivals] = await once(child, 'message');
  child.disconnect();
  return arrivals as Arrival[];
}

async function watchAndAnswer({ url, limit, requests, ratePerSecond, seconds }: Watch): Promise<void> {
  const generator = new Generator(url, limit);
  const next = () => requests[Math.floor(random() * requests.length)] as Request;
  process.send?.(await generator.drive({ ratePerSecond, seconds, next }));
  generator.close();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (watch) => watchAndAnswer(watch as Watch));
}
