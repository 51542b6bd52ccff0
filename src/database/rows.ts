/** How the rows of a statement are read. */
export interface Column {
  /** In camelCase. */
  name: string;
  convert: ((text: string) => unknown) | undefined;
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

/** The columns that a RowDescription names. */
export function columnsOf(fields: { name: string; dataTypeID: number }[]): Column[] {
  return fields.map(({ name, dataTypeID }) => ({
    name: name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    convert: conversions[dataTypeID],
  }));
}

/** One row, of the texts that a DataRow holds. Throws when the session prints instants in another way than asked for. */
export function rowOf(columns: Column[], texts: (string | null)[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let index = 0; index < columns.length; index += 1) {
    const { name, convert } = columns[index] as Column;
    const text = texts[index] as string | null;
    row[name] = text === null || convert === undefined ? text : convert(text);
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
