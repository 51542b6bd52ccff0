import { setTimeout as sleep } from 'node:timers/promises';
import type { Feed } from './history.js';
import { foreignIn } from './member.js';
import type { Club, Target } from './testbed.js';
import { openWire } from './wire.js';

/** Whether a body has events and nothing else: it may be the response to another request. */
const isPageOfEvents = (body: { sequence?: number; type?: string }[]): boolean =>
  Array.isArray(body) && body.every(({ sequence, type }) => sequence !== undefined && type !== undefined);

/** Shorter than the faults that freeze a connection: a follower asks again. */
const PATIENCE_MS = 5_000;
/** The failed requests after which a follower gives up, when nothing is written any more. */
const LAST_TRIES = 50;

/**
 * Follows the events of a club over HTTP, from its first one: asks for what is after the last one that it read, and asks again
 * after any fault. It ends when nothing is written any more and nothing is left to read.
 */
export async function follow(
  target: Target,
  club: Club,
  { limit, restMs, isOver }: { limit: number; restMs: number; isOver: () => Promise<boolean> },
): Promise<Feed> {
  const { entrances, clubs } = target;
  const entrance = entrances[clubs.indexOf(club) % entrances.length] as string;
  const { send, close } = openWire(entrance, PATIENCE_MS);
  const headers = {
    authorization: `Bearer ${target.token(club, 'boss', 'Admin')}`,
    'x-tenant-id': club.id,
  };
  const feed: Feed = { club: club.canary, events: [], refused: [], foreign: [] };
  let tries = 0;
  while (tries < LAST_TRIES && feed.refused.length === 0) {
    // Before the request: what is written after it is read by the next one.
    const isLast = await isOver();
    const last = feed.events.at(-1);
    const after = last === undefined ? '' : `&after=${last.id}`;
    const response = await send('GET', `/api/events?limit=${limit}${after}`, headers);
    if ('failure' in response || response.status >= 500) {
      tries += isLast ? 1 : 0;
      await sleep(100);
    } else if (response.status !== 200 || !isPageOfEvents(response.body)) {
      feed.refused.push(response.text);
    } else {
      feed.foreign.push(...foreignIn(response.text, target, club.canary));
      for (const { id, sequence, type, subjectId, actorId, memberId, changes } of response.body) {
        const { capacity, promotedAt, status } = changes;
        feed.events.push({
          ...{ id, sequence, type, subjectId, actorId, memberId },
          ...(typeof capacity?.to === 'number' && { capacity: capacity.to }),
          ...(promotedAt !== undefined && { isPromotion: true }),
          ...(type === 'member.changed' && status !== undefined && { status: status.to }),
        });
      }
      if (response.body.length === 0 && isLast) {
        break;
      }
      await sleep(response.body.length === limit ? 0 : restMs);
    }
  }
  close();
  return feed;
}
