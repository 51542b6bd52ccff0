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
import { followStates, type Meaning, type Model, type State } from './states.js';
import { describe, type Report } from './verdict.js';

// The state of a membership: undefined, or that the member has left.
const LEFT = 'Left';

/** Checks that whoever has left is refused, and nobody else, and gets and keeps no place in a shift to come. */
export function checkMemberships({ operations, finalState, feeds }: History, report: Report): void {
  const statuses = new Map(finalState.members.map(({ id, status }) => [id, status]));
  for (const [member, requests] of requestsAbout(operations)) {
    const { contradiction, mayEnd } = followStates(requests, membershipOf(member));
    const status = statuses.get(member);
    if (contradiction !== undefined) {
      report('lost', `nothing explains ${describe(contradiction)} about the membership of ${member}`);
    } else if (!mayEnd(status === LEFT ? LEFT : undefined)) {
      report('lost', `${member} is ${status}, contrary to an acknowledged answer`);
    }
  }
  // All shifts with signups and waits are to come.
  for (const { member, shift } of [...finalState.signups, ...finalState.waits]) {
    if (statuses.get(member) === LEFT) {
      report('anomalies', `${member} has left, and is in the shift ${shift}`);
    }
  }
  for (const feed of feeds) {
    checkPlacesOfLeavers(feed, report);
  }
}

/** The requests whose responses depend on the membership of each member, and those that change it. */
function requestsAbout(operations: Operation[]): Map<string, Operation[]> {
  const named = operations.filter(({ kind }) => /^assign|membership$/.test(kind));
  return groupBy(
    [
      // Each attempt with a key shows whether the caller has left.
      ...operations.map(({ key, ...operation }) => ({ ...operation, person: operation.member })),
      ...named.flatMap((operation) =>
        operation.holder === undefined || operation.holder === operation.member
          ? []
          : [{ ...operation, person: operation.holder }],
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
  const shows =
    (shown: State): Meaning =>
    (state) =>
      state === shown ? [state] : [];
  const isOwn = member === person;
  if (!isOwn && kind.endsWith('membership')) {
    return isDone(operation) || isUnknown(operation)
      ? () => [kind === 'end membership' ? LEFT : undefined]
      : undefined;
  }
  if (isUnknown(operation) || (!isOwn && code === 'shift_not_found')) {
    return undefined;
  }
  return shows(code === (isOwn ? 'membership_ended' : 'member_not_found') ? LEFT : undefined);
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
