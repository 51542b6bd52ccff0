/** Divides the number of rows and clubs, for work on the benchmark itself: SCALE=100 has a hundredth of them. */
const scale = Number(process.env.SCALE || 1);
/** The parts to measure, separated by commas: workloads, growth, memory, signup-rush, batch, events. */
const only = process.env.ONLY?.split(',').filter((name) => name !== '') ?? [];
const isQuick = ![undefined, '', '0'].includes(process.env.QUICK);

/** The amount and duration of the measurements. */
export const plan = {
  isQuick,
  isWhole: !isQuick && scale === 1 && only.length === 0,
  /** The least number of counted rounds: each measures every contender once. */
  rounds: isQuick ? 4 : 7,
  measurementMs: isQuick ? 900 : 2_500,
  warmUpMs: isQuick ? 500 : 2_000,
  connections: 32,
  /** A measurement in which other processes had more than this share of the processors is repeated, up to this many times. */
  disturbedShare: 0.1,
  repeats: isQuick ? 1 : 3,
  /** After this time nothing is measured again, so the run ends on a busy machine too. */
  repeatsEndMs: isQuick ? 270_000 : 5_400_000,
  /** The pool sizes that each rival is tried with. */
  pools: isQuick ? [4, 6, 10] : [4, 5, 6, 8, 10],
  /** The duration of the memory measurement; zero in a quick run. */
  memoryMs: isQuick ? 0 : 600_000,
  tasks: 1_000_000 / scale,
  shifts: 200_000 / scale,
  clubs: 1_000 / scale,
  /** The number of members of a club in the database of many clubs. */
  members: 20 * scale,
  /** The number of tokens: enough that none reaches the default rate limit. */
  callers: 2_000,
  /** The workload to profile; undefined to measure. */
  profile: process.env.PROFILE || undefined,
};

/** Whether this run measures a part. */
export const isSelected = (part: string): boolean => only.length === 0 || only.includes(part);
