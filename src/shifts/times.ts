import type { Rule } from '../validation/schemas.js';
import { instantOf } from '../validation/window.js';

const MAX_PERIOD_MS = 31 * 24 * 60 * 60_000;

/** The time of a shift. */
export const period: Rule = {
  holds: ({ startsAt, endsAt }) => {
    const [start, end] = [instantOf(startsAt), instantOf(endsAt)];
    return start === null || end === null || (end > start && isWithinMaximum(start, end));
  },
  pointer: '/endsAt',
  detail: 'This must be after `startsAt`, by 31 days at most.',
};

/** The limits of signing up and of cancelling, by their fields. Null: there is no such limit. */
export type SignupWindow = Record<'signupOpensAt' | 'signupClosesAt' | 'cancelUntil', string | null>;

/** A rule of these limits, and those that it compares. */
interface LimitRule extends Rule {
  limits: (keyof SignupWindow)[];
}

/** The order of these limits and the start. */
export const signupWindow: LimitRule[] = [
  {
    limits: ['signupOpensAt'],
    holds: ({ signupOpensAt, startsAt }) => isInOrder(signupOpensAt, startsAt, { isEqualAllowed: false }),
    pointer: '/signupOpensAt',
    detail: 'This must be before `startsAt`.',
  },
  {
    limits: ['signupOpensAt', 'signupClosesAt'],
    holds: ({ signupOpensAt, signupClosesAt, startsAt }) =>
      isInOrder(signupOpensAt, signupClosesAt, { isEqualAllowed: false }) &&
      isInOrder(signupClosesAt, startsAt, { isEqualAllowed: true }),
    pointer: '/signupClosesAt',
    detail: 'This must be after `signupOpensAt`, and not after `startsAt`.',
  },
  {
    limits: ['cancelUntil'],
    holds: ({ cancelUntil, startsAt }) => isInOrder(cancelUntil, startsAt, { isEqualAllowed: true }),
    pointer: '/cancelUntil',
    detail: 'This must not be after `startsAt`.',
  },
];

/** Whether two times are in this order; also true when one is absent or invalid. */
function isInOrder(
  first: unknown,
  second: unknown,
  { isEqualAllowed }: { isEqualAllowed: boolean },
): boolean {
  const [before, after] = [instantOf(first), instantOf(second)];
  return before === null || after === null || before < after || (isEqualAllowed && before === after);
}

/** Compares to the microsecond: the last digits decide when the milliseconds equal the maximum. */
function isWithinMaximum(start: string, end: string): boolean {
  const excessMs = Date.parse(end) - Date.parse(start) - MAX_PERIOD_MS;
  return excessMs < 0 || (excessMs === 0 && end.slice(-4) <= start.slice(-4));
}
