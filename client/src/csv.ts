export interface CsvOptions {
  /** The time zone of the club (`timeZone` of the ClubDto): each time gets a second column, with the local time. */
  timeZone?: string | undefined;
  /** What separates the columns; a comma by default. Some spreadsheets expect `;`. */
  delimiter?: string | undefined;
}

const BYTE_ORDER_MARK = '\ufeff';
const LINE_END = '\r\n';

/**
 * Rows as CSV (RFC 4180) for a spreadsheet, in UTF-8 with a byte order mark; the first line has the names of the fields of the
 * first row. Text that a spreadsheet would run as a formula begins with an apostrophe. The field `at`, and each whose name ends in
 * `At`, is a time: in UTC, and as `…Local` in the time zone, by the time zone data of the platform.
 *
 * @returns the lines, for `writeFile` or a stream
 * @throws RangeError for an unknown time zone
 */
export async function* csv(
  rows: Iterable<object> | AsyncIterable<object>,
  { timeZone, delimiter = ',' }: CsvOptions = {},
): AsyncGenerator<string, void, undefined> {
  const local = timeZone === undefined ? undefined : localTimes(timeZone);
  const isTime = (name: string) => local !== undefined && (name === 'at' || name.endsWith('At'));
  const line = (cells: unknown[]) => cells.map((cell) => written(cell, delimiter)).join(delimiter) + LINE_END;
  let names: string[] | undefined;
  for await (const row of rows as AsyncIterable<Record<string, unknown>>) {
    if (names === undefined) {
      names = Object.keys(row);
      yield BYTE_ORDER_MARK + line(names.flatMap((name) => (isTime(name) ? [name, `${name}Local`] : [name])));
    }
    yield line(names.flatMap((name) => (isTime(name) ? [row[name], local?.(row[name])] : [row[name]])));
  }
}

/** Formats a time as `2031-05-01 18:00:00` in a time zone. */
function localTimes(timeZone: string): (time: unknown) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return (time) => (typeof time === 'string' || time instanceof Date ? format.format(new Date(time)) : '');
}

function written(cell: unknown, delimiter: string): string {
  if (cell === null || cell === undefined) {
    return '';
  }
  if (typeof cell === 'string') {
    return quoted(/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell, delimiter);
  }
  if (cell instanceof Date) {
    return quoted(cell.toISOString(), delimiter);
  }
  return quoted(typeof cell === 'object' ? JSON.stringify(cell) : String(cell), delimiter);
}

/** Quotes a cell that contains any spreadsheet's separator, for every delimiter: a spreadsheet that splits at `;` finds a formula in `a;=1+1`. */
function quoted(text: string, delimiter: string): string {
  return /["\r\n,;\t]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
}
