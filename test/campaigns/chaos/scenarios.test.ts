import t from 'tap';
import { EVERYTHING, runCampaign, type Workload } from './campaign.js';
import { check } from './checker/index.js';
import { makeCommonDatabase } from './postgres.js';
import * as scenarios from './scenarios.js';
import { startTestbed } from './testbed.js';

// Planted defects are found here: each needs its scenario, and a workload as JSON.
const { SCENARIO = 'noFaults', WORKLOAD } = process.env;
const scenario = (scenarios as Record<string, scenarios.Scenario>)[SCENARIO];
const workload: Workload = WORKLOAD === undefined ? EVERYTHING : JSON.parse(WORKLOAD);

t.test(`a correct service passes a scenario: ${SCENARIO}`, async (t) => {
  if (scenario === undefined) {
    throw new Error(`There is no scenario ${SCENARIO}.`);
  }
  const testbed = await startTestbed(t, await makeCommonDatabase(t), {
    program: 'dist/development/src/server.js',
    ...(scenario.sql === undefined ? {} : { prepare: scenario.sql }),
  });
  const history = await runCampaign(testbed, {
    seed: 1,
    workload,
    faultlessMs: 300,
    // On a slow machine it takes longer, and reveals as much.
    least: { faults: 0, operations: 600 },
    ...scenario,
  });
  const violations = Object.entries(check(history)).flatMap(([violation, proofs]) =>
    proofs.slice(0, 3).map((proof) => `${violation}: ${proof}`),
  );
  t.same(violations, []);
});
