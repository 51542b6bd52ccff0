import { quantile } from './sums.js';
import { drive, type Trial, untilNormal, watchHealth } from './trials.js';

/** A rate that the service does not bear, and for how long it is driven at a time. */
export interface Flood extends Trial {
  url: string;
  /** In requests a second. */
  knee: number;
  /** How many times the knee is asked for. */
  times: number;
  /** Makes the connections as they are to be when the flood begins. */
  connect: () => Promise<void>;
}

/** What became of a flood, all rounds of it taken together; times are in milliseconds. */
export interface Outcome {
  offered: number;
  /** Requests for which there was no connection. */
  unsent: number;
  /** Requests a second that were answered in time in each round, and at the knee before each and after the last. */
  goodput: number[];
  borne: number[];
  refusedP99Ms: number;
  faults: number;
  unanswered: number;
  /** How late health was answered at worst, and how long it took at worst until all was as before. */
  healthMs: number;
  normalMs: number;
}

/** Floods the service in turns with what it bears, several times, because the machine is not equally fast all the time. */
export async function flood({ url, knee, times, connect, ...trial }: Flood): Promise<Outcome> {
  const atKnee = async () => (await drive({ ...trial, seconds: trial.seconds / 3 }, knee)).goodput;
  const round = async () => {
    const borne = await atKnee();
    await connect();
    const [sums, healthMs] = await Promise.all([drive(trial, knee * times), watchHealth(url, trial.seconds)]);
    return { ...sums, borne, healthMs, normalMs: sums.lastMs + (await untilNormal(trial)) };
  };
  const rounds = [await round(), await round(), await round()];
  const sumOf = (what: 'offered' | 'unsent' | 'faults' | 'unanswered') =>
    rounds.reduce((sum, round) => sum + round[what], 0);
  return {
    offered: sumOf('offered'),
    unsent: sumOf('unsent'),
    goodput: rounds.map(({ goodput }) => goodput),
    borne: [...rounds.map(({ borne }) => borne), await atKnee()],
    refusedP99Ms: quantile(
      rounds.flatMap(({ refusedMs }) => refusedMs),
      0.99,
    ),
    faults: sumOf('faults'),
    unanswered: sumOf('unanswered'),
    healthMs: Math.max(...rounds.map(({ healthMs }) => healthMs)),
    normalMs: Math.max(...rounds.map(({ normalMs }) => normalMs)),
  };
}
