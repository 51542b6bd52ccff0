import { Type } from '@sinclair/typebox';
import { defineError } from '../errors/problem.js';
import { EVENT_ID } from '../examples.js';

export const eventsForgotten = defineError({
  code: 'events_forgotten',
  status: 410,
  title: 'Events forgotten',
  detail:
    'There is no event with the id in `after` any more, so events after it may be missing. Read the lists again, and continue after the newest event.',
  meaning:
    'The club has forgotten the event in `after`, or does not know it: it was restored from an older backup, or the id is of ' +
    'another club. A Member gets this for an event about somebody else too.',
  fix:
    'Send `GET /api/events?sort=-sequence&limit=1` and keep the `id`, then read the lists again, then continue with `after`. The ' +
    'events from `oldestSequence` on can still be read, without `after`.',
  members: {
    oldestSequence: Type.Integer({
      description: 'The `sequence` of the oldest event of the club. Absent if there is none.',
    }),
  },
  example: { request: `GET /api/events?after=${EVENT_ID}`, members: { oldestSequence: 1201 } },
});
