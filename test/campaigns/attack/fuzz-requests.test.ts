import t from 'tap';
import { startFuzzedService } from './fuzz/clubs.js';
import { requestsOf } from './fuzz/requests.js';
import { CHECK, search } from './fuzz/search.js';
import { attack, isWhole } from './tally.js';

const runs = Number(process.env.RUNS || (isWhole ? 50_000 : 10_000));
t.setTimeout(1_800_000 + runs * 10);
const { service, lanes, counts } = await startFuzzedService(t);

t.test(
  'a random request gets no 5xx, a response as documented, nothing foreign, and a 2xx only for what is stored',
  async (t) => {
    await attack(t, 'random requests', CHECK ? 1 : runs, async (tally) => {
      const started = performance.now();
      const counting = lanes.map((check) => (request: Parameters<typeof check>[0]) => {
        tally.tried += 1;
        return check(request);
      });
      for (const { count, what } of await search('requests', requestsOf(service.app), counting, runs)) {
        tally[count].push(what);
      }
      const seconds = (performance.now() - started) / 1_000;
      const sums = [...counts].sort().map(([status, sum]) => `${status} ${sum}`);
      t.comment(`random requests: ${Math.round(tally.tried / seconds)} a second, ${sums.join(', ')}`);
    });
  },
);
