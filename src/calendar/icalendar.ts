import { setImmediate as turn } from 'node:timers/promises';
import ical, {
  escape as escapeText,
  ICalEvent,
  type ICalEventData,
  ICalEventTransparency,
} from 'ical-generator';
import type { Calendar, CalendarShift } from './queries.js';

/** The longest line, in octets without its end (RFC 5545, section 3.1). */
const LINE_OCTETS = 75;
/** How often calendar programs read it again. */
const REFRESH_S = 3_600;
/** How long before its end a link says so, in milliseconds. */
const WARNING_MS = 30 * 86_400_000;
/** How long a calendar is written before other requests have their turn, in milliseconds. */
const TURN_MS = 5;

/**
 * Writes a calendar as iCalendar (RFC 5545, RFC 7986). The same calendar gives the same text. Other requests have their turn
 * meanwhile.
 */
export async function writeCalendar(calendar: Calendar, now = Date.now()): Promise<string> {
  const { linkId, createdAt, expiresAt, expiresOn, clubName, shifts } = calendar;
  const file = ical({
    // The package escapes the texts of events, and writes this one as it is.
    name: escapeText(withLineFeeds(clubName), false),
    prodId: '//Club Management Service//Shifts//EN',
    ttl: REFRESH_S,
  });
  const events: ICalEventData[] = shifts.map(eventOf);
  if (Date.parse(expiresAt) - now <= WARNING_MS) {
    events.push({
      id: linkId,
      stamp: createdAt,
      start: expiresOn,
      allDay: true,
      // Otherwise the member is busy on that day.
      transparency: ICalEventTransparency.TRANSPARENT,
      summary: 'This calendar link ends today',
      description: 'From today on this calendar is not updated. Create a new link and subscribe to it.',
    });
  }
  // The package folds a calendar, so slowly that long texts would block the process for seconds. It does not fold an event.
  let folded = '';
  let turnEndsAt = performance.now() + TURN_MS;
  for (const event of events) {
    if (performance.now() > turnEndsAt) {
      await turn();
      turnEndsAt = performance.now() + TURN_MS;
    }
    folded += new ICalEvent(event, file).toString().split('\r\n').map(fold).join('\r\n');
  }
  const [head, end] = file.toString().split(/(?=END:VCALENDAR$)/);
  // Each line ends with CRLF, the last one too; the package leaves it out.
  return `${head}${folded}${end}\r\n`;
}

/** Folds a line between characters; each further part begins with a space. */
function fold(line: string): string {
  const bytes = Buffer.from(line);
  const parts: string[] = [];
  for (let start = 0, end = LINE_OCTETS; start < bytes.length; start = end, end += LINE_OCTETS - 1) {
    while (((bytes[end] ?? 0) & 0xc0) === 0x80) {
      end -= 1;
    }
    parts.push(bytes.toString('utf8', start, end));
  }
  return parts.join('\r\n ');
}

function eventOf({ id, title, location, description, startsAt, endsAt, updatedAt, version }: CalendarShift) {
  // Times in the file have whole seconds, and an event may not end when it starts.
  const start = Math.floor(Date.parse(startsAt) / 1_000) * 1_000;
  return {
    id,
    sequence: version - 1,
    stamp: updatedAt,
    lastModified: updatedAt,
    start: startsAt,
    end: new Date(Math.max(Date.parse(endsAt), start + 1_000)),
    summary: withLineFeeds(title),
    location: location && withLineFeeds(location),
    description: description && withLineFeeds(description),
  };
}

/** A text whose line and paragraph separators of Unicode are line feeds: calendar programs show nothing for these. */
function withLineFeeds(text: string): string {
  return text.replaceAll(/[\u2028\u2029]/g, '\n');
}
