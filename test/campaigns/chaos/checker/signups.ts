import {
  type FinalRow,
  type FinalState,
  groupBy,
  type History,
  holderOf,
  isDone,
  isUnknown,
  type Operation,
  type Row,
} from '../history.js';
import { isWaiting, OF_PLACES, PLACES, waitBy } from './places.js';
import { followStates, type Knowledge, requestsByMember, type Span, type State } from './states.js';
import { describe, type Report } from './verdict.js';

/** Longer than the service works on a request: docs/reliability.md has the deadlines. */
const LONGEST_MS = 60_000;

/** One shift: its operations, and its members. */
interface Shift {
  id: string;
  made: Operation;
  puts: Operation[];
  requests: Operation[];
  reads: Operation[];
  /** The reads of who waits. */
  lists: Operation[];
  /** The time from which it may be deleted. */
  end: number;
  members: Map<string, Knowledge>;
}

/**
 * Checks that no shift is overfull or has a member twice, that nobody waits beside a free place, and that only a shift that can be
 * full is called full, and no other one not full.
 */
export function checkSignups({ operations, finalState }: History, report: Report): void {
  const taken = groupBy(finalState.signups, ({ shift }) => shift);
  const waiting = groupBy(finalState.waits, ({ shift }) => shift);
  for (const operation of operations) {
    for (const row of operation.rows) {
      checkPlaces(row, row.members, `${describe(operation)} shows ${row.id}`, report);
    }
  }
  const left = new Map(finalState.shifts.map((finalRow) => [finalRow.id, finalRow]));
  const membersOf = (rows: FinalState['signups'] = []) => rows.map(({ member }) => member);
  for (const finalRow of left.values()) {
    const members = membersOf(taken.get(finalRow.id));
    const where = `the shift ${finalRow.id}`;
    checkPlaces(finalRow, members, where, report);
    checkWaits(finalRow, members, membersOf(waiting.get(finalRow.id)), where, report);
  }
  for (const shift of shiftsOf(operations)) {
    const states = new Map<string, State>([
      ...(waiting.get(shift.id) ?? []).map(
        ({ member, creator }) => [member, waitBy(creator ?? 'no creator')] as const,
      ),
      ...(taken.get(shift.id) ?? []).map(({ member, creator }) => [member, creator ?? 'no creator'] as const),
    ]);
    checkMembers(shift, left.get(shift.id), states, report);
    checkCapacity(shift, report);
    checkFull(shift, report);
    checkNotFull(shift, report);
    checkReads(shift, report);
  }
}

/**
 * Checks that there are no more signups than places, one for each member, that `signupCount` is their number, and that nobody waits
 * beside a free place.
 */
function checkPlaces(
  { capacity, signupCount, waitCount = 0, ...caller }: Partial<Row>,
  members: string[] | undefined,
  where: string,
  report: Report,
): void {
  if (capacity === undefined || signupCount === undefined) {
    return;
  }
  if (waitCount > 0 && signupCount < capacity) {
    report('anomalies', `${where}: ${waitCount} wait, and ${signupCount} of ${capacity} places are taken`);
  }
  if (caller.isSignedUp && caller.isWaiting) {
    report('doubled', `${where}: the caller is signed up and waits`);
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

/** Checks that whoever waits at the end is not signed up, and that `waitCount` is their number. */
function checkWaits(
  { waitCount = 0 }: FinalRow,
  members: string[],
  queue: string[],
  where: string,
  report: Report,
): void {
  for (const member of queue.filter((other) => members.includes(other))) {
    report('doubled', `${where}: ${member} is signed up and waits`);
  }
  if (queue.length !== waitCount) {
    report('anomalies', `${where}: ${queue.length} waits, counted as ${waitCount}`);
  }
}

/** The time until which a request can take effect. */
const latestEnd = (operation: Operation) =>
  isUnknown(operation) ? operation.called + LONGEST_MS : operation.returned;

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
        lists: [],
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
    } else if (operation.kind === 'read waits' && isDone(operation)) {
      shift.lists.push(operation);
    } else if (OF_PLACES.includes(operation.kind)) {
      shift.requests.push(operation);
    }
  }
  const merges = operations.filter(({ kind }) => kind === 'merge');
  const endsOfMembership = operations.filter(({ kind }) => kind === 'end membership');
  for (const shift of shifts.values()) {
    const holders = new Set([
      ...shift.requests.map(holderOf),
      ...shift.lists.flatMap(({ queue = [] }) => queue),
    ]);
    for (const { holder = '', into = '' } of merges) {
      if (holders.has(holder)) {
        holders.add(into);
      }
    }
    // A list says of each member whether they wait.
    const reads = shift.lists.flatMap((list) => [...holders].map((holder) => ({ ...list, holder })));
    const ends = endsOfMembership.filter(
      (end) => holders.has(holderOf(end)) && latestEnd(end) > shift.made.called,
    );
    const all = requestsByMember([...shift.requests, ...reads, ...ends], merges, PLACES);
    for (const [member, requests] of all) {
      shift.members.set(member, followStates(requests, PLACES));
    }
  }
  return [...shifts.values()];
}

function checkMembers(
  { id, members }: Shift,
  left: FinalRow | undefined,
  states: Map<string, State>,
  report: Report,
): void {
  for (const [member, { contradiction, mayEnd }] of members) {
    const state = states.get(member);
    if (contradiction !== undefined) {
      const isSecond = contradiction.status === 201;
      report(isSecond ? 'doubled' : 'lost', `nothing explains ${describe(contradiction)} about ${member}`);
    } else if (left !== undefined && !mayEnd(state)) {
      const where = isWaiting(state) ? `in the queue, ${state},` : state ? `in by ${state},` : 'out';
      report('lost', `${member} is ${where} of ${id}, contrary to an acknowledged answer`);
    }
  }
  for (const member of states.keys()) {
    if (!members.has(member)) {
      report('anomalies', `${member} is signed up for ${id} or waits, and never asked`);
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

/** Checks that the shift can have been full for others when a member was refused, or began to wait. */
function checkFull(shift: Shift, report: Report): void {
  // A response with a key may be that of an earlier request.
  const isBegin = ({ kind, status, key }: Operation) =>
    (kind === 'wait' || kind === 'assign wait') && status === 201 && key === undefined;
  for (const request of shift.requests.filter((one) => one.code === 'shift_full' || isBegin(one))) {
    const { called, returned } = request;
    const holder = holderOf(request);
    const others = [...shift.members].flatMap(([other, { spans }]) => (other === holder ? [] : spans));
    const possible = others.filter((span) => span.isPossible && span.from <= returned && called <= span.to);
    const least = Math.min(...capacitiesIn(shift, called, returned));
    if (most(possible, called) < least) {
      report('anomalies', `${describe(request)}, and it was not full`);
    }
  }
}

/** Checks that the shift can have had a free place when somebody was not let wait for one. */
function checkNotFull(shift: Shift, report: Report): void {
  const certain = [...shift.members.values()].flatMap(({ spans }) => spans.filter((span) => span.isCertain));
  for (const request of shift.requests.filter(({ code }) => code === 'shift_not_full')) {
    const { called, returned } = request;
    const ends = certain.map(({ to }) => to).filter((to) => called < to && to < returned);
    const taken = [called, ...ends].map(
      (time) => certain.filter(({ from, to }) => from < time && time < to).length,
    );
    if (Math.min(...taken) >= Math.max(...capacitiesIn(shift, called, returned))) {
      report('anomalies', `${describe(request)}, and it was full`);
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
