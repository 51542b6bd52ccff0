import type { Sender } from './send.js';
import type { CalendarLinkDto, CallOptions } from './types.js';

export interface Calendar {
  /**
   * Creates the link to your calendar. Only this response has its `url`, which is the right to read the calendar; a link that you
   * had ends at once.
   */
  createLink(options?: CallOptions): Promise<CalendarLinkDto & { url: string }>;
  /** When your link was created and ends; `url` is null. */
  getLink(options?: CallOptions): Promise<CalendarLinkDto>;
  deleteLink(options?: CallOptions): Promise<void>;
  /** Deletes the link of a member. */
  deleteLinkOf(memberId: string, options?: CallOptions): Promise<void>;
}

/** The methods for the link to a calendar. */
export function calendarOf({ send }: Sender): Calendar {
  return {
    createLink: (options) =>
      send('createCalendarLink', { ...options }) as Promise<CalendarLinkDto & { url: string }>,
    getLink: (options) => send('getCalendarLink', { ...options }),
    deleteLink: (options) => send('deleteCalendarLink', { ...options }),
    deleteLinkOf: (memberId, options) => send('deleteCalendarLinkOf', { id: memberId, ...options }),
  };
}
