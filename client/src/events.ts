import type { List } from './list.js';
import type { Sender } from './send.js';
import type { CallOptions, ClubEvent, EventFilter, FollowOptions } from './types.js';

export interface Events {
  list(filter?: EventFilter, options?: CallOptions): List<ClubEvent>;
  /**
   * The events after one, oldest first, and then each new one. The loop ends when the signal is aborted.
   *
   * @throws EventsForgottenError when the event `after` is forgotten: read the lists again. What a call throws: go on with
   *   the `id` of the last event, or pass `retry` to the client to wait for the service for longer.
   */
  follow(options?: FollowOptions): AsyncGenerator<ClubEvent, void, undefined>;
}

const EVERY_MS = 5_000;
/** The longest page of the service. */
const LIMIT = 500;

/** The methods for events. */
export function eventsOf({ list, wait }: Sender): Events {
  const listEvents: Events['list'] = (filter = {}, options = {}) =>
    list('listEvents', filter, options) as List<ClubEvent>;
  return {
    list: listEvents,
    follow: async function* ({ after, everyMs = EVERY_MS, signal } = {}) {
      let last = after;
      try {
        for (;;) {
          const { items, next } = await listEvents({ after: last, limit: LIMIT }, { signal }).page();
          for (const event of items) {
            yield event;
            signal?.throwIfAborted();
            last = event.id;
          }
          if (next === undefined) {
            // Jitter, so that followers that start together do not ask together.
            await wait(everyMs * (0.75 + Math.random() / 2), signal);
          }
        }
      } catch (error) {
        if (signal?.aborted !== true || error !== signal.reason) {
          throw error;
        }
      }
    },
  };
}
