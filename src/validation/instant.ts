const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/i;
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
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second,
    fraction = '',
    sign,
    offsetHour = '0',
    offsetMinute = '0',
  ] = match;
  const parts = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000 * (sign === '-' ? -1 : 1);
  if (!isCalendarTime(...parts) || Number(offsetHour) > 23 || Number(offsetMinute) > 59) {
    return null;
  }
  const [y, mo, d, h, mi, s] = parts;
  const utc = new Date(Date.UTC(y, mo - 1, d, h, mi, s) - offsetMs);
  if (!isYearInRange(y) || !isYearInRange(utc.getUTCFullYear())) {
    return null;
  }
  return `${utc.toISOString().slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`;
}

/** Whether the text is a day of the calendar in the years 1900 to 2199. */
export function isCalendarDate(text: string): boolean {
  return /^(19|20|21)\d\d-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text);
}

function isCalendarTime(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): boolean {
  const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth && hour <= 23 && minute <= 59 && second <= 59
  );
}

function isYearInRange(year: number): boolean {
  return year >= FIRST_YEAR && year <= LAST_YEAR;
}
