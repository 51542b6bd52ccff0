/**
 * `make bench`: starts PostgreSQL, the service, its rivals and the limits, alternates them in one run, and reports.
 */
import { makeCallers, Signer } from './callers.js';
import { type Contender, rivals, service, startContender } from './contenders.js';
import { readCursors } from './cursors.js';
import { findDifferences } from './equivalence.js';
import { plan } from './plan.js';
import { lineOf, type Ratio, ratioOf, runRounds } from './rounds.js';
import { runQuietSlice, runSlice, type Slice } from './slice.js';
import { openStage } from './stage.js';
import { makeWorkloads, type Workload } from './workloads.js';

const say = (line: string) => console.log(`# ${line}`);
const stage = await openStage(say);
const running: Contender[] = [];
try {
  const signer = new Signer(stage.issuer);
  const callers = await makeCallers(stage, signer, 'many');
  for (const program of [service, rivals.express?.(6, 'PIPELINE=on'), rivals.awaited?.(6)]) {
    running.push(await startContender(program as never, stage));
  }
  const all = await Promise.all(
    running.map(async (contender) => {
      const cursors = await readCursors(contender, callers);
      return { contender, cursors, workloads: makeWorkloads(callers, cursors, signer) };
    }),
  );
  const differences = await findDifferences(all, callers, signer);
  if (differences.length > 0) {
    throw new Error(`Not the same answers:\n${differences.join('\n')}`);
  }
  say('all contenders answer alike');
  const ratios: Ratio[] = [];
  for (const name of [
    'tasks-page',
    'tasks-deep',
    'task-one',
    'shifts-window',
    'task-patch',
    'signup-cancel',
    'mix',
    'first-visit',
  ]) {
    if (plan.only && !plan.only.includes(name)) continue;
    const entrants = all.map(({ contender, workloads }) => {
      const workload = workloads.find((each) => each.name === name) as Workload;
      return {
        name: contender.name,
        run: async (ms: number) => {
          workload.prepare?.(ms * 4);
          const slice = await runSlice({ ...contender, postmaster: stage.postmaster }, workload, ms);
          if (slice.errors > 0) console.log(contender.name, slice);
          return slice;
        },
      };
    });
    const rounds = await runRounds(entrants, runQuietSlice);
    for (const [entrant, slices] of rounds) {
      const s = slices[2] as Slice;
      say(
        `${name} ${entrant} ${s.perSecond.toFixed(0)}/s node ${s.nodeUs.toFixed(0)} pg ${s.postgresUs.toFixed(0)} gen ${s.generatorUs.toFixed(0)} p50 ${s.p50Ms.toFixed(2)} p99 ${s.p99Ms.toFixed(2)} foreign ${s.foreignShare.toFixed(2)}`,
      );
    }
    for (const { contender } of all.slice(1)) {
      const r = ratioOf(
        rounds,
        ['service', contender.name],
        [name, contender.name],
        ({ perSecond }) => perSecond,
      );
      ratios.push(r);
      console.log(lineOf(r));
    }
  }
} finally {
  await Promise.all(running.map((c) => c.stop()));
  await stage.close();
}
