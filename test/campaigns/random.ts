/** Random numbers that another run can draw again. */

/**
 * SEED, or 1 in a short run, so that it tests the same each time; a whole campaign draws a new one and prints it. make passes an unset
 * variable as an empty string.
 */
export function seedOf(isWhole: boolean): number {
  return Number(process.env.SEED || (isWhole ? Math.floor(Math.random() * 1_000_000) : 1));
}

/** Pseudorandom numbers by a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
