import { toInstant } from './instant.js';
import type { Rule } from './schemas.js';

/** The window of a list, between two moments. */
export const window: Rule = {
  holds: ({ from, to }) => {
    const [start, end] = [instantOf(from), instantOf(to)];
    return start === null || end === null || start <= end;
  },
  pointer: '/to',
  detail: 'This must not be before `from`.',
};

/** A time of a request, in UTC; null when it is absent or invalid, which is reported at its own field. */
export function instantOf(time: unknown): string | null {
  return typeof time === 'string' ? toInstant(time) : null;
}
