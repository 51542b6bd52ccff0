import { wrongResponses } from './benchmarks.js';
import { headOf, type Signer } from './callers.js';
import type { Contender } from './contenders.js';
import { clubId } from './data.js';
import { plan } from './plan.js';
import { median, type Ratio, spreadOf } from './rounds.js';
import { Wire } from './wire.js';

const SHIFTS = 366;
/** The club that has only members. */
const CLUB = clubId(plan.clubs + 1);
const SHIFT = { title: 'Training', location: 'Boathouse', capacity: 12 };
const SEASON = {
  ...{ ...SHIFT, startsAtLocal: '2031-03-25T19:00', endsAtLocal: '2031-03-25T21:00' },
  ...{ every: 'day', until: '2032-03-24' },
};
const timeOf = (day: number, hour: number) => new Date(Date.UTC(2031, 2, 25 + day, hour)).toISOString();
const singles = Array.from({ length: SHIFTS }, (_, day) =>
  postOf('/api/shifts', { ...SHIFT, startsAt: timeOf(day, 18), endsAt: timeOf(day, 20) }),
);
// Some in a row: one alone takes less than a tenth of a second.
const batches = Array.from({ length: 5 }, () => postOf('/api/shifts/batch', { repeat: SEASON }));

/**
 * Shifts per second by one request for 366, divided by those of 366 requests: one after another on one connection, and on as many
 * connections as other workloads have. All connections are open before.
 */
export async function measureBatch({ port }: Contender, signer: Signer): Promise<Ratio[]> {
  const wires = await Promise.all(Array.from({ length: plan.connections }, () => Wire.connect(port)));
  const one = wires.slice(0, 1);
  const rounds: { batch: number; sequential: number; concurrent: number }[] = [];
  let members = 0;
  const run = async (on: Wire[], posts: Post[]) => {
    // The rate limit counts members.
    members += 1;
    const token = signer.token(`coordinator-${members}`, CLUB, { clubs: { [CLUB]: 'Manager' } });
    return perSecond(on, headOf(token, CLUB), posts);
  };
  // The first round is the warm-up.
  for (let round = 0; round <= plan.rounds; round += 1) {
    const figures = {
      batch: (await run(one, batches)) * SHIFTS,
      sequential: await run(one, singles),
      concurrent: await run(wires, singles),
    };
    rounds.push(...(round > 0 ? [figures] : []));
  }
  for (const wire of wires) {
    wire.close();
  }
  const ratioTo = (side: 'sequential' | 'concurrent'): Ratio => ({
    workload: 'shifts-batch',
    against: `${side}-single-requests`,
    ...spreadOf(rounds.map((figures) => figures.batch / figures[side])),
    figures: [figuresOf(rounds.map((each) => each.batch)), figuresOf(rounds.map((each) => each[side]))],
  });
  return [ratioTo('sequential'), ratioTo('concurrent')];
}

type Post = (head: string) => string;

function postOf(path: string, body: object): Post {
  const text = JSON.stringify(body);
  return (head) =>
    `POST ${path} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}

/** Posts per second, each connection sending the next after its response. */
async function perSecond(wires: Wire[], head: string, posts: Post[]): Promise<number> {
  const send = async (wire: Wire, post: Post) => {
    const { status, body } = await wire.request(post(head));
    if (status !== 201) {
      wrongResponses.push(`shifts-batch: ${status} ${body.slice(0, 200)}`);
    }
  };
  // The first request of a member also writes the member.
  await send(wires[0] as Wire, singles[0] as Post);
  const rest = [...posts];
  const started = performance.now();
  const drive = async (wire: Wire) => {
    for (let post = rest.pop(); post !== undefined; post = rest.pop()) {
      await send(wire, post);
    }
  };
  await Promise.all(wires.map(drive));
  return (posts.length / (performance.now() - started)) * 1_000;
}

const figuresOf = (shiftsPerSecond: number[]) => ({
  ...{ perSecond: median(shiftsPerSecond), p50Ms: Number.NaN, p95Ms: Number.NaN, p99Ms: Number.NaN },
});
