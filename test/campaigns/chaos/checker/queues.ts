import { type Feed, type FeedEvent, groupBy, type History } from '../history.js';
import type { Report } from './verdict.js';

/** Checks that the events of each shift give every free place to whoever is next, and lead to the queue of the final state. */
export function checkQueues({ feeds, finalState }: History, report: Report): void {
  const waits = groupBy(finalState.waits, ({ shift }) => shift);
  for (const feed of feeds) {
    const promotions = promotionsIn(feed.events);
    const moves = movesIn(feed.events);
    for (const [shift, events] of shiftsIn(feed)) {
      const queue = followQueue(events, { promotions, moves }, (proof, { sequence }) =>
        report('anomalies', `${proof} ${shift}: event ${sequence} of ${feed.club}`),
      );
      const stored = (waits.get(shift) ?? []).map(({ member }) => member);
      if (String(queue) !== String(stored)) {
        report('anomalies', `the queue of ${shift} is ${queue} by its events, and ${stored} at the end`);
      }
    }
  }
}

/** The events that are no requests: the signups of members who waited, each with the end of the wait before it. */
export function promotionsIn(events: FeedEvent[]): Set<FeedEvent> {
  const promotions = new Set<FeedEvent>();
  for (const ofShift of shiftsIn({ events }).values()) {
    for (const [index, event] of ofShift.entries()) {
      if (event.isPromotion) {
        promotions.add(event);
        const before = ofShift[index - 1];
        if (before !== undefined && isEndOfWait(before, event)) {
          promotions.add(before);
        }
      }
    }
  }
  return promotions;
}

/** The signups, waits and records that a merge has created, each after the deletion of that of the merged member. */
export function movesIn(events: FeedEvent[]): Set<FeedEvent> {
  const merged = new Set(
    events.flatMap(({ type, subjectId }) => (type === 'member.deleted' ? [subjectId] : [])),
  );
  const isMove = (event: FeedEvent, before: FeedEvent | undefined) =>
    /^(signup|wait|attendance)\.created$/.test(event.type) &&
    before?.type === event.type.replace('created', 'deleted') &&
    before.subjectId === event.subjectId &&
    before.memberId !== event.memberId &&
    merged.has(before.memberId ?? '');
  return new Set(events.filter((event, index) => isMove(event, events[index - 1])));
}

function shiftsIn({ events }: Pick<Feed, 'events'>): Map<string, FeedEvent[]> {
  const aboutPlaces = events.filter(({ type }) => /^(shift|signup|wait)\./.test(type));
  return groupBy(aboutPlaces, ({ subjectId }) => subjectId);
}

const isEndOfWait = ({ type, memberId }: FeedEvent, promotion: FeedEvent) =>
  type === 'wait.deleted' && memberId === promotion.memberId;

/**
 * Follows who is signed up and who waits in a shift, by its events. An event that is out of order is found by the check of the rows.
 *
 * @returns who waits at the end
 */
function followQueue(
  events: FeedEvent[],
  { promotions, moves }: Record<'promotions' | 'moves', Set<FeedEvent>>,
  found: (proof: string, event: FeedEvent) => void,
): string[] {
  const signedUp = new Set<string>();
  const queue: string[] = [];
  let capacity = 0;
  let lastPosition = 0;
  const checkFree = (event: FeedEvent) => {
    if (queue.length > 0 && signedUp.size < capacity) {
      found(`${queue[0]} waits beside a free place of`, event);
    }
  };
  for (const [index, event] of events.entries()) {
    const { type } = event;
    const member = event.memberId ?? '';
    const isGiven = promotions.has(event);
    const isMoved = moves.has(event);
    if (!isGiven && !isMoved) {
      checkFree(event);
    }
    capacity = event.capacity ?? capacity;
    if (type === 'shift.deleted') {
      // Its signups and waits are deleted with it.
      return [];
    }
    if (type === 'wait.created') {
      if (signedUp.has(member)) {
        found(`${member} waits, and is signed up for`, event);
      }
      // A wait that moves keeps its place.
      queue.splice(isMoved ? lastPosition : queue.length, 0, member);
    } else if (type === 'wait.deleted') {
      const position = queue.indexOf(member);
      if (isGiven && position > 0) {
        found(`${member} overtakes ${queue[0]} in the queue of`, event);
      }
      queue.splice(position, position === -1 ? 0 : 1);
      lastPosition = position;
    } else if (type === 'signup.deleted') {
      signedUp.delete(member);
    } else if (type === 'signup.created') {
      if (event.isPromotion) {
        checkPromotion(event, { end: events[index - 1], cause: events[index - 2] }, found);
      } else if (queue.length > 0 && !isMoved) {
        found(`${member} passes the queue of`, event);
      }
      signedUp.add(member);
    }
  }
  const last = events.at(-1);
  if (last !== undefined) {
    checkFree(last);
  }
  return queue;
}

/** Checks that a promotion ends a wait, and that its actor has just freed the place. */
function checkPromotion(
  event: FeedEvent,
  { end, cause }: Record<'end' | 'cause', FeedEvent | undefined>,
  found: (proof: string, event: FeedEvent) => void,
): void {
  const isFreed = cause?.isPromotion || /^(signup\.deleted|shift\.changed)$/.test(cause?.type ?? '');
  if (end === undefined || !isEndOfWait(end, event)) {
    found(`${event.memberId} is promoted without a wait in`, event);
  } else if (!isFreed || cause?.actorId !== event.actorId) {
    found(`nobody freed the place that ${event.memberId} gets in`, event);
  }
}
