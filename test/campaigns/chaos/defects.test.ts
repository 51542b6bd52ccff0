import t, { type Test } from 'tap';
import { runCampaign, type Workload } from './campaign.js';
import { check } from './checker/index.js';
import type { Verdict } from './checker/verdict.js';
import { copyProgram, type Defect } from './defects/defect.js';
import { ofDatabase } from './defects/of-database.js';
import { ofProgram } from './defects/of-program.js';
import type { Scenario } from './defects/scenarios.js';
import { groupBy } from './history.js';
import { startVictim } from './postgres.js';
import { startTestbed } from './testbed.js';

// Planted defects test the checker. `make chaos` plants all of them, `make test` one of each sort.
const all = [...ofDatabase, ...ofProgram];
const wanted = process.env.DEFECTS;
const sample = ['a key is forgotten', 'the reply does not wait for COMMIT'];
const defects = all.filter(({ name }) =>
  wanted === undefined ? sample.includes(name) : new RegExp(wanted).test(name),
);
t.setTimeout(1_800_000 + defects.length * 40_000);
const victim = await startVictim(t);

/** Runs the service with or without the defect, under faults that reveal it. */
async function judge(t: Test, scenario: Scenario, workload: Workload, defect?: Defect): Promise<Verdict> {
  const { patches, sql } = defect ?? {};
  const testbed = await startTestbed(t, victim, {
    program: await copyProgram(defect === undefined ? 'sound' : String(all.indexOf(defect)), patches),
    prepare: [scenario.sql, sql].join(';'),
  });
  return check(await runCampaign(testbed, { seed: 1, workload, faultlessMs: 300, ...scenario }));
}

t.test('every planted defect fits the program, also those that this run does not plant', async () => {
  for (const { patches } of ofProgram) {
    await copyProgram('fit', patches);
  }
});

let caught = 0;
for (const defect of defects) {
  t.test(`the checker finds: ${defect.name}`, async (t) => {
    const verdict = await judge(t, defect.scenario, defect.workload, defect);
    const proofs = verdict[defect.violation];
    caught += proofs.length > 0 ? 1 : 0;
    const counts = Object.entries(verdict).map(([violation, { length }]) => `${violation} ${length}`);
    t.comment(`the checker reports ${counts.join(', ')}: ${proofs[0]}`);
    t.ok(proofs.length > 0, `${defect.violation} of ${counts.join(', ')}`);
  });
}

for (const [name, [first]] of groupBy(defects, ({ scenario }) => scenario.name)) {
  t.test(`a correct service passes: ${name}`, async (t) => {
    const { scenario, workload } = first as Defect;
    t.same(
      Object.entries(await judge(t, scenario, workload)).filter(([, proofs]) => proofs.length > 0),
      [],
    );
  });
}

t.test('every planted defect is found', async (t) => {
  t.parent?.comment(`defects: ${defects.length} planted, ${caught} caught`);
  t.equal(caught, defects.length);
});
