/**
 * The format of a club file: lines of JSON, compressed with gzip. The first line is the header; each further one is a row, with the name of
 * its table. The tables have the order of the header.
 */
import type { ListedClub } from './session.js';
import type { ClubTable, Summary } from './tables.js';

export const FORMAT = 'club-management-service club, version 1';

export interface Header {
  format: typeof FORMAT;
  /** The fingerprint of the release that the database had. */
  release: string;
  club: ListedClub;
  exportedAt: string;
  tables: ({ table: string; columns: string[] } & Summary)[];
}

/** A line of a row. @param row JSON that PostgreSQL wrote, in which numbers may have more digits than those of JavaScript */
export function rowLine({ name }: ClubTable, row: string): string {
  return `{"table": "${name}", "row": ${row}}\n`;
}

/** The header in the first line of a file; undefined if it has none. */
export function parseHeader(line: string | undefined): Header | undefined {
  try {
    const header = JSON.parse(line ?? '');
    return header?.format === FORMAT ? header : undefined;
  } catch {
    return undefined;
  }
}
