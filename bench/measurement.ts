import { availableParallelism } from 'node:os';
import { plan } from './plan.js';
import { readUse } from './processors.js';
import { Wire } from './wire.js';
import type { Exchange, Workload } from './workloads.js';

/** The figures of a workload that ran for a time. */
export interface Measurement {
  perSecond: number;
  /** Microseconds of the processors per request: of the contender's process, and of all of PostgreSQL. */
  nodeUs: number;
  postgresUs: number;
  generatorUs: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  requests: number;
  errors: number;
  /** The first error. */
  firstError: string | undefined;
  /** The share of the processors that other processes used or the host took away (steal time). */
  foreignShare: number;
}

export interface Target {
  port: number;
  pid: number;
  postmaster: number;
}

/** Sends requests on all connections for the given time, the next on each connection after its response. */
export async function measureWorkload(
  target: Target,
  workload: Workload,
  durationMs: number,
): Promise<Measurement> {
  const wires = await Promise.all(Array.from({ length: plan.connections }, () => Wire.connect(target.port)));
  const times: number[] = [];
  let errors = 0;
  let firstError: string | undefined;
  const before = readUse(target.pid, target.postmaster);
  const until = performance.now() + durationMs;

  const drive = (wire: Wire) =>
    new Promise<void>((resolve) => {
      const fail = (reason: string) => {
        errors += 1;
        firstError ??= reason;
      };
      const send = (exchange: Exchange): void => {
        const sent = performance.now();
        wire.send(
          exchange.request,
          (response) => {
            times.push(performance.now() - sent);
            if (response.status !== exchange.status || !exchange.isRight(response)) {
              fail(
                `${exchange.request.split('\r\n', 1)[0]}: ${response.status} ${response.body.slice(0, 200)}`,
              );
            }
            if (exchange.next !== undefined) {
              send(exchange.next);
            } else {
              next();
            }
          },
          (error) => {
            fail(error.message);
            resolve();
          },
        );
      };
      const next = (): void => {
        const exchange = performance.now() < until ? workload.next() : undefined;
        if (exchange === undefined) {
          resolve();
        } else {
          send(exchange);
        }
      };
      next();
    });
  await Promise.all(wires.map(drive));

  const after = readUse(target.pid, target.postmaster);
  for (const wire of wires) {
    wire.close();
  }
  const elapsedMs = after.atMs - before.atMs;
  const used = (part: 'contender' | 'postgres' | 'generator' | 'busy' | 'stolen') =>
    after[part] - before[part];
  times.sort((one, other) => one - other);
  const requests = times.length;
  const foreign = used('busy') - used('contender') - used('postgres') - used('generator');
  return {
    perSecond: (requests / elapsedMs) * 1000,
    nodeUs: used('contender') / requests,
    postgresUs: used('postgres') / requests,
    generatorUs: used('generator') / requests,
    p50Ms: quantile(times, 0.5),
    p95Ms: quantile(times, 0.95),
    p99Ms: quantile(times, 0.99),
    requests,
    errors,
    firstError,
    foreignShare: foreign / (elapsedMs * 1000 * availableParallelism()),
  };
}

/** Measures again until other processes do not disturb it; after some attempts it returns the least disturbed measurement. */
export async function measureUndisturbed(run: () => Promise<Measurement>): Promise<Measurement> {
  let best = await run();
  const isDisturbed = () => best.foreignShare > plan.disturbedShare && performance.now() < plan.repeatsEndMs;
  for (let repeat = 0; repeat < plan.repeats && isDisturbed(); repeat += 1) {
    const again = await run();
    disturbances.repeated += 1;
    best = again.foreignShare < best.foreignShare ? again : best;
  }
  disturbances.measurements += 1;
  disturbances.kept += best.foreignShare > plan.disturbedShare ? 1 : 0;
  return best;
}

/** The load of other processes on the machine. */
export const disturbances = { measurements: 0, repeated: 0, kept: 0 };

function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
