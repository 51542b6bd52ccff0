import { type Asked, entrantOf } from './benchmarks.js';
import type { Stage } from './environment.js';
import { plan } from './plan.js';
import { residentBytes } from './processors.js';
import { median, type Ratio, spreadOf } from './rounds.js';

const STEP_MS = 10_000;

/** Resident memory during ten minutes of a mixed workload: the last third divided by the first. */
export async function measureMemory(stage: Stage, service: Asked): Promise<Ratio> {
  const entrant = entrantOf(service, 'mix', stage);
  const sizes: number[] = [];
  for (let step = 0; step < plan.memoryMs / STEP_MS; step += 1) {
    await entrant.run(STEP_MS);
    sizes.push(residentBytes(service.contender.pid));
  }
  const third = Math.floor(sizes.length / 3);
  const before = median(sizes.slice(0, third));
  const ratios = sizes.slice(-third).map((size) => size / before);
  return { workload: 'memory', against: 'last-third-over-first', ...spreadOf(ratios) };
}
