import { defineError } from '../errors/problem.js';
import { BEN } from '../examples.js';

/** The error of every wrong link to a calendar. */
export const calendarNotFound = defineError({
  code: 'calendar_not_found',
  status: 404,
  title: 'Calendar not found',
  detail: 'There is no such calendar link, or it has ended.',
  meaning:
    'The member has no calendar link, or the link has ended: it was replaced or deleted, is 400 days old, or its member or ' +
    'club is gone. Every wrong link has this error.',
  fix: 'The member creates a new link with `PUT /api/members/me/calendar`, and subscribes to it.',
  example: { request: `DELETE /api/members/${BEN.id}/calendar` },
});
