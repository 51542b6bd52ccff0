import { mkdirSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { type BusyClub, makeBusyClub } from './busy-club.js';
import { compare, compareBeside } from './fairness.js';
import { flood } from './flood.js';
import { Generator, type Request, random } from './generator.js';
import { canPlace, placeOnFirst, placeOnOthers } from './processors.js';
import { connectSilently } from './silence.js';
import { mean } from './sums.js';
import { startTestbed } from './testbed.js';
import { drive, findKnee, type Trial, untilNormal, watchHealth } from './trials.js';

// `make load` measures. In `make test` nothing is timed, and the same load must be answered without faults.
const isWhole = process.env.LOAD === 'whole';
/** The seconds of a judged drive. */
const SECONDS = 15;
/** The number of members of a club. */
const MEMBERS = isWhole ? 200 : 20;

// The service has its own processor; PostgreSQL shares the others with the generator.
const isApart = isWhole && canPlace;
if (isApart) {
  placeOnOthers(process.pid);
}
const testbed = await startTestbed(t);
if (isApart) {
  placeOnFirst(testbed.service.pid);
}
const { url } = testbed.service;
const { adminUrl, maxConnections } = testbed;
const clubs: BusyClub[] = [];
for (let number = 0; number < (isWhole ? 10 : 3); number += 1) {
  clubs.push(await makeBusyClub(testbed, `club-${number}`, MEMBERS));
}
const generator = new Generator(url, maxConnections);
t.teardown(() => generator.close());
// Every member exists before the measurement.
const visits = clubs.flatMap((club) => club.visits);
await generator.send(visits, visits.length / 200);

const ofAnyClub = () => (clubs[Math.floor(random() * clubs.length)] as BusyClub).nextRequest();
const trial = (seconds: number, next = ofAnyClub): Trial => ({ generator, next, seconds });
const edited = (request: Request, part: RegExp, replacement: string) =>
  Buffer.from(Buffer.from(request).toString('latin1').replace(part, replacement), 'latin1');
/** The highest rate that the service sustains, in requests per second. */
let knee = 0;
const sentences: string[] = [
  isApart ? 'service on a processor of its own' : 'all on the same processors',
  `${maxConnections} connections`,
];

if (!isWhole) {
  t.test(
    'a flood is served or rejected, health responds, and afterwards the service is normal',
    async (t) => {
      await generator.connect(ofAnyClub());
      const [{ offered, faults, unanswered }] = await Promise.all([
        drive(trial(1), 2_400),
        watchHealth(adminUrl, 1),
      ]);
      t.ok(offered > 2_000);
      t.same({ faults, unanswered }, { faults: 0, unanswered: 0 });
      const deadline = Date.now() + 120_000;
      let refused = Number.POSITIVE_INFINITY;
      while (refused > 0 && Date.now() < deadline) {
        refused = (await drive(trial(1), 20)).refusedMs.length;
      }
      t.equal(refused, 0, 'a second without a refusal follows');
      t.same(testbed.service.crashes, []);
    },
  );
} else {
  t.test('the service sustains a rate', async (t) => {
    knee = await findKnee(trial(SECONDS));
    sentences.push(`knee ${Math.round(knee)}/s`);
    t.ok(knee > 0);
  });

  for (const [times, floor] of [
    [2, 0.7],
    [5, 0.5],
    [10, 0],
  ] as const) {
    t.test(`at ${times} times the knee at least ${floor * 100} % of its capacity are served`, async (t) => {
      const connect = () => generator.connect(ofAnyClub());
      const outcome = await flood({ ...trial(SECONDS), url: adminUrl, knee, times, connect });
      const { offered, unsent, goodput, borne, refusedP99Ms, faults, unanswered, healthMs, normalMs } =
        outcome;
      const share = mean(goodput) / mean(borne);
      sentences.push(`${times}x ${Math.round(share * 100)} %`);
      t.comment(
        `${times}x: offered ${offered}, unsent ${unsent}, goodput ${goodput.map(Math.round)}/s (${borne.map(Math.round)} at the knee), refused within ${Math.round(refusedP99Ms)} ms (p99), ` +
          `health within ${Math.round(healthMs)} ms, normal after ${Math.round(normalMs)} ms`,
      );
      t.ok(share >= floor, `goodput ${share}`);
      t.ok(normalMs <= 2_000, `normal after ${normalMs} ms`);
      t.ok(healthMs <= 1_000, `health within ${healthMs} ms, on the metrics port`);
      t.same({ faults, unanswered }, { faults: 0, unanswered: 0 });
      t.same(testbed.service.crashes, []);
    });
  }

  t.test('beside a club that sends ten times the knee, a quiet club has a p99 below 300 ms', async (t) => {
    const [quiet, loud] = await Promise.all([
      makeBusyClub(testbed, 'quiet', MEMBERS),
      makeBusyClub(testbed, 'loud', MEMBERS),
    ]);
    generator.close();
    await generator.send([...quiet.visits, ...loud.visits], 2);
    await generator.connect(loud.nextRequest());
    await untilNormal(trial(1, loud.nextRequest));
    const { alone, busy, flooded, refused, lost } = await compare({
      ...trial(SECONDS, loud.nextRequest),
      url,
      quiet,
      knee,
    });
    t.comment(`quiet club: p99 alone ${alone} ms, beside the knee ${busy} ms, flooded ${flooded} ms`);
    t.same({ refused, lost }, { refused: 0, lost: 0 }, 'every request of the quiet club is served');
    sentences.push(`quiet club p99 ${Math.round(flooded)} ms`);
    t.ok(flooded <= 300, `${flooded} ms`);
  });

  t.test(
    'what a club takes from another one by twice the connections that are allowed is measured',
    async (t) => {
      const [quiet, greedy] = await Promise.all([
        makeBusyClub(testbed, 'beside-greedy', MEMBERS),
        makeBusyClub(testbed, 'greedy', MEMBERS),
      ]);
      generator.close();
      await generator.send([...quiet.visits, ...greedy.visits], 2);
      generator.close();
      const all = new Generator(url, 2 * maxConnections);
      const { sent, flooded, refused, lost } = await compareBeside(10 * knee, {
        ...trial(SECONDS, greedy.nextRequest),
        generator: all,
        url,
        quiet,
        knee,
      });
      all.close();
      sentences.push(
        `beside twice the connections p99 ${Math.round(flooded)} ms, ${Math.round((lost / sent) * 100)} % lost`,
      );
      t.equal(refused, 0);
      await untilNormal(trial(1));
    },
  );

  t.test(
    'idle connections up to the limit block others, while health on the metrics port responds',
    async (t) => {
      generator.close();
      const silent = await connectSilently(url, maxConnections);
      const late = await connectSilently(url, 1);
      const [healthMs] = await Promise.all([watchHealth(adminUrl, SECONDS), late[0]?.closed]);
      t.ok(healthMs <= 1_000, `health within ${healthMs} ms`);
      const freedMs = await Promise.all(silent.map(({ closed }) => closed));
      sentences.push(`silent connections closed within ${Math.round(Math.max(...freedMs) / 1_000)} s`);
      t.ok(Math.max(...freedMs) < 25_000);
      await untilNormal(trial(1));
    },
  );

  const withoutToken = (request: Request) => edited(request, /authorization: .*\r\n/, '');
  const withForgedToken = (request: Request) =>
    edited(request, /.{20}\r\nx-tenant-id/, `${'A'.repeat(20)}\r\nx-tenant-id`);
  for (const [what, forge, times] of [
    ['without a token', withoutToken, 1],
    ['without a token', withoutToken, 2],
    ['with a forged token', withForgedToken, 1],
  ] as const) {
    t.test(`the latency beside ${times} times the knee ${what} is measured`, async (t) => {
      const quiet = await makeBusyClub(testbed, `beside-${sentences.length}`, MEMBERS);
      const requests = Array.from({ length: 1_000 }, () => forge(quiet.nextRequest()));
      await generator.send(quiet.visits, 2);
      const next = () => requests[Math.floor(random() * requests.length)] as Request;
      const { alone, flooded, refused, lost } = await compareBeside(knee * times, {
        ...trial(SECONDS, next),
        url,
        quiet,
        knee,
      });
      sentences.push(
        `beside ${times}x ${what} p99 ${Math.round(flooded)} ms (alone ${Math.round(alone)} ms), ${lost} lost`,
      );
      t.equal(refused, 0);
    });
  }
}

t.test('the summary', async (t) => {
  const line = `load: ${sentences.join(', ')}`;
  t.comment(line);
  mkdirSync('.tap', { recursive: true });
  writeFileSync('.tap/load.txt', `${line}\n`);
});
