import { groupBy, holderOf, isDone, isUnknown, type Operation } from '../history.js';

/** What is stored about a member and a shift, as a text; undefined when nothing is. */
export type State = string | undefined;

/** A time span, and whether a state was possible or certain during it. */
export interface Span {
  from: number;
  to: number;
  isPossible: boolean;
  isCertain: boolean;
}

/** The states after a response, by the state before it; none when it is impossible in this state. */
export type Meaning = (before: State) => State[];

/** A request about a member; in a merge into them, what the merged member may have had. */
export interface Request extends Operation {
  moved?: State[];
}

/** What may happen to a state. */
export interface Model {
  /** What a request does, undefined when it says and does nothing. */
  meaningOf(operation: Request): Meaning | undefined;
  /** The states that may follow at any time, without a request about this member. */
  unasked(before: State): State[];
  /** Whether this is the state that the spans are about. */
  isIn(state: State): boolean;
}

/** The knowledge about one member and one shift, from the requests of the member and of Managers. */
export interface Knowledge {
  spans: Span[];
  /** The first response that no possible state explains. */
  contradiction: Operation | undefined;
  /** The states that were possible at some moment of the time. */
  statesDuring(from: number, to: number): State[];
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
  after: Meaning;
}

/** A possible state, with the effects that are yet to come. */
interface Possibility {
  state: State;
  open: Effect[];
}

/** Follows all states that are possible in any order of concurrent requests. */
export function followStates(operations: Request[], model: Model): Knowledge {
  let possibilities: Possibility[] = [{ state: undefined, open: [] }];
  let contradiction: Operation | undefined;
  const spans: Span[] = [];
  const possible: { from: number; to: number; states: State[] }[] = [];
  let from = Number.NEGATIVE_INFINITY;
  const endSpan = (to: number) => {
    possible.push({ from, to, states: possibilities.map(({ state }) => state) });
    const isIn = possibilities.map(({ state }) => model.isIn(state));
    const [isPossible, isCertain] = [isIn.includes(true), !isIn.includes(false)];
    const last = spans.at(-1);
    if (last?.isPossible === isPossible && last.isCertain === isCertain) {
      last.to = to;
    } else {
      spans.push({ from, to, isPossible, isCertain });
    }
    from = to;
  };
  for (const { time, effect, isReturn } of momentsOf(operations, model)) {
    endSpan(time);
    if (!isReturn) {
      possibilities = unfold(
        possibilities.map(({ state, open }) => ({ state, open: [...open, effect] })),
        model,
      );
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
    statesDuring: (start, end) => {
      const then = possible.filter((span) => span.from <= end && start <= span.to);
      return [...new Set(then.flatMap(({ states }) => states))];
    },
    mayEnd: (end) => possibilities.some(({ state }) => state === end),
  };
}

/** The requests about a row of each member, with the merges of and into members that have one. */
export function requestsByMember(
  requests: Operation[],
  merges: Operation[],
  model: Model,
): Map<string, Request[]> {
  const byMember: Map<string, Request[]> = groupBy(requests, holderOf);
  for (const attempts of groupBy(merges, ({ key = '' }) => key).values()) {
    const [{ holder = '', into = '', called }] = attempts as [Operation];
    const own = byMember.get(holder);
    if (own !== undefined) {
      const end = attempts.find(isDone)?.returned ?? Number.POSITIVE_INFINITY;
      const before = followStates(
        own.filter(({ returned }) => returned < called),
        model,
      );
      const moved = before.statesDuring(called, end);
      own.push(...attempts);
      const others = attempts.map((attempt) => ({ ...attempt, holder: into, moved }));
      byMember.set(into, [...(byMember.get(into) ?? []), ...others]);
    }
  }
  return byMember;
}

/** What a merge does: a member gets what the merged one had, who then has nothing. `combine` decides where both have something. */
export function meaningOfMerge(
  merge: Request,
  combine: (own: State, moved: State) => State[],
): Meaning | undefined {
  const { moved } = merge;
  if (!isDone(merge) && !isUnknown(merge)) {
    return undefined;
  }
  const add = (own: State, more: State) =>
    more === undefined ? [own] : own === undefined ? [more] : combine(own, more);
  return moved === undefined ? () => [undefined] : (own) => moved.flatMap((more) => add(own, more));
}

/** The calls and responses of the effects, by time. */
function momentsOf(
  operations: Request[],
  model: Model,
): { time: number; effect: Effect; isReturn: boolean }[] {
  return effectsOf(operations, model)
    .flatMap((effect) => [
      { time: effect.called, effect, isReturn: false },
      { time: effect.returned, effect, isReturn: true },
    ])
    .filter(({ time }) => time !== Number.POSITIVE_INFINITY)
    .sort((a, b) => a.time - b.time);
}

/** The effects of requests. Attempts with one key have at most one: a success may be that of an earlier attempt. */
function effectsOf(operations: Request[], { meaningOf }: Model): Effect[] {
  const effectOf = (by: Request) => toEffect(by, meaningOf(by));
  const attempts = groupBy(operations, ({ key, member, called }) => key ?? `${member} ${called}`);
  return [...attempts.values()].flatMap((all) => {
    const done = all.find(isDone);
    if (done !== undefined) {
      return effectOf({ ...done, called: Math.min(...all.map(({ called }) => called)) });
    }
    return [...all.filter((one) => !isUnknown(one)), ...all.filter(isUnknown).slice(0, 1)].flatMap(effectOf);
  });
}

function toEffect(by: Operation, after: Meaning | undefined): Effect[] {
  if (after === undefined) {
    return [];
  }
  const { kind, member, content, named, key, called, returned } = by;
  const name = [kind, content, named, by.into && key, 'by', member].join(' ');
  return isUnknown(by)
    ? [{ name, called, returned: Number.POSITIVE_INFINITY, by, after }]
    : [{ name: `${name} at ${called}`, called, returned, by, after }];
}

/**
 * These possibilities, and all that follow when open effects come, or unasked. One whose open effects are a part of those of another
 * one with the same state is left out: effects with an unknown outcome need not come, so nothing follows from it alone.
 */
function unfold(possibilities: Possibility[], { unasked }: Model): Possibility[] {
  const all = new Map<string, Possibility[]>();
  const next = [...possibilities];
  for (const possibility of next) {
    const { state, open } = possibility;
    const answered = open.filter(({ returned }) => returned !== Number.POSITIVE_INFINITY);
    const name = [state ?? '', ...namesOf(answered)].join('|');
    const alike = all.get(name) ?? [];
    if (alike.some((other) => hasAll(other.open, open))) {
      continue;
    }
    all.set(name, [...alike.filter((other) => !hasAll(open, other.open)), possibility]);
    next.push(...unasked(state).map((after) => ({ state: after, open })));
    for (const effect of open) {
      const rest = open.filter((other) => other !== effect);
      next.push(...effect.after(state).map((after) => ({ state: after, open: rest })));
    }
  }
  return [...all.values()].flat();
}

const namesOf = (effects: Effect[]) => effects.map(({ name }) => name).sort();

/** Whether there is an equal effect for each of the others. */
function hasAll(effects: Effect[], others: Effect[]): boolean {
  const names = namesOf(effects);
  return namesOf(others).every((name) => {
    const place = names.indexOf(name);
    names.splice(place, place === -1 ? 0 : 1);
    return place !== -1;
  });
}
