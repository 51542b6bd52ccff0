import { quantile } from './sums.js';
import { drive, type Trial, untilNormal, watchHealth } from './trials.js';

/** A rate above the capacity of the service, and the duration of each drive. */
export interface Flood extends Trial {
  url: string;
  /** In requests per second. */
  knee: number;
  /** The rate as a multiple of the knee. */
  times: number;
  /** Prepares the connections for the flood. */
  connect: () => Promise<void>;
}

/** The results of all rounds of a flood; times are in milliseconds. */
export interface Outcome {
  offered: number;
  /** Requests without a free connection. */
  unsent: number;
  /** Requests per second that were answered in time in each round, and at the knee before each and after the last. */
  goodput: number[];
  borne: number[];
  refusedP99Ms: number;
  faults: number;
  unanswered: number;
  /** The worst latency of health, and the longest time until the service was normal again. */
  healthMs: number;
  normalMs: number;
}

/** Alternates floods and drives at the knee, several times, because the speed of the machine varies. */
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
