import { groupBy, isDone, isUnknown, type Operation } from '../history.js';

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

/** What may happen to a state. */
export interface Model {
  /** What a request does, undefined when it says and does nothing. */
  meaningOf(operation: Operation): Meaning | undefined;
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
export function followStates(operations: Operation[], model: Model): Knowledge {
  let possibilities: Possibility[] = [{ state: undefined, open: [] }];
  let contradiction: Operation | undefined;
  const spans: Span[] = [];
  let from = Number.NEGATIVE_INFINITY;
  const endSpan = (to: number) => {
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
    mayEnd: (end) => possibilities.some(({ state }) => state === end),
  };
}

/** The calls and responses of the effects, by time. */
function momentsOf(
  operations: Operation[],
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
function effectsOf(operations: Operation[], { meaningOf }: Model): Effect[] {
  const effectOf = (by: Operation) => toEffect(by, meaningOf(by));
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
  const { kind, member, content, named, called, returned } = by;
  const name = [kind, content, named, 'by', member].join(' ');
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
