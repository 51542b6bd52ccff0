import {
  type Feed,
  type FinalState,
  groupBy,
  type History,
  holderOf,
  isDone,
  isUnknown,
  type Kind,
  type Operation,
} from '../history.js';
import { movesIn, promotionsIn } from './queues.js';
import type { Report } from './verdict.js';

/** The event of each kind of write. A record is created, changed, or what it was. */
const TYPES: Partial<Record<Kind, string[]>> = {
  'create task': ['task.created'],
  'patch task': ['task.changed'],
  'delete task': ['task.deleted'],
  'create shift': ['shift.created'],
  'put shift': ['shift.changed'],
  'delete shift': ['shift.deleted'],
  'sign up': ['signup.created'],
  cancel: ['signup.deleted'],
  assign: ['signup.created'],
  unassign: ['signup.deleted'],
  wait: ['wait.created'],
  'stop waiting': ['wait.deleted'],
  'assign wait': ['wait.created'],
  'remove wait': ['wait.deleted'],
  record: ['attendance.created', 'attendance.changed'],
  'remove record': ['attendance.deleted'],
  'end membership': ['member.changed'],
  'renew membership': ['member.changed'],
  merge: ['member.deleted'],
};

/** Checks that every acknowledged write has its event, and every event its write. */
export function checkFeeds({ operations, finalState, feeds }: History, report: Report): void {
  for (const feed of feeds) {
    checkFeed(feed, finalState, report);
    checkWrites(
      feed,
      operations.filter(({ club }) => club === feed.club),
      report,
    );
  }
}

/** Checks that the events are numbered 1, 2, 3 … and lead, in this order, to the rows of the final state. */
export function checkFeed(feed: Feed, finalState: FinalState, report: Report): void {
  const { club, events, refused, foreign } = feed;
  for (const refusal of refused) {
    report('anomalies', `a follower of ${club} is refused: ${refusal}`);
  }
  for (const foreigner of foreign) {
    report('foreign', `an event of ${club} shows ${foreigner}`);
  }
  const misplaced = events.findIndex(({ sequence }, index) => sequence !== index + 1);
  if (misplaced !== -1) {
    report(
      'anomalies',
      `the event ${misplaced + 1} of ${club} has the number ${events[misplaced]?.sequence}`,
    );
  }
  const read = rowsRead(feed, report);
  const stored = rowsStored(finalState, club);
  for (const row of new Set([...read.keys(), ...stored.keys()])) {
    const [seen, there] = [read.get(row) ?? 0, stored.get(row) ?? 0];
    if (seen !== there) {
      const what = seen < there ? 'missed a change of' : 'read a change that is not stored of';
      report('anomalies', `a follower of ${club} ${what} ${row}: ${seen} read, ${there} stored`);
    }
  }
}

/** The rows that the events lead to, with the number of their changes, which is the version of a task or a shift. */
function rowsRead({ club, events }: Feed, report: Report): Map<string, number> {
  const rows = new Map<string, number>();
  const moves = movesIn(events);
  let lastChanges = 0;
  for (const event of events) {
    const { type, subjectId, memberId, sequence } = event;
    const [noun, verb] = type.split('.');
    if (noun !== undefined && ['task', 'shift', 'signup', 'wait', 'attendance'].includes(noun)) {
      const row = isOfMember(type) ? ofMember(noun, subjectId, memberId) : `${noun} ${subjectId}`;
      const changes = rows.get(row) ?? 0;
      if ((verb === 'created') !== (changes === 0)) {
        report('anomalies', `${type} of ${row} is out of order: event ${sequence} of ${club}`);
      }
      if (verb === 'deleted') {
        rows.delete(row);
      } else {
        // A record that moves keeps its versions.
        rows.set(row, 1 + (noun === 'attendance' && moves.has(event) ? lastChanges : changes));
      }
      lastChanges = changes;
    }
  }
  return rows;
}

function rowsStored(
  { tasks, shifts, signups, waits, attendance }: FinalState,
  club: string,
): Map<string, number> {
  const own = new Map(shifts.filter((row) => row.club === club).map(({ id, version }) => [id, version]));
  return new Map([
    ...tasks.filter((row) => row.club === club).map(({ id, version }) => [`task ${id}`, version] as const),
    ...[...own].map(([id, version]) => [`shift ${id}`, version] as const),
    ...signups
      .filter(({ shift }) => own.has(shift))
      .map(({ shift, member }) => [ofMember('signup', shift, member), 1] as const),
    ...waits
      .filter(({ shift }) => own.has(shift))
      .map(({ shift, member }) => [ofMember('wait', shift, member), 1] as const),
    ...attendance
      .filter((record) => record.club === club)
      .map(({ shift, member, version }) => [ofMember('attendance', shift, member), version] as const),
  ]);
}

const ofMember = (noun: string, shift: string, member: string | null) =>
  `the ${noun} of ${member} for ${shift}`;
const isOfMember = (type: string) => /^(signup|wait|attendance)\./.test(type);

/**
 * Checks that each acknowledged write is one event of its caller, and that there are no more events than writes. Which writes with
 * an unknown outcome have one is left to the final state.
 */
function checkWrites({ club, events }: Feed, operations: Operation[], report: Report): void {
  // Entering a member who is signed up, or waits, changes nothing.
  const writes = operations.filter(
    ({ kind, status }) => TYPES[kind] !== undefined && !(/^assign/.test(kind) && status === 200),
  );
  // Attempts with one key are one write. The requests of a member are sequential.
  const attempts = groupBy(writes, ({ key, member, called }) => key ?? `${member} ${called}`);
  const happened = [...attempts.values()].flatMap((all) => all.find(isDone) ?? all.find(isUnknown) ?? []);
  const acknowledged = happened.flatMap(certainEvents);
  const possible = groupBy(happened.flatMap(possibleEvents), kindOf);
  const isWrite = (type: string) => Object.values(TYPES).flat().includes(type);
  const shiftsGone = new Set<string>();
  const left = new Set<string | null>();
  const promotions = promotionsIn(events);
  const moves = movesIn(events);
  const mergers = new Set(
    events.flatMap(({ type, actorId }) => (type === 'member.deleted' ? [actorId] : [])),
  );
  const requested = events.filter((event) => {
    const { type, subjectId, memberId, status } = event;
    if (type === 'shift.deleted') {
      shiftsGone.add(subjectId);
    }
    if (status !== undefined) {
      left[status === 'Left' ? 'add' : 'delete'](memberId);
    }
    // Signups and waits are deleted with their shift, and with the membership.
    const isDeletion = /^(signup|wait)\.deleted$/.test(type);
    const isWith = isDeletion && (shiftsGone.has(subjectId) || left.has(memberId));
    // Members who merge others delete and change nothing else.
    const isOfMerge =
      mergers.has(event.actorId) &&
      (moves.has(event) || /^(task\.changed|(signup|wait|attendance)\.deleted)$/.test(type));
    return isWrite(type) && !isWith && !isOfMerge && !promotions.has(event);
  });

  const byRow = groupBy(requested, nameOf);
  for (const [name, all] of groupBy(acknowledged, nameOf)) {
    const count = byRow.get(name)?.length ?? 0;
    if (count < all.length) {
      report('anomalies', `${club}: ${all.length} acknowledged ${name}, and ${count} events`);
    }
  }
  for (const [kind, all] of groupBy(requested, kindOf)) {
    const count = possible.get(kind)?.length ?? 0;
    if (count < all.length) {
      report('anomalies', `${club}: ${all.length} events ${kind}, and ${count} requests for them`);
    }
  }
}

/** The parts of an event that a write decides. A creation with an unknown outcome has no id. */
interface EventKey {
  type: string;
  subjectId: string | undefined;
  actorId: string | null;
  /** Whose signup, wait or attendance it is; other writes do not decide whom their event is about. */
  memberId: string | null;
}

function possibleEvents(operation: Operation): EventKey[] {
  const { kind, target, holder, rows, member } = operation;
  return (TYPES[kind] ?? []).map((type) => ({
    type,
    subjectId: target ?? rows[0]?.id ?? holder,
    actorId: member,
    memberId: holderOf(operation),
  }));
}

/** The event of an acknowledged write; none where it may have changed nothing. */
function certainEvents(operation: Operation): EventKey[] {
  const [event, ...others] = isDone(operation) ? possibleEvents(operation) : [];
  const isCertain =
    operation.status === 201 || (others.length === 0 && !operation.kind.endsWith('membership'));
  return event !== undefined && isCertain ? [event] : [];
}

const kindOf = ({ type, actorId, memberId }: EventKey) =>
  isOfMember(type) ? `${type} of ${memberId} by ${actorId}` : `${type} by ${actorId}`;
const nameOf = (event: EventKey) => `${kindOf(event)} at ${event.subjectId}`;
