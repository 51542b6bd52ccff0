/** The result of a rank test of two samples. */
export interface Ranks {
  /**
   * How often a value of the first sample is above one of the second, ties counted half: 0.5 when the samples
   * cannot be distinguished. It is the area under the ROC curve (AUC) of guessing the sample from the value.
   */
  auc: number;
  /** The standard deviation of that figure under the null hypothesis. */
  deviation: number;
}

/**
 * The test of Mann and Whitney, two-sided: U as an effect size, U / (n · m), and its deviation under the null
 * hypothesis, corrected for ties.
 *
 * H. B. Mann, D. R. Whitney: On a Test of Whether one of Two Random Variables is Stochastically Larger than the
 * Other. Annals of Mathematical Statistics 18 (1947), 50–60. The effect size is by A. Vargha, H. D. Delaney:
 * A Critique and Improvement of the CL Common Language Effect Size Statistics. Journal of Educational and
 * Behavioral Statistics 25 (2000), 101–132.
 */
export function rank(first: readonly number[], second: readonly number[]): Ranks {
  const [n, m] = [first.length, second.length];
  const values = [
    ...first.map((value) => ({ value, own: 1 })),
    ...second.map((value) => ({ value, own: 0 })),
  ];
  values.sort((one, other) => one.value - other.value);
  let sumOfRanks = 0;
  let ties = 0;
  for (let from = 0; from < values.length; ) {
    let to = from;
    let own = 0;
    for (; values[to]?.value === values[from]?.value && to < values.length; to += 1) {
      own += values[to]?.own ?? 0;
    }
    const size = to - from;
    // Equal values share the mean of their ranks, which count from 1.
    sumOfRanks += own * ((from + 1 + to) / 2);
    ties += size ** 3 - size;
    from = to;
  }
  const u = sumOfRanks - (n * (n + 1)) / 2;
  const all = n + m;
  const variance = ((n * m) / 12) * (all + 1 - ties / (all * (all - 1)));
  return { auc: u / (n * m), deviation: Math.sqrt(variance) / (n * m) };
}

/**
 * The criterion is how well time distinguishes the two kinds: of two responses, one of each kind, the slower one must be
 * the foreign one in 47 to 53 of 100 cases, where 50 is chance. A p value is not used, because it says how certain it
 * is that there is any difference: with enough samples the smallest drift of a shared machine is "significant",
 * and one run in twenty is so by chance alone.
 */
const EFFECT = 0.03;
/** Few samples scatter more than that. Chance exceeds five deviations once in a million times. */
const CHANCE = 5;

/** How far the two can be distinguished by time, with a sentence; 0 within the bound. */
export function apart(first: readonly number[], second: readonly number[]): { by: number; summary: string } {
  const { auc, deviation } = rank(first, second);
  const bound = Math.max(EFFECT, CHANCE * deviation);
  const by = Math.abs(auc - 0.5) > bound ? auc - 0.5 : 0;
  return { by, summary: `AUC ${auc.toFixed(4)}, within 0.5 ± ${bound.toFixed(3)}` };
}
