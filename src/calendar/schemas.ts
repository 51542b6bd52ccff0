import { type Static, Type } from '@sinclair/typebox';
import { BEN, CALENDAR_SECRET, CLUB_ID } from '../examples.js';
import { IdParams, Nullable, Timestamp } from '../validation/schemas.js';

export const CalendarLinkDto = Type.Object(
  {
    url: Nullable(
      Type.String({
        description:
          'The URL to subscribe to. It is the right to read the calendar: keep it like a password. Null, except in the response that creates it.',
      }),
    ),
    createdAt: Timestamp(),
    expiresAt: Timestamp(),
  },
  {
    $id: 'CalendarLinkDto',
    examples: [
      { url: null, createdAt: '2026-04-02T07:15:00Z', expiresAt: '2027-05-07T07:15:00Z' },
      {
        url: `https://clubs.example.org/calendars/${CLUB_ID}/${CALENDAR_SECRET}.ics`,
        createdAt: '2026-04-02T07:15:00Z',
        expiresAt: '2027-05-07T07:15:00Z',
      },
    ],
  },
);
export type CalendarLinkDto = Static<typeof CalendarLinkDto>;

export const CalendarLinkParams = IdParams('member', BEN.id);

/** The path of a calendar. Its handler checks it, because every wrong link has the same response. */
export const CalendarParams = Type.Object({
  clubId: Type.String({ description: 'The id of the club.', examples: [CLUB_ID] }),
  secret: Type.String({ description: 'The secret of the link.', examples: [CALENDAR_SECRET] }),
});
