import { readFileSync } from 'node:fs';
import t from 'tap';
import { campaign, type Failure, plan } from './fuzz/campaign.js';
import { openSite } from './fuzz/site.js';
import { attack, isWhole } from './tally.js';

// make passes an unset variable as an empty string.
/** Random for each run; SEED=… repeats the run that printed it. */
const seed = Number(process.env.SEED || Math.floor(Math.random() * 1e9));
const runs = Number(process.env.RUNS || (isWhole ? 50_000 : 10_000));
/** A saved failure to send instead: CHECK=.data/fuzz/….json. */
const kept = /\/raw-\d+\.json$/.test(process.env.CHECK ?? '') ? undefined : process.env.CHECK || undefined;
t.setTimeout(1_800_000 + runs * 10);

const site = await openSite(t);
const planned = plan(site);

t.test('no random request gets an answer that the document does not allow', async (t) => {
  if (kept !== undefined) {
    const { request } = JSON.parse(readFileSync(kept, 'utf8')) as Failure;
    t.same(await planned.judged(request, site.send), undefined, kept);
    return;
  }
  await attack(t, 'random requests', runs, async (tally) => {
    t.comment(`fuzz seed: ${seed}`);
    const started = performance.now();
    const used = process.cpuUsage();
    const { tried, failures, counts } = await campaign(planned, runs, seed, { keeps: true });
    const seconds = (performance.now() - started) / 1_000;
    const { user, system } = process.cpuUsage(used);
    tally.tried = tried;
    for (const { count, what, request, ...where } of failures) {
      tally[count].push(`${what}\n${JSON.stringify({ ...request, ...where })}`);
    }
    const sums = Object.entries(counts).sort().map(([name, sum]) => `${name} ${sum}`).join(', '); // biome-ignore format: one thing
    t.comment(
      `random requests: ${Math.round(tried / seconds)} a second for ${Math.round(seconds)} s, ${Math.round((user + system) / 1e6)} s of CPU, ${sums}`,
    );
  });
});
