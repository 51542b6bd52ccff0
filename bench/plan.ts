import { fileURLToPath } from 'node:url';

/** The root of the project: what is compiled lies in dist/bench/bench. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A smaller stage, for whoever works on the bench itself: SCALE=100 has a hundredth of the rows and clubs. */
const scale = Number(process.env.SCALE || 1);
/** Some of it, comma between: workloads, growth, memory, signup-rush. */
const only = process.env.ONLY?.split(',').filter((name) => name !== '') ?? [];
const isQuick = ![undefined, '', '0'].includes(process.env.QUICK);

/** How much is measured, and for how long. */
export const plan = {
  isQuick,
  isWhole: !isQuick && scale === 1 && only.length === 0,
  /** Counted rounds: each measures every contender once. */
  rounds: isQuick ? 5 : 7,
  sliceMs: isQuick ? 900 : 2_500,
  warmUpMs: isQuick ? 500 : 2_000,
  connections: 32,
  /** A slice in which others had more than this share of the processors is measured again, this often. */
  disturbedShare: 0.1,
  repeats: isQuick ? 1 : 3,
  /** From then on nothing is measured again, so that a busy machine does not make the run endless. */
  repeatsEndMs: isQuick ? 270_000 : 5_400_000,
  /** Pools that each rival is tried with. */
  pools: isQuick ? [4, 6, 10] : [4, 5, 6, 8, 10],
  /** How long resident memory is watched; not at all in a quick run. */
  memoryMs: isQuick ? 0 : 600_000,
  tasks: 1_000_000 / scale,
  shifts: 200_000 / scale,
  clubs: 1_000 / scale,
  /** Members of a club in the database of many clubs. */
  members: 20 * scale,
  /** Distinct tokens, so that none comes near the rate limit that the service ships with. */
  callers: 2_000,
  /** Where Node's own profile of the service goes; undefined for none. */
  profile: ![undefined, '', '0'].includes(process.env.PROFILE),
};

/** Whether a part is to be measured in this run. */
export const isAsked = (part: string): boolean => only.length === 0 || only.includes(part);
