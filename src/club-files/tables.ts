/**
 * The tables with rows of a club, as the catalog has them: those of later features too.
 */
import type { Client } from '../deploy/client.js';
import { ClubFileRefused } from './errors.js';

/** The columns of app.clubs with the state of the club in this database. No file has them. */
const SERVING = ['closed_at', 'move_id', 'move_state', 'move_target', 'moved_at'];

export interface ClubTable {
  /** The qualified name, such as app.tasks. */
  name: string;
  /** The quoted name of the column with the club. */
  tenant: string;
  /** The columns that a file has. */
  columns: string[];
  /** Whether its rows refer to each other, so that they have to be written by one statement. */
  refersToItself: boolean;
}

/** What a table has of a club. Two tables with the same summary have the same rows. */
export interface Summary {
  rows: number;
  /** The sum of the first 60 bits of the SHA-256 of each row, a decimal number. */
  hash: string;
}

/**
 * The tables of the schema app with rows of clubs, those that others refer to first.
 *
 * @param client as club_owner
 * @throws ClubFileRefused when a table has no club, or no policy for exports: its rows would be left out
 */
export async function readTables(client: Client): Promise<ClubTable[]> {
  const { rows } = await client.query<ClubTable & { isExported: boolean }>(`
    select tables.relation as name, quote_ident(tables.tenant_column) as tenant,
      array(select attname::text from pg_attribute where attrelid = tables.relid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns,
      exists (
        select from pg_constraint as key where key.conrelid = tables.relid and key.confrelid = tables.relid and key.contype = 'f'
      ) as "refersToItself",
      exists (
        select from audit.policies as policy
        where policy.relation = tables.relation and not policy.restrictive and policy.command = 'select' and 'club_export' = any (policy.roles)
      ) as "isExported"
    from audit.tables as tables
    left join app.club_tables() as referring on referring.relation = tables.relid
    where tables.schema = 'app' and tables.kind in ('table', 'partitioned table') and not tables.is_reference
    -- A table without a foreign key, such as app.events, is the last one.
    order by referring.distance nulls last, tables.relation`);
  for (const table of rows) {
    const { name, tenant, columns, isExported } = table;
    if (name === 'app.clubs') {
      table.columns = columns.filter((column) => !SERVING.includes(column));
    }
    if (tenant === null) {
      throw new ClubFileRefused(
        `The table ${name} has no column tenant_id, so its rows belong to no club. Run node dist/audit.js.`,
      );
    }
    if (!isExported) {
      throw new ClubFileRefused(`No policy lets an export read the table ${name}. Deploy again.`);
    }
  }
  return rows;
}

/** A row of a table as JSON, as a file has it: an SQL expression of the row `exported`. */
export function rowOf({ name }: ClubTable): string {
  return name === 'app.clubs'
    ? `(to_jsonb(exported) - '{${SERVING.join(',')}}'::text[])`
    : 'to_jsonb(exported)';
}

/** Counts and hashes the rows of a table that the policies of the session's role show. */
export async function summarize(client: Client, table: ClubTable): Promise<Summary> {
  const summary = `
    select count(*)::integer as rows, coalesce(sum(hash), 0)::text as hash
    from ${table.name} as exported
    cross join lateral (
      select ('x' || left(encode(sha256(convert_to(${rowOf(table)}::text, 'UTF8')), 'hex'), 15))::bit(60)::bigint
    ) as row (hash)`;
  const { rows } = await client.query<Summary>(summary);
  return rows[0] as Summary;
}
