import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
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
 * Asks now and then, beside a flood, from a process of its own: that of the flood is busy, and would take its own
 * lateness for the service's.
 */
export async function witness(watch: Watch): Promise<Arrival[]> {
  const child = fork(fileURLToPath(import.meta.url), {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send(watch);
  const [arrivals] = await once(child, 'message');
  child.disconnect();
  return arrivals as Arrival[];
}

async function watchAndAnswer({ url, requests, ratePerSecond, seconds }: Watch): Promise<void> {
  const generator = new Generator(url);
  const next = () => requests[Math.floor(Math.random() * requests.length)] as Request;
  process.send?.(await generator.drive({ ratePerSecond, seconds, next }));
  generator.close();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (watch) => watchAndAnswer(watch as Watch));
}
