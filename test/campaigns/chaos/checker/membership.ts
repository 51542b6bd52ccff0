import { groupBy, isDone, isUnknown, type Operation } from '../history.js';

/** Who entered the signup of a member; undefined when there is none. */
export type State = string | undefined;

/** A time span, and whether the member was possibly or certainly signed up during it. */
export interface Span {
  from: number;
  to: number;
  isPossible: boolean;
  isCertain: boolean;
}

/** The knowledge about one member and one shift, from the requests of the member and of Managers. */
export interface Membership {
  spans: Span[];
  /** The first response that no possible state explains. */
  contradiction: Operation | undefined;
  /** Whether this final state is possible. */
  mayEnd(state: State): boolean;
}

/** What a request does, at one moment between its call and its response. */
interface Effect {
  /** The same for effects that are equal. */
  name: string;
  called: number;
  /** Infinite when the outcome is unknown: it may take effect at any later time, or never. */
  returned: number;
  by: Operation;
  /** The state after it, in a list; empty when it is impossible in this state. */
  after(state: State): State[];
}

/** A possible state, with the effects that are yet to come. */
interface Possibility {
  state: State;
  open: Effect[];
}

/** Follows all states that are possible in any order of concurrent requests. */
export function followMember(operations: Operation[]): Membership {
  let possibilities: Possibility[] = [{ state: undefined, open: [] }];
  let contradiction: Operation | undefined;
  const spans: Span[] = [];
  let from = Number.NEGATIVE_INFINITY;
  const endSpan = (to: number) => {
    const isIn = possibilities.map(({ state }) => state !== undefined);
    const [isPossible, isCertain] = [isIn.includes(true), !isIn.includes(false)];
    const last = spans.at(-1);
    if (last?.isPossible === isPossible && last.isCertain === isCertain) {
      last.to = to;
    } else {
      spans.push({ from, to, isPossible, isCertain });
    }
    from = to;
  };
  for (const { time, effect, isReturn } of momentsOf(operations)) {
    endSpan(time);
    if (!isReturn) {
      possibilities = unfold(possibilities.map(({ state, open }) => ({ state, open: [...open, effect] })));
      continue;
    }
    const fitting = possibilities.filter(({ open }) => !open.includes(effect));
    if (fitting.length === 0) {
      contradiction ??= effect.by;
      // As if there had been no such request.
      possibilities = possibilities.map(({ state, open }) => ({
        state,
        open: open.filter((other) => other !== effect),
      }));
    } else {
      possibilities = fitting;
    }
  }
  endSpan(Number.POSITIVE_INFINITY);
  return {
    spans,
    contradiction,
    mayEnd: (end) => possibilities.some(({ state }) => state === end),
  };
}

/** The calls and responses of the effects, by time. */
function momentsOf(operations: Operation[]): { time: number; effect: Effect; isReturn: boolean }[] {
  return effectsOf(operations)
    .flatMap((effect) => [
      { time: effect.called, effect, isReturn: false },
      { time: effect.returned, effect, isReturn: true },
    ])
    .filter(({ time }) => time !== Number.POSITIVE_INFINITY)
    .sort((a, b) => a.time - b.time);
}

/** The effects of requests. Attempts with one key have at most one: a success may be that of an earlier attempt. */
function effectsOf(operations: Operation[]): Effect[] {
  const attempts = groupBy(operations, ({ key, member, called }) => key ?? `${member} ${called}`);
  return [...attempts.values()].flatMap((all) => {
    const done = all.find(isDone);
    if (done !== undefined) {
      return effectOf({ ...done, called: Math.min(...all.map(({ called }) => called)) });
    }
    return [...all.filter((one) => !isUnknown(one)), ...all.filter(isUnknown).slice(0, 1)].flatMap(effectOf);
  });
}

function effectOf(by: Operation): Effect[] {
  const after = meaningOf(by);
  if (after === undefined) {
    return [];
  }
  const { kind, member, called, returned } = by;
  return isUnknown(by)
    ? [{ name: `${kind} by ${member}`, called, returned: Number.POSITIVE_INFINITY, by, after }]
    : [{ name: `${kind} by ${member} at ${called}`, called, returned, by, after }];
}

/** The states after a response, by the state before it; undefined when it says and does nothing. */
function meaningOf(operation: Operation): Effect['after'] | undefined {
  const { kind, status, code, member, creator } = operation;
  const isIn = (state: State) => state !== undefined;
  const enters = (state: State) => (isIn(state) ? [] : [member]);
  const leaves = (state: State) => (isIn(state) ? [undefined] : []);
  const isEntering = kind === 'sign up' || kind === 'assign';
  if (isUnknown(operation)) {
    return isEntering ? enters : kind === 'read signup' ? undefined : leaves;
  }
  if (status === 201) {
    return enters;
  }
  if (status === 204) {
    return leaves;
  }
  if (status === 200) {
    return (state) => (isIn(state) && state === (creator ?? state) ? [state] : []);
  }
  if (code === 'already_signed_up') {
    return (state) => (isIn(state) ? [state] : []);
  }
  if (code === 'shift_full' || code === 'signup_not_found') {
    return (state) => (isIn(state) ? [] : [state]);
  }
  return undefined;
}

/** These possibilities, and all that follow when open effects come. */
function unfold(possibilities: Possibility[]): Possibility[] {
  const all = new Map<string, Possibility>();
  const visit = (possibility: Possibility): void => {
    const { state, open } = possibility;
    const name = [state ?? '', ...open.map((effect) => effect.name).sort()].join('|');
    if (all.has(name)) {
      return;
    }
    all.set(name, possibility);
    for (const effect of open) {
      for (const next of effect.after(state)) {
        visit({ state: next, open: open.filter((other) => other !== effect) });
      }
    }
  };
  for (const possibility of possibilities) {
    visit(possibility);
  }
  return [...all.values()];
}
