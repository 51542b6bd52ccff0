import {
  type FinalRow,
  groupBy,
  type History,
  holderOf,
  isDone,
  isUnknown,
  type Kind,
  type Operation,
} from '../history.js';
import { followStates, type Knowledge, type Meaning, type Span, type State } from './states.js';
import { describe, type Report } from './verdict.js';

const OF_SIGNUPS: Kind[] = ['sign up', 'cancel', 'read signup', 'assign', 'unassign'];

/** One shift: its operations, and its members. */
interface Shift {
  id: string;
  made: Operation;
  puts: Operation[];
  requests: Operation[];
  reads: Operation[];
  /** The time from which it may be deleted. */
  end: number;
  members: Map<string, Knowledge>;
}

/** Checks that no shift is overfull or has a member twice, and that only a shift that can be full is called full. */
export function checkSignups({ operations, finalState }: History, report: Report): void {
  const taken = groupBy(finalState.signups, ({ shift }) => shift);
  const placesOf = (id: string) => taken.get(id) ?? [];
  for (const operation of operations) {
    for (const row of operation.rows) {
      checkPlaces(row, row.members, `${describe(operation)} shows ${row.id}`, report);
    }
  }
  const left = new Map(finalState.shifts.map((finalRow) => [finalRow.id, finalRow]));
  for (const finalRow of left.values()) {
    const members = placesOf(finalRow.id).map(({ member }) => member);
    checkPlaces(finalRow, members, `the shift ${finalRow.id}`, report);
  }
  for (const shift of shiftsOf(operations)) {
    const creators = new Map(
      placesOf(shift.id).map(({ member, creator }) => [member, creator ?? 'no creator']),
    );
    checkMembers(shift, left.get(shift.id), creators, report);
    checkCapacity(shift, report);
    checkFull(shift, report);
    checkReads(shift, report);
  }
}

/** Checks that there are no more signups than places, one for each member, and that `signupCount` is their number. */
function checkPlaces(
  { capacity, signupCount }: { capacity?: number; signupCount?: number },
  members: string[] | undefined,
  where: string,
  report: Report,
): void {
  if (capacity === undefined || signupCount === undefined) {
    return;
  }
  const taken = Math.max(signupCount, members?.length ?? 0);
  if (taken > capacity) {
    report('overfull', `${where}: ${taken} signups for ${capacity} places`);
  }
  if (members !== undefined && new Set(members).size < members.length) {
    report('doubled', `${where}: a member is signed up twice`);
  }
  if (members !== undefined && members.length !== signupCount) {
    report('anomalies', `${where}: ${members.length} signups, counted as ${signupCount}`);
  }
}

function shiftsOf(operations: Operation[]): Shift[] {
  const shifts = new Map<string, Shift>();
  for (const made of operations) {
    const id = made.kind === 'create shift' && isDone(made) ? made.rows[0]?.id : undefined;
    if (id !== undefined && !shifts.has(id)) {
      shifts.set(id, {
        id,
        made,
        puts: [],
        requests: [],
        reads: [],
        end: Number.POSITIVE_INFINITY,
        members: new Map(),
      });
    }
  }
  for (const operation of operations) {
    const shift = shifts.get(operation.target ?? '');
    if (shift === undefined) {
      continue;
    }
    if (operation.kind === 'put shift') {
      shift.puts.push(operation);
    } else if (operation.kind === 'delete shift' && (isDone(operation) || isUnknown(operation))) {
      shift.end = Math.min(shift.end, operation.called);
    } else if (operation.kind === 'read shift' && isDone(operation)) {
      shift.reads.push(operation);
    } else if (OF_SIGNUPS.includes(operation.kind)) {
      shift.requests.push(operation);
    }
  }
  for (const shift of shifts.values()) {
    for (const [member, requests] of groupBy(shift.requests, holderOf)) {
      shift.members.set(member, followStates(requests, meaningOf));
    }
  }
  return [...shifts.values()];
}

/** What a request does to a signup. Its state is who entered it. */
function meaningOf(operation: Operation): Meaning | undefined {
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

function checkMembers(
  { id, members }: Shift,
  left: FinalRow | undefined,
  creators: Map<string, State>,
  report: Report,
): void {
  for (const [member, { contradiction, mayEnd }] of members) {
    const creator = creators.get(member);
    if (contradiction !== undefined) {
      const isSecond = contradiction.status === 201;
      report(isSecond ? 'doubled' : 'lost', `nothing explains ${describe(contradiction)} about ${member}`);
    } else if (left !== undefined && !mayEnd(creator)) {
      const state = creator === undefined ? 'out of' : `in by ${creator}, of`;
      report('lost', `${member} is ${state} ${id}, contrary to an acknowledged answer`);
    }
  }
  for (const member of creators.keys()) {
    if (!members.has(member)) {
      report('anomalies', `${member} is signed up for ${id} and never asked`);
    }
  }
}

/** The capacities that were possible during the time. */
function capacitiesIn({ made, puts }: Shift, from: number, to: number): number[] {
  const known = puts.filter(isDone);
  const isPassed = (version: number) =>
    known.some((later) => later.returned < from && (later.rows[0]?.version ?? 0) > version);
  return [made, ...puts]
    .filter((put) => put.called <= to && (isDone(put) || isUnknown(put)))
    .filter((put) => isUnknown(put) || !isPassed(put.rows[0]?.version ?? 1))
    .flatMap(({ capacity }) => capacity ?? []);
}

/** Checks that acknowledged places never exceed the possible capacity. */
function checkCapacity(shift: Shift, report: Report): void {
  const certain = [...shift.members.values()].flatMap(({ spans }) => spans.filter((span) => span.isCertain));
  for (const { from } of certain.filter((span) => span.from < shift.end)) {
    const held = certain.filter((span) => span.from <= from && from < span.to).length;
    const most = Math.max(...capacitiesIn(shift, from, from));
    if (held > most) {
      report('overfull', `${held} signups are acknowledged for ${most} places of ${shift.id}`);
      return;
    }
  }
}

function checkFull(shift: Shift, report: Report): void {
  for (const request of shift.requests.filter(({ code }) => code === 'shift_full')) {
    const { called, returned } = request;
    const holder = holderOf(request);
    const others = [...shift.members].flatMap(([other, { spans }]) => (other === holder ? [] : spans));
    const possible = others.filter((span) => span.isPossible && span.from <= returned && called <= span.to);
    const least = Math.min(...capacitiesIn(shift, called, returned));
    if (most(possible, called) < least) {
      report('anomalies', `${describe(request)}, and it was not`);
    }
  }
}

/** The largest number of spans that overlap. */
function most(spans: Span[], start: number): number {
  const moments = [start, ...spans.map(({ from }) => from).filter((from) => from > start)];
  return Math.max(
    ...moments.map((time) => spans.filter(({ from, to }) => from <= time && time <= to).length),
  );
}

/** Checks that a read shows every member whose signup was acknowledged before it and is still valid. */
function checkReads({ reads, members, end }: Shift, report: Report): void {
  for (const read of reads.filter(({ returned }) => returned < end)) {
    const seen = new Set(read.rows[0]?.members);
    for (const [member, { spans }] of members) {
      const span = spans.find(({ from, to }) => from <= read.called && read.returned <= to);
      if (span && (span.isCertain ? !seen.has(member) : !span.isPossible && seen.has(member))) {
        report('anomalies', `${describe(read)} ${seen.has(member) ? 'shows' : 'misses'} ${member}`);
      }
    }
  }
}
