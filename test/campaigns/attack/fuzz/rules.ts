/**
 * Rules of the contract that JSON Schema cannot express, implemented a second time, independent of the service,
 * so that the two can be compared.
 */

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)t(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(z|[+-]\d\d:\d\d)$/i;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MAX_PERIOD_US = 31n * 24n * 3_600n * 1_000_000n;

/** Microseconds since 1970 of a time with an offset, truncated. Null when it is not a time. */
export function instant(text: string): bigint | null {
  const [, year = '', month = '', day = '', hour = '', minute = '', second = '', fraction = '', zone = ''] =
    RFC_3339.exec(text) ?? [];
  const isLeap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0);
  const days = month === '02' && isLeap ? 29 : MONTH_DAYS[Number(month) - 1];
  const [zoneHour = '0', zoneMinute = '0'] = /z/i.test(zone) ? [] : zone.slice(1).split(':');
  // No leap second and no year outside of 1970–2199, which a format cannot express.
  const isTime =
    zone !== '' && days !== undefined && Number(day) >= 1 && Number(day) <= days && Number(hour) <= 23 &&
    Number(minute) <= 59 && Number(second) <= 59 && Number(zoneHour) <= 23 && Number(zoneMinute) <= 59; // biome-ignore format: one condition
  if (!isTime || !isYear(Number(year))) {
    return null;
  }
  const local = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const shift = (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000 * (zone.startsWith('-') ? -1 : 1);
  const utc = local - shift;
  return isYear(new Date(utc).getUTCFullYear())
    ? BigInt(utc) * 1_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'))
    : null;
}

function isYear(year: number): boolean {
  return year >= 1970 && year <= 2199;
}

/** A text is trimmed before it is counted; NUL, lone surrogates and control characters are refused. */
export function textFault(text: string, kind: 'line' | 'block'): string | null {
  for (const character of text.trim()) {
    const code = character.codePointAt(0) as number;
    const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
    if (
      (isControl && !(kind === 'block' && (code === 9 || code === 10))) ||
      (code >= 0xd800 && code <= 0xdfff)
    ) {
      return `holds U+${code.toString(16)}`;
    }
  }
  return null;
}

/** `endsAt` is after `startsAt`, by at most 31 days: JSON Schema cannot compare two members. */
export function periodFault({ startsAt, endsAt }: Record<string, unknown>): string | null {
  const [start, end] = [startsAt, endsAt].map((time) => (typeof time === 'string' ? instant(time) : null));
  if (typeof start !== 'bigint' || typeof end !== 'bigint') {
    return null;
  }
  return end > start && end - start <= MAX_PERIOD_US ? null : 'endsAt is not within 31 days after startsAt';
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The formats of the document; `uuid` in its plain form only, `date-time` as the contract restricts it. */
export const formats: Record<string, (text: string) => boolean> = {
  uuid: (text) => UUID.test(text),
  assignee: (text) => text === 'me' || text === 'none' || UUID.test(text),
  'date-time': (text) => instant(text) !== null,
  // A day of the calendar, in the years that the contract allows for times, and some before them.
  date: (text) => /^(19|20|21)\d\d-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.slice(0, 10) === text,
  'uri-reference': (text) => URL.canParse(text, 'http://localhost'),
};

/** Visible ASCII, as in the draft of the header. */
export function isKey(key: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(key) && key.trim() === key;
}
