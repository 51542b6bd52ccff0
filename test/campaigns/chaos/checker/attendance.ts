import {
  type FinalRecord,
  groupBy,
  type History,
  isDone,
  isUnknown,
  type Kind,
  type Operation,
  recordText,
} from '../history.js';
import {
  followStates,
  type Meaning,
  type Model,
  meaningOfMerge,
  type Request,
  requestsByMember,
  type State,
} from './states.js';
import { describe, type Report } from './verdict.js';

const OF_ATTENDANCE: Kind[] = ['record', 'remove record', 'read record'];

const nameOf = (shift: string | undefined, member: string) => `the record of ${member} for ${shift}`;

/** Checks that every response about a record of attendance, and the record at the end, follow from the requests about it. */
export function checkAttendance({ operations, finalState }: History, report: Report): void {
  const stored = groupBy(finalState.attendance, ({ shift, member }) => nameOf(shift, member));
  const asked = new Map<string, Request[]>();
  const merges = operations.filter(({ kind }) => kind === 'merge');
  const requests = operations.filter(({ kind }) => OF_ATTENDANCE.includes(kind));
  for (const [shift, ofShift] of groupBy(requests, ({ target = '' }) => target)) {
    for (const [member, own] of requestsByMember(ofShift, merges, ATTENDANCE)) {
      asked.set(nameOf(shift, member), own);
    }
  }
  for (const name of new Set([...stored.keys(), ...asked.keys()])) {
    checkRecord(name, asked.get(name) ?? [], stored.get(name) ?? [], report);
  }
}

function checkRecord(name: string, requests: Request[], stored: FinalRecord[], report: Report): void {
  const { contradiction, mayEnd } = followStates(requests, ATTENDANCE);
  const [first] = stored;
  if (stored.length > 1) {
    report('doubled', `${name} is stored ${stored.length} times`);
  }
  if (contradiction !== undefined) {
    report(contradiction.status === 201 ? 'doubled' : 'lost', `nothing explains ${describe(contradiction)}`);
  } else if (!mayEnd(first?.record)) {
    report('lost', `${name} is ${first?.record ?? 'missing'}, contrary to an acknowledged answer`);
  }
}

const ATTENDANCE: Model = { meaningOf, unasked: () => [], isIn: (state) => state !== undefined };

/** What a request does to a record. Its state is the text of the record. */
function meaningOf(operation: Request): Meaning | undefined {
  const { kind, status, code, record, currentVersion } = operation;
  if (kind === 'merge') {
    const moved = operation.moved?.map(withNextVersion);
    // Where both have a record, members are not merged.
    return meaningOfMerge({ ...operation, ...(moved && { moved }) }, () => []);
  }
  const isAbsent: Meaning = (before) => (before === undefined ? [before] : []);
  const removes: Meaning = (before) => (before === undefined ? [] : [undefined]);
  const writes: Meaning = (before) => afterRecording(operation, before);
  if (isUnknown(operation)) {
    return { record: writes, 'remove record': removes }[kind as string];
  }
  if (isDone(operation)) {
    const shows = (after: State) => after === record;
    const reads: Meaning = (before) => (shows(before) ? [before] : []);
    const creates: Meaning = (before) => isAbsent(before).flatMap(writes).filter(shows);
    const changes: Meaning = (before) =>
      removes(before)
        .flatMap(() => writes(before))
        .filter(shows);
    return kind === 'read record' ? reads : { 201: creates, 200: changes, 204: removes }[status as number];
  }
  if (code === 'attendance_version_conflict') {
    return (before) => (versionOf(before) === currentVersion ? [before] : []);
  }
  return code === 'membership_ended' ? undefined : isAbsent;
}

/** The record after a PUT. None when the PUT names another version; the same content changes nothing. */
function afterRecording({ named, content = '', member }: Operation, before: State): State[] {
  const version = versionOf(before);
  if (named !== undefined && named !== version) {
    return [];
  }
  const isSame = before !== undefined && before.split('|')[1] === content;
  return [isSame ? before : recordText((version ?? 0) + 1, content, member)];
}

function withNextVersion(record: State): State {
  const [version, ...rest] = record?.split('|') ?? [];
  return record && [Number(version) + 1, ...rest].join('|');
}

function versionOf(record: State): number | null {
  return record === undefined ? null : Number(record.split('|')[0]);
}
