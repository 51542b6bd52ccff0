import { isUnknown, type Operation } from '../history.js';

/** A time span, and whether the member was possibly or certainly signed up during it. */
export interface Span {
  from: number;
  to: number;
  isPossible: boolean;
  isCertain: boolean;
}

/** The possible states before a response, and the state after it. */
const MEANINGS: Record<string, { before: State[]; after: State } | undefined> = {
  'sign up 201': { before: ['out', 'in'], after: 'in' },
  'sign up already_signed_up': { before: ['in'], after: 'in' },
  'sign up shift_full': { before: ['out'], after: 'out' },
  'cancel 204': { before: ['in'], after: 'out' },
  'cancel signup_not_found': { before: ['out'], after: 'out' },
  'read signup 200': { before: ['in'], after: 'in' },
  'read signup signup_not_found': { before: ['out'], after: 'out' },
};

type State = 'in' | 'out';

/** A possible state, with the number of unknown requests that may still take effect. */
interface Possibility {
  state: State;
  signups: number;
  cancels: number;
}

/** The knowledge about one member and one shift, from sequential requests. */
export interface Membership {
  spans: Span[];
  /** The first response that no possible state explains. */
  contradiction: Operation | undefined;
  /** Whether this final state is possible. */
  mayEnd(state: State): boolean;
}

/** Follows all possible states; a request with an unknown outcome may take effect at any later time. */
export function followMember(operations: Operation[]): Membership {
  let possibilities = unfold([{ state: 'out', signups: 0, cancels: 0 }]);
  const spans: Span[] = [];
  let contradiction: Operation | undefined;
  let time = Number.NEGATIVE_INFINITY;
  const span = (to: number, all: Possibility[]) => {
    const isPossible = all.some(({ state }) => state === 'in');
    spans.push({ from: time, to, isPossible, isCertain: all.every(({ state }) => state === 'in') });
    time = to;
  };
  for (const operation of operations) {
    span(operation.called, possibilities);
    const during = possibilities;
    if (isUnknown(operation)) {
      const { kind } = operation;
      possibilities = unfold(
        possibilities.map((possibility) => ({
          ...possibility,
          signups: possibility.signups + (kind === 'sign up' ? 1 : 0),
          cancels: possibility.cancels + (kind === 'cancel' ? 1 : 0),
        })),
      );
    } else {
      const meaning = meaningOf(operation);
      const fitting = meaning
        ? possibilities.filter(({ state }) => meaning.before.includes(state))
        : possibilities;
      if (fitting.length === 0) {
        contradiction ??= operation;
      }
      possibilities = unfold(
        (fitting.length === 0 ? possibilities : fitting).map((possibility) => ({
          ...possibility,
          state: meaning?.after ?? possibility.state,
        })),
      );
    }
    span(operation.returned, [...during, ...possibilities]);
  }
  span(Number.POSITIVE_INFINITY, possibilities);
  return {
    spans,
    contradiction,
    mayEnd: (state) => possibilities.some((possibility) => possibility.state === state),
  };
}

function meaningOf({ kind, status, code, key }: Operation) {
  const meaning = MEANINGS[`${kind} ${code ?? status}`];
  // With a key the response may belong to an earlier attempt whose response was lost.
  return meaning && kind === 'sign up' && status === 201 && key === undefined
    ? { ...meaning, before: ['out' as const] }
    : meaning;
}

/** These states, and all that follow when unknown requests take effect. */
function unfold(possibilities: Possibility[]): Possibility[] {
  const all = new Map<string, Possibility>();
  const visit = (possibility: Possibility): void => {
    const name = `${possibility.state} ${possibility.signups} ${possibility.cancels}`;
    if (all.has(name)) {
      return;
    }
    all.set(name, possibility);
    if (possibility.state === 'out' && possibility.signups > 0) {
      visit({ ...possibility, state: 'in', signups: possibility.signups - 1 });
    }
    if (possibility.state === 'in' && possibility.cancels > 0) {
      visit({ ...possibility, state: 'out', cancels: possibility.cancels - 1 });
    }
  };
  for (const possibility of possibilities) {
    visit(possibility);
  }
  return [...all.values()];
}
