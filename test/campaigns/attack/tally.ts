import { appendFileSync, mkdirSync } from 'node:fs';
import tap, { type Test } from 'tap';

/** In `make test` a suite of attacks is short; `make attack` runs the whole of it. */
export const isWhole = process.env.ATTACK === 'whole';

// A suite as a whole takes what it takes; without this a slow machine would cut it off after three minutes.
if (isWhole) {
  tap.setTimeout(1_800_000);
}

/** What a suite of attacks tried, and what it found. */
export class Tally {
  tried = 0;
  /** Attempts that got what they must not get. */
  readonly through: string[] = [];
  /** Attempts that were answered with a 5xx, or with nothing. */
  readonly serverErrors: string[] = [];
  /** Secrets, or another club's data, where they must not be. */
  readonly leaks: string[] = [];
}

/** In the short form one of so many is tried, each time others. */
export function someOf<Item>(items: readonly Item[], share: number): Item[] {
  const turn = Math.floor(Math.random() * share);
  return isWhole ? [...items] : items.filter((_, index) => index % share === turn);
}

const MOST_SHOWN = 10;

/**
 * Runs a suite of attacks and judges it: at least so many attempts, and none of them got anything.
 *
 * @param suite words that complete "attacks on", such as `tokens`
 */
export async function attack(
  t: Test,
  suite: string,
  atLeast: number,
  run: (tally: Tally) => Promise<void>,
): Promise<void> {
  const tally = new Tally();
  await run(tally);
  const { tried, through, serverErrors, leaks } = tally;
  const sums = `${tried} tried, ${through.length} through, ${serverErrors.length} server errors, ${leaks.length} leaks`;
  t.comment(`attacks on ${suite}: ${sums}`);
  mkdirSync('.tap', { recursive: true });
  // For `make attack`, which sums them up.
  appendFileSync('.tap/attacks.txt', `${sums}\n`);
  t.same(through.slice(0, MOST_SHOWN), [], 'nothing got through');
  t.same(serverErrors.slice(0, MOST_SHOWN), [], 'no server error');
  t.same(leaks.slice(0, MOST_SHOWN), [], 'no leak');
  t.ok(tried >= atLeast, `${tried} attempts, and at least ${atLeast}`);
}
