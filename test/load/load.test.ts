import { mkdirSync, writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { compare } from './fairness.js';
import { flood } from './flood.js';
import { Generator } from './generator.js';
import { layGround } from './ground.js';
import { type BusyClub, makeBusyClub } from './habits.js';
import { canPlace, placeOnFirst, placeOnOthers } from './processors.js';
import { rush } from './rush.js';
import { mean } from './sums.js';
import { drive, findKnee, type Trial, untilNormal, watchHealth } from './trials.js';

// `make load` measures. In `make test`, where nothing is timed, the same load has to be answered without a fault.
const isWhole = process.env.LOAD === 'whole';
t.setTimeout(1_800_000);
/** How long a rate is driven that is judged. */
const SECONDS = 15;
/** How many members a club has. */
const MEMBERS = isWhole ? 200 : 20;

// The service has a processor to itself, and PostgreSQL shares the others with the generator.
const isApart = isWhole && canPlace;
if (isApart) {
  placeOnOthers(process.pid);
}
const ground = await layGround(t);
if (isApart) {
  placeOnFirst(ground.service.pid);
}
const { url } = ground.service;
const clubs: BusyClub[] = [];
for (let number = 0; number < (isWhole ? 10 : 3); number += 1) {
  clubs.push(await makeBusyClub(ground, `club-${number}`, MEMBERS));
}
const generator = new Generator(url);
t.teardown(() => generator.close());
// Nobody is new when it counts.
const visits = clubs.flatMap((club) => club.visits);
await generator.send(visits, visits.length / 200);

const ofAnyClub = () => (clubs[Math.floor(Math.random() * clubs.length)] as BusyClub).draw();
const trial = (seconds: number, next = ofAnyClub): Trial => ({ generator, next, seconds });
const sentences: string[] = [isApart ? 'service on a processor of its own' : 'all on the same processors'];

t.test(
  'of a thousand members at a shift of fifty places in one second, fifty are in and all others hear why not',
  async (t) => {
    const [members, places] = isWhole ? [1_000, 50] : [300, 50];
    const counts = await rush(ground, generator, members, places);
    t.same(counts, { 201: places, 409: members - places });
    sentences.push(`rush ${counts[201]} x 201 and ${counts[409]} x 409`);
  },
);

if (!isWhole) {
  t.test('a flood is answered or refused, health answers, and afterwards all is as before', async (t) => {
    const [{ offered, faults, unanswered }] = await Promise.all([
      drive(trial(1), 2_400),
      watchHealth(url, 1),
    ]);
    t.ok(offered > 2_000);
    t.same({ faults, unanswered }, { faults: 0, unanswered: 0 });
    await untilNormal(trial(1));
    const { refusedMs } = await drive(trial(1), 20);
    t.same(refusedMs, []);
    t.same(ground.service.crashes, []);
  });
} else {
  let knee = 0;
  t.test('there is a rate that it keeps up with', async (t) => {
    knee = await findKnee(trial(SECONDS));
    sentences.push(`knee ${Math.round(knee)}/s`);
    t.ok(knee > 0);
  });

  // Node.js accepts one connection in each round of its event loop, so in a flood who connects waits for that, whatever
  // becomes of the request. That is a trial of its own.
  for (const [times, least, who] of [
    [2, 0.8, 'who is connected'],
    [5, 0.5, 'who is connected'],
    [10, 0, 'who is connected'],
    [5, 0, 'who connects first'],
  ] as const) {
    t.test(
      `at ${times} times the knee at least ${least * 100} % of what it bears are answered, and ${who} hears so`,
      async (t) => {
        const connect = async () =>
          who === 'who is connected' ? generator.connect(ofAnyClub()) : generator.close();
        const outcome = await flood({ ...trial(SECONDS), url, knee, times, connect });
        const { offered, unsent, goodput, borne, refusedP99Ms, faults, unanswered, healthMs, normalMs } =
          outcome;
        const share = mean(goodput) / mean(borne);
        const name = `${times}x${who === 'who is connected' ? '' : ' connecting first'}`;
        sentences.push(`${name} ${Math.round(share * 100)} %`);
        t.comment(
          `${name}: offered ${offered}, unsent ${unsent}, goodput ${goodput.map(Math.round)}/s (${borne.map(Math.round)} at the knee), refused within ${Math.round(refusedP99Ms)} ms (p99), ` +
            `health within ${Math.round(healthMs)} ms, normal after ${Math.round(normalMs)} ms`,
        );
        t.ok(share >= least, `goodput ${share}`);
        t.ok(normalMs <= 2_000, `normal after ${normalMs} ms`);
        t.ok(who === 'who connects first' || refusedP99Ms <= 1_000, `refused within ${refusedP99Ms} ms`);
        t.same({ faults, unanswered }, { faults: 0, unanswered: 0 });
        t.same(ground.service.crashes, []);
      },
    );
  }

  // Connections that a club's clients open themselves are left unread while the club asks for too much. What comes
  // through a proxy is not, because whose request is next on the connection is not known.
  const fairness = async (t: Test, way: string, added?: string) => {
    const [quiet, loud] = await Promise.all([
      makeBusyClub(ground, `quiet${way.replaceAll(' ', '-')}`, MEMBERS, added),
      makeBusyClub(ground, `loud${way.replaceAll(' ', '-')}`, MEMBERS, added),
    ]);
    generator.close();
    await generator.send([...quiet.visits, ...loud.visits], 2);
    await generator.connect(loud.draw());
    await untilNormal(trial(1, loud.draw));
    const { alone, busy, flooded, refused } = await compare({
      ...trial(SECONDS, loud.draw),
      url,
      quiet,
      knee,
    });
    t.comment(`fairness${way}: p99 alone ${alone}, busy ${busy}, flooded ${flooded}`);
    t.equal(refused, 0, 'nobody of the quiet club is refused');
    const ratio = flooded / busy;
    sentences.push(`fairness${way} ${ratio.toFixed(2)}`);
    return ratio;
  };
  t.test('a club at ten times the knee leaves another as quick as when all are busy', async (t) => {
    const ratio = await fairness(t, '');
    t.ok(ratio <= 1.5, `${ratio}`);
  });
  t.test('behind a proxy a club at ten times the knee keeps nobody of another from being served', (t) =>
    fairness(t, ' behind a proxy', 'x-forwarded-for: 192.0.2.1\r\n'),
  );
}

t.test('the sums', async (t) => {
  const line = `load: ${sentences.join(', ')}`;
  t.comment(line);
  mkdirSync('.tap', { recursive: true });
  writeFileSync('.tap/load.txt', `${line}\n`);
});
