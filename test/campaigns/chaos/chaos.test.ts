import { mkdirSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { seedOf } from '../random.js';
import { runCampaign } from './campaign.js';
import { check } from './checker/index.js';
import { firstProofs, isClean, outcomes, sumUp, type Verdict } from './checker/verdict.js';
import { type History, loadHistory, saveHistory } from './history.js';
import { injectFaults } from './nemesis.js';
import { startVictim } from './postgres.js';
import { startTestbed } from './testbed.js';

// Short in `make campaigns`; `make chaos` sets the duration.
const isWhole = Boolean(process.env.DURATION);
const seconds = Number(process.env.DURATION || 30);
const seed = seedOf(isWhole);
const kept = process.env.CHECK || undefined;
t.setTimeout((seconds + 1_800) * 1_000);

/** The longest time of a request after the faults; a request that waits for a limit of the service takes 3.5 s or more. */
const FULL_SPEED_MS = 3_000;

const checkHistory = (history: History): Verdict => {
  const verdict = check(history);
  const { slowestMs = 0 } = history.recovery ?? {};
  // In the short run a busy machine is allowed to be slow.
  if (isWhole && slowestMs > FULL_SPEED_MS) {
    verdict.anomalies.push(`a request after the faults took ${Math.round(slowestMs)} ms`);
  }
  const line = sumUp(history, verdict);
  t.comment(line);
  mkdirSync('.tap', { recursive: true });
  // The last line of `make chaos`.
  writeFileSync('.tap/chaos.txt', `${line}\n`);
  return verdict;
};

if (kept !== undefined) {
  t.test('a saved history has no violation', async (t) => {
    t.same(firstProofs(checkHistory(await loadHistory(kept))), []);
  });
} else {
  t.test(
    'under faults nothing acknowledged is lost or duplicated, and no shift is overfull and no row foreign',
    async (t) => {
      t.comment(`chaos seed: ${seed}`);
      const testbed = await startTestbed(t, await startVictim(t), { program: 'dist/server.js' });
      const history = await runCampaign(testbed, {
        seed,
        durationMs: seconds * 1_000,
        least: { faults: seconds / 5, operations: seconds * 20 },
        nemesis: injectFaults,
      });
      const verdict = checkHistory(history);
      t.comment(`what came of it: ${outcomes(history)}`);
      t.same(firstProofs(verdict), []);
      t.same(testbed.service.bugs, []);
      t.ok(
        history.faults.length >= seconds / 5 && history.operations.length >= seconds * 20,
        'enough faults and requests happened',
      );
      if (!isClean(verdict)) {
        const path = `.data/chaos/history-${seed}.json`;
        await saveHistory(history, path);
        t.fail(`seed ${seed}; the history is in ${path}: make chaos CHECK=${path}`);
      }
    },
  );
}
