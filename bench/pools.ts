import { benchmarkOf, prepare } from './benchmarks.js';
import type { Caller, Signer } from './callers.js';
import { type Program, rival, rivals, startContender } from './contenders.js';
import type { Environment } from './environment.js';
import { measureUndisturbed } from './measurement.js';
import { plan } from './plan.js';

/** Tries each rival in its variants with several pool sizes under reads and writes, and selects the best. */
export async function chooseRivals(
  environment: Environment,
  callers: Caller[],
  signer: Signer,
  say: (line: string) => void,
): Promise<Program[]> {
  const chosen: Program[] = [];
  for (const [name, variants] of Object.entries(rivals)) {
    const tried: { program: Program; perSecond: number }[] = [];
    for (const variant of variants) {
      for (const pool of plan.pools) {
        const program = rival(name, pool, variant);
        const contender = await startContender(program, environment);
        const benchmark = benchmarkOf(
          await prepare(contender, callers.slice(0, 50), signer),
          'mix',
          environment,
        );
        await benchmark.run(plan.warmUpMs);
        const { perSecond } = await measureUndisturbed(() => benchmark.run(plan.measurementMs));
        await contender.stop();
        tried.push({ program, perSecond });
      }
    }
    tried.sort((one, other) => other.perSecond - one.perSecond);
    chosen.push((tried[0] as (typeof tried)[0]).program);
    const list = tried.map(({ program, perSecond }) => `${program.pool}: ${perSecond.toFixed(0)}/s`);
    say(`${name} by its pool, the best first: ${list.join('; ')}`);
  }
  return chosen;
}
