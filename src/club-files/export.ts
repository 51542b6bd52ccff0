import { open, unlink } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from '../deploy/client.js';
import { findClub } from './clubs.js';
import { ClubFileRefused } from './errors.js';
import { FORMAT, type Header, rowLine } from './format.js';
import type { Progress } from './progress.js';
import { enterClub, inTransaction, type Login, readFingerprint, SNAPSHOT } from './session.js';
import { type ClubTable, readTables, rowOf, summarize } from './tables.js';

/** How many rows are read at once. A stored response can have 400 KB. */
const ROWS_OF_A_READ = 200;

/** A club to export: its header has been read, its rows are read as the lines are. */
export interface ExportedClub {
  header: Header;
  /** The lines of the rows, several at once. */
  rows: AsyncGenerator<string>;
}

/**
 * Exports a club to a new file that only its owner may read: it has personal data, stored responses and hashes of secrets.
 *
 * @param club the id or the slug
 * @returns the header of the file
 * @throws ClubFileRefused; ConnectionFailed
 */
export async function exportClub(
  login: Login,
  club: string,
  { file, progress }: { file: string; progress?: Progress },
): Promise<Header> {
  return inTransaction(login, SNAPSHOT, async (client) => {
    const exported = await readClub(client, club, progress);
    await writeFile(file, exported);
    return exported.header;
  });
}

/**
 * Reads a club as club_export, whose policies show the rows of this club only.
 *
 * @param client in a transaction of one snapshot, as club_owner
 * @param club the id or the slug
 * @throws ClubFileRefused
 */
export async function readClub(client: Client, club: string, progress?: Progress): Promise<ExportedClub> {
  const tables = await readTables(client);
  const header = await readHeader(client, club, tables);
  return { header, rows: readRows(client, header, { tables, progress }) };
}

async function readHeader(client: Client, club: string, tables: ClubTable[]): Promise<Header> {
  const release = await readFingerprint(client);
  const { id, slug, name, closedAt } = await findClub(client, club);
  await enterClub(client, 'club_export', id);
  const { rows } = await client.query('select to_json(now()) as "exportedAt"');
  const header: Header = {
    format: FORMAT,
    release,
    club: { id, slug, name, closedAt },
    exportedAt: rows[0].exportedAt,
    tables: [],
  };
  for (const table of tables) {
    header.tables.push({
      table: table.name,
      columns: table.columns,
      ...(await summarize(client, table)),
    });
  }
  return header;
}

async function* readRows(
  client: Client,
  header: Header,
  { tables, progress }: { tables: ClubTable[]; progress: Progress | undefined },
): AsyncGenerator<string> {
  for (const table of tables) {
    const cursor = `declare rows no scroll cursor for select ${rowOf(table)}::text as row from ${table.name} as exported`;
    await client.query(cursor);
    for (;;) {
      const { rows } = await client.query<{ row: string }>(`fetch ${ROWS_OF_A_READ} from rows`);
      if (rows.length === 0) {
        break;
      }
      yield rows.map(({ row }) => rowLine(table, row)).join('');
      progress?.advance(table.name, rows.length, header);
    }
    await client.query('close rows');
  }
}

async function* linesOf({ header, rows }: ExportedClub): AsyncGenerator<string> {
  yield `${JSON.stringify(header)}\n`;
  yield* rows;
}

/** Writes a new file, or none. @throws ClubFileRefused; what the rows threw */
async function writeFile(file: string, club: ExportedClub): Promise<void> {
  const refuse = (error: NodeJS.ErrnoException): never => {
    throw error.syscall === undefined
      ? error
      : new ClubFileRefused(`The file ${file} cannot be written: ${error.message}.`);
  };
  const handle = await open(file, 'wx', 0o600).catch(refuse);
  await pipeline(linesOf(club), createGzip(), handle.createWriteStream({ flush: true })).catch(
    async (error) => {
      await unlink(file);
      refuse(error);
    },
  );
}
