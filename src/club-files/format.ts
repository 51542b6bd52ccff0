/**
 * The format of a club file: lines of JSON, compressed with gzip. The first line is the header; each further one is a row, with the name of
 * its table. The tables have the order of the header.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { ClubTable } from './tables.js';

export const FORMAT = 'club-management-service club, version 1';

const HeaderSchema = Type.Object({
  format: Type.Literal(FORMAT),
  /** The fingerprint of the release that the database had. */
  release: Type.String(),
  club: Type.Object({
    id: Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
    slug: Type.String(),
    name: Type.String(),
    closedAt: Type.Union([Type.String(), Type.Null()]),
  }),
  exportedAt: Type.String(),
  tables: Type.Array(
    Type.Object({
      table: Type.String(),
      columns: Type.Array(Type.String()),
      rows: Type.Integer({ minimum: 0 }),
      hash: Type.String(),
    }),
  ),
});

export type Header = Static<typeof HeaderSchema>;

/** The number of rows of all tables. */
export function countRows({ tables }: Header): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}

/** A line of a row. @param row JSON that PostgreSQL wrote, in which numbers may have more digits than those of JavaScript */
export function rowLine({ name }: ClubTable, row: string): string {
  return `{"table": "${name}", "row": ${row}}\n`;
}

/** The header in the first line of a file; undefined if it has none. */
export function parseHeader(line: string | undefined): Header | undefined {
  try {
    const header: unknown = JSON.parse(line ?? '');
    return Value.Check(HeaderSchema, header) ? header : undefined;
  } catch {
    return undefined;
  }
}
