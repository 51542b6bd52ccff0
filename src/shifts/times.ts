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

/** Compares to the microsecond: the last digits decide when the milliseconds equal the maximum. */
function isWithinMaximum(start: string, end: string): boolean {
  const excessMs = Date.parse(end) - Date.parse(start) - MAX_PERIOD_MS;
  return excessMs < 0 || (excessMs === 0 && end.slice(-4) <= start.slice(-4));
}
