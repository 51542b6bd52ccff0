import { appendFileSync, mkdirSync } from 'node:fs';
import type { Test } from 'tap';
import { randomOf, seedOf } from '../random.js';

/** In `make campaigns` a suite of attacks is short; `make attack` runs all of it. */
export const isWhole = process.env.ATTACK === 'whole';

/** What random requests, samples and times are drawn by. */
export const SEED = seedOf(isWhole);

/** The attempts of a suite of attacks, and its findings. */
export class Tally {
  tried = 0;
  /** Attempts with a forbidden success. */
  readonly succeeded: string[] = [];
  /** Attempts with a 5xx or without a response. */
  readonly serverErrors: string[] = [];
  /** Secrets or another club's data in a response or the log. */
  readonly leaks: string[] = [];
}

/** In the short run one of this many is tried, chosen by the seed. */
export function someOf<Item>(items: readonly Item[], share: number): Item[] {
  const random = randomOf(SEED);
  return isWhole ? [...items] : items.filter(() => random() * share < 1);
}

const MOST_SHOWN = 10;

/**
 * Runs a suite of attacks and asserts at least this many attempts, none of them successful.
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
  const { tried, succeeded, serverErrors, leaks } = tally;
  t.comment(`attacks on ${suite}: ${sumsOf(tally)}`);
  if (isWhole) {
    t.comment(`attack seed: ${SEED}`);
  }
  noteSums(tally);
  t.same(succeeded.slice(0, MOST_SHOWN), [], 'no attack succeeded');
  t.same(serverErrors.slice(0, MOST_SHOWN), [], 'no server error');
  t.same(leaks.slice(0, MOST_SHOWN), [], 'no leak');
  t.ok(tried >= atLeast, `${tried} attempts, and at least ${atLeast}`);
}

/** Adds the counts to those that `make attack` sums up. */
export function noteSums(tally: Tally): void {
  mkdirSync('.tap', { recursive: true });
  appendFileSync('.tap/attacks.txt', `${sumsOf(tally)}\n`);
}

function sumsOf({ tried, succeeded, serverErrors, leaks }: Tally): string {
  return `${tried} tried, ${succeeded.length} succeeded, ${serverErrors.length} server errors, ${leaks.length} leaks`;
}
