import { benchmarkOf, type PreparedContender } from './benchmarks.js';
import type { Environment } from './environment.js';
import { plan } from './plan.js';
import { residentBytes } from './processors.js';
import { median, type Ratio, spreadOf } from './rounds.js';

const STEP_MS = 10_000;

/** Resident memory during ten minutes of a mixed workload: the last third divided by the first. */
export async function measureMemory(environment: Environment, service: PreparedContender): Promise<Ratio> {
  const benchmark = benchmarkOf(service, 'mix', environment);
  const sizes: number[] = [];
  for (let step = 0; step < plan.memoryMs / STEP_MS; step += 1) {
    await benchmark.run(STEP_MS);
    sizes.push(residentBytes(service.contender.pid));
  }
  const third = Math.floor(sizes.length / 3);
  const before = median(sizes.slice(0, third));
  const ratios = sizes.slice(-third).map((size) => size / before);
  return { workload: 'memory', against: 'last-third-over-first', ...spreadOf(ratios) };
}
