import { isUnknown, type Operation } from '../history.js';

/** A span of time, and whether the member can have been signed up during it, or cannot but have been. */
export interface Span {
  from: number;
  to: number;
  isPossible: boolean;
  isCertain: boolean;
}

/** What an answer means: what must have been before, what is after. */
const MEANINGS: Record<string, { before: State[]; after: State } | undefined> = {
  'sign up 201': { before: ['out', 'in'], after: 'in' },
  'sign up already_signed_up': { before: ['in'], after: 'in' },
  'sign up shift_full': { before: ['out'], after: 'out' },
  'cancel 204': { before: ['in'], after: 'out' },
  'cancel signup_not_found': { before: ['out'], after: 'out' },
};

type State = 'in' | 'out';

/** How things may stand: the state, and how many requests of unknown outcome may still take effect. */
interface Stand {
  state: State;
  signups: number;
  cancels: number;
}

/** What can be known of one member and one shift, whose requests came one after another. */
export interface Membership {
  spans: Span[];
  /** The first answer that nothing can explain, and what must have been. */
  contradiction: Operation | undefined;
  /** Whether the end may have been so. */
  mayEnd(state: State): boolean;
}

/** Follows every way in which it can have gone; a request of unknown outcome may take effect at any later time. */
export function followMember(operations: Operation[]): Membership {
  let stands = unfold([{ state: 'out', signups: 0, cancels: 0 }]);
  const spans: Span[] = [];
  let contradiction: Operation | undefined;
  let time = Number.NEGATIVE_INFINITY;
  const span = (to: number, all: Stand[]) => {
    const isPossible = all.some(({ state }) => state === 'in');
    spans.push({ from: time, to, isPossible, isCertain: all.every(({ state }) => state === 'in') });
    time = to;
  };
  for (const operation of operations) {
    span(operation.called, stands);
    const during = stands;
    if (isUnknown(operation)) {
      const isSignup = operation.kind === 'sign up';
      stands = unfold(
        stands.map((stand) => ({
          ...stand,
          signups: stand.signups + (isSignup ? 1 : 0),
          cancels: stand.cancels + (isSignup ? 0 : 1),
        })),
      );
    } else {
      const meaning = meaningOf(operation);
      const fitting = meaning ? stands.filter(({ state }) => meaning.before.includes(state)) : stands;
      if (fitting.length === 0) {
        contradiction ??= operation;
      }
      stands = unfold(
        (fitting.length === 0 ? stands : fitting).map((stand) => ({
          ...stand,
          state: meaning?.after ?? stand.state,
        })),
      );
    }
    span(operation.returned, [...during, ...stands]);
  }
  span(Number.POSITIVE_INFINITY, stands);
  return { spans, contradiction, mayEnd: (state) => stands.some((stand) => stand.state === state) };
}

function meaningOf({ kind, status, code, key }: Operation) {
  const meaning = MEANINGS[`${kind} ${code ?? status}`];
  // With a key the answer may be the one of an attempt whose own answer was lost.
  return meaning && kind === 'sign up' && status === 201 && key === undefined
    ? { ...meaning, before: ['out' as const] }
    : meaning;
}

/** The stands, and all that may come of them while nothing is heard. */
function unfold(stands: Stand[]): Stand[] {
  const all = new Map<string, Stand>();
  const visit = (stand: Stand): void => {
    const name = `${stand.state} ${stand.signups} ${stand.cancels}`;
    if (all.has(name)) {
      return;
    }
    all.set(name, stand);
    if (stand.state === 'out' && stand.signups > 0) {
      visit({ ...stand, state: 'in', signups: stand.signups - 1 });
    }
    if (stand.state === 'in' && stand.cancels > 0) {
      visit({ ...stand, state: 'out', cancels: stand.cancels - 1 });
    }
  };
  for (const stand of stands) {
    visit(stand);
  }
  return [...all.values()];
}
