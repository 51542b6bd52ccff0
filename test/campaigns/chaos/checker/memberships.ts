import {
  type Feed,
  type FeedEvent,
  groupBy,
  type History,
  isDone,
  isUnknown,
  type Operation,
} from '../history.js';
import { promotionsIn } from './queues.js';
import { followStates, type Meaning, type Model } from './states.js';
import { describe, type Report } from './verdict.js';

// The state of a membership: undefined, or that the member has left, or was merged into another one.
const LEFT = 'Left';
const GONE = 'merged';

/**
 * Checks that members who have left are refused, and no others, and have no place in a shift to come; and that merged members are gone,
 * and no others.
 */
export function checkMemberships(history: History, report: Report): void {
  const { operations, finalState, feeds } = history;
  const statuses = new Map(finalState.members.map(({ id, status }) => [id, status]));
  const entered = new Set(
    operations.flatMap(({ kind, holder = '' }) => (kind === 'enter member' ? [holder] : [])),
  );
  for (const [member, requests] of requestsAbout(operations)) {
    const { contradiction, mayEnd } = followStates(requests, membershipOf(member));
    const status = statuses.get(member);
    const end = { Left: LEFT, Active: undefined }[status ?? 'Active'];
    if (contradiction !== undefined) {
      report('lost', `nothing explains ${describe(contradiction)} about the membership of ${member}`);
    } else if (!mayEnd(status === undefined && entered.has(member) ? GONE : end)) {
      report('lost', `${member} is ${status}, contrary to an acknowledged answer`);
    }
  }
  // All shifts with signups and waits are to come.
  for (const { member, shift } of [...finalState.signups, ...finalState.waits]) {
    if (statuses.get(member) === LEFT) {
      report('anomalies', `${member} has left, and is in the shift ${shift}`);
    }
  }
  checkMerges(history, report);
  for (const feed of feeds) {
    checkPlacesOfLeavers(feed, report);
  }
}

/** The requests whose responses depend on the membership of each member, and those that change it. */
function requestsAbout(operations: Operation[]): Map<string, Operation[]> {
  const named = operations.filter(({ kind }) => /^(assign|enter|merge)|membership$/.test(kind));
  return groupBy(
    [
      // Each attempt with a key shows whether the caller has left.
      ...operations.map(({ key, ...operation }) => ({ ...operation, person: operation.member })),
      ...named.flatMap((operation) =>
        [operation.holder, operation.into].flatMap((person) =>
          person === undefined || person === operation.member ? [] : [{ ...operation, person }],
        ),
      ),
    ],
    ({ person }) => person,
  );
}

const membershipOf = (person: string): Model => ({
  meaningOf: (operation) => meaningFor(person, operation),
  unasked: () => [],
  isIn: (state) => state === undefined,
});

function meaningFor(person: string, operation: Operation): Meaning | undefined {
  const { kind, member, code } = operation;
  const isOwn = member === person;
  if (!isOwn && kind === 'merge') {
    return meaningOfMergeFor(person, operation);
  }
  if (!isOwn && kind.endsWith('membership')) {
    return isDone(operation) || isUnknown(operation)
      ? () => [kind === 'end membership' ? LEFT : undefined]
      : undefined;
  }
  if (isUnknown(operation) || (!isOwn && code === 'shift_not_found')) {
    return undefined;
  }
  const isRefused = code === (isOwn ? 'membership_ended' : 'member_not_found');
  return (state) => ((state !== undefined) === isRefused ? [state] : []);
}

function meaningOfMergeFor(person: string, operation: Operation): Meaning | undefined {
  if (person === operation.holder) {
    return isDone(operation) || isUnknown(operation)
      ? (state) => (state === undefined ? [GONE] : [])
      : undefined;
  }
  const isRefused = operation.code === 'merge_target_invalid';
  return isDone(operation) || isRefused
    ? (state) => ((state !== undefined) === isRefused ? [state] : [])
    : undefined;
}

/** Checks that a merge gets the same response again, and that the tasks of the merged member are those of the other one. */
function checkMerges({ operations, finalState }: History, report: Report): void {
  const done = operations.filter((operation) => operation.kind === 'merge' && isDone(operation));
  for (const [key, attempts] of groupBy(done, ({ key = '' }) => key)) {
    if (new Set(attempts.map(({ text }) => text)).size > 1) {
      report('doubled', `the merge ${key} has two responses`);
    }
  }
  const tasks = new Map(finalState.tasks.map((task) => [task.marker, task]));
  const targets = new Map(done.map(({ holder = '', into }) => [holder, into]));
  for (const { kind, holder = '', marker = '' } of operations) {
    const task = tasks.get(marker);
    const target = targets.get(holder);
    if (kind === 'create task' && task !== undefined && target !== undefined && task.assignee !== target) {
      report(
        'lost',
        `the task ${task.id} is that of ${task.assignee}, and ${holder} was merged into ${target}`,
      );
    }
  }
}

/**
 * Checks that the event of a member who leaves is followed by the ends of all their signups and waits, in its transaction, and by no new
 * one until they are back.
 */
function checkPlacesOfLeavers({ club, events }: Feed, report: Report): void {
  const promotions = promotionsIn(events);
  const left = new Set<string>();
  const places = new Map<string, Set<string>>();
  let leaving: FeedEvent | undefined;
  const checkLeft = () => {
    const kept = [...(places.get(leaving?.memberId ?? '') ?? [])];
    if (kept.length > 0) {
      report(
        'anomalies',
        `${leaving?.memberId} left, and kept ${kept.join(', ')}: event ${leaving?.sequence} of ${club}`,
      );
    }
    leaving = undefined;
  };
  for (const event of events) {
    const { type, subjectId, memberId, sequence } = event;
    const member = memberId ?? '';
    if (leaving !== undefined && !isPartOf(leaving, event) && !promotions.has(event)) {
      checkLeft();
    }
    if (event.status === LEFT) {
      left.add(member);
      leaving = event;
    } else if (event.status !== undefined) {
      left.delete(member);
    }
    const [, noun, verb] = /^(signup|wait)\.(created|deleted)$/.exec(type) ?? [];
    if (noun === undefined) {
      continue;
    }
    const own = places.get(member) ?? new Set();
    places.set(member, own);
    if (verb === 'deleted') {
      own.delete(`the ${noun} for ${subjectId}`);
    } else {
      own.add(`the ${noun} for ${subjectId}`);
      if (left.has(member)) {
        report('anomalies', `${member} has left, and ${type} at ${subjectId}: event ${sequence} of ${club}`);
      }
    }
  }
  checkLeft();
}

/** Whether an event is the end of a signup or wait that ends with a membership. */
const isPartOf = (leaving: FeedEvent, { type, memberId, actorId }: FeedEvent): boolean =>
  /^(signup|wait)\.deleted$/.test(type) && memberId === leaving.memberId && actorId === leaving.actorId;
