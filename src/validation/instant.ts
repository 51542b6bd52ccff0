const RFC_3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/i;
const FIRST_YEAR = 1970;
const LAST_YEAR = 2199;

/**
 * Converts an RFC 3339 time to UTC with six fraction digits (further digits are cut), so that two instants can be compared
 * as text. Null when the text is invalid: a part out of range, a leap second, no offset, or a year outside of 1970–2199,
 * as written or in UTC.
 */
export function toInstant(text: string): string | null {
  const match = RFC_3339.exec(text);
  if (match === null) {
    return null;
  }
  const [, written = '', fraction = '', sign, hours = '0', minutes = '0'] = match;
  const civil = written.toUpperCase();
  const local = new Date(`${civil}Z`);
  // Date accepts some times that the calendar does not have, such as 30 February.
  const isInCalendar = local.toJSON()?.slice(0, 19) === civil;
  if (!isInCalendar || Number(hours) > 23 || Number(minutes) > 59) {
    return null;
  }
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const utc = new Date(local.getTime() - offsetMs);
  if (!isYearInRange(local.getUTCFullYear()) || !isYearInRange(utc.getUTCFullYear())) {
    return null;
  }
  return `${utc.toISOString().slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`;
}

/** Whether the text is a time without an offset, such as 2026-05-01T18:00 or 2026-05-01T18:00:00, in the years 1970 to 2199. */
export function isLocalTime(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) &&
    toInstant(`${text}${text.length === 16 ? ':00' : ''}Z`) !== null
  );
}

/** Whether the text is a day of the calendar in the years 1900 to 2199. */
export function isCalendarDate(text: string): boolean {
  return /^(19|20|21)\d\d-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text);
}

function isYearInRange(year: number): boolean {
  return year >= FIRST_YEAR && year <= LAST_YEAR;
}
