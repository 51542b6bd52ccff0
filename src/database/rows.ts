/** How the rows of a statement are read. */
export interface Column {
  /** In camelCase. */
  name: string;
  convert: ((text: string) => unknown) | undefined;
  /** Whether its texts are ASCII, whatever is in the column. */
  isAscii: boolean;
}

/** PostgreSQL prints a timestamptz in UTC as `2026-05-01 18:00:00.123456+00`. */
const UTC_SUFFIX = '+00';

/** What is not text, by the type's OID in pg_type. A bigint stays text: JavaScript's numbers cannot hold it. */
const conversions: Record<number, (text: string) => unknown> = {
  16: (text) => text === 't', // boolean
  21: Number, // smallint
  23: Number, // integer
  1009: readTextArray,
  // As text: JavaScript's Date would cut microseconds to milliseconds.
  1184: toRfc3339,
};

/** Types whose every value is printed in ASCII: those above but the array, and uuid. */
const ASCII_TYPES = [16, 21, 23, 1184, 2950];

/** The columns that a RowDescription names. */
export function columnsOf(fields: { name: string; dataTypeID: number }[]): Column[] {
  return fields.map(({ name, dataTypeID }) => ({
    name: name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    convert: conversions[dataTypeID],
    isAscii: ASCII_TYPES.includes(dataTypeID),
  }));
}

/** Some of what the server sent, with all of it as text, of which a column is a part: cheaper than a string for each. */
export class Piece {
  readonly bytes: Buffer;
  /** Each byte as one character, so it can be cut where the bytes would be. */
  readonly #latin1: string;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.#latin1 = bytes.toString('latin1');
  }

  /** The text between two bytes, each of which is known to be a character of ASCII. */
  ascii(from: number, to: number): string {
    return this.#latin1.slice(from, to);
  }

  /** The text between two bytes; UTF-8 differs from the characters only where one is beyond ASCII. */
  text(from: number, to: number): string {
    const text = this.ascii(from, to);
    return BEYOND_ASCII.test(text) ? this.bytes.toString('utf8', from, to) : text;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with them
const BEYOND_ASCII = /[^\x00-\x7f]/;
const NULL = -1;

/**
 * Reads one row: behind the number of columns, of each its length (-1 for null) and its text
 * (https://www.postgresql.org/docs/current/protocol-message-formats.html, "DataRow").
 *
 * @param at where the number of columns is
 * @throws when the session prints instants in another way than asked for
 */
export function readRow(columns: Column[], piece: Piece, at: number): Record<string, unknown> {
  const { bytes } = piece;
  const row: Record<string, unknown> = {};
  let from = at + 2;
  for (const { name, convert, isAscii } of columns) {
    const length = bytes.readInt32BE(from);
    from += 4;
    if (length === NULL) {
      row[name] = null;
    } else {
      const to = from + length;
      const text = isAscii ? piece.ascii(from, to) : piece.text(from, to);
      row[name] = convert === undefined ? text : convert(text);
      from = to;
    }
  }
  return row;
}

/** `2026-05-01 18:00:00.5+00` becomes `2026-05-01T18:00:00.5Z`; `infinity`, a sort key, stays. */
function toRfc3339(text: string): string {
  if (text === 'infinity') {
    return text;
  }
  if (!text.endsWith(UTC_SUFFIX)) {
    throw new Error('The session is not in UTC.');
  }
  return `${text.slice(0, 10)}T${text.slice(11, -UTC_SUFFIX.length)}Z`;
}

/** Only for arrays of plain words, such as states. */
function readTextArray(text: string): string[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',');
}
