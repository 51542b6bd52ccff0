import { open, unlink } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type pg from 'pg';
import { ClubFileRefused } from './errors.js';
import { FORMAT, type Header, rowLine } from './format.js';
import type { Progress } from './progress.js';
import { enterClub, inTransaction, type Login, listClubs, readFingerprint, SNAPSHOT } from './session.js';
import { type ClubTable, readTables, rowOf, summarize } from './tables.js';

/** How many rows are read at once. A stored response can have 400 KB. */
const ROWS_OF_A_READ = 200;

/** A club to export: its header has been read, its rows are read as the lines are. */
export interface ExportedClub {
  header: Header;
  /** The lines of a club file, several at once. */
  lines: AsyncGenerator<string>;
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
  file: string,
  progress: Progress,
): Promise<Header> {
  return inTransaction(login, SNAPSHOT, async (client) => {
    const { header, lines } = await readClub(client, club, progress);
    await writeFile(file, lines);
    return header;
  });
}

/**
 * Reads a club as club_export, whose policies show the rows of this club only.
 *
 * @param client in a transaction of one snapshot, as club_owner
 * @param club the id or the slug
 * @throws ClubFileRefused
 */
export async function readClub(client: pg.Client, club: string, progress?: Progress): Promise<ExportedClub> {
  const tables = await readTables(client);
  const header = await readHeader(client, club, tables);
  return { header, lines: linesOf(client, header, tables, progress) };
}

async function readHeader(client: pg.Client, club: string, tables: ClubTable[]): Promise<Header> {
  const release = await readFingerprint(client);
  const found = (await listClubs(client)).find(({ id, slug }) => id === club.toLowerCase() || slug === club);
  if (found === undefined) {
    throw new ClubFileRefused(
      `There is no club with the id or slug ${club}. select * from app.list_clubs() lists all.`,
    );
  }
  const { id, slug, name, closedAt } = found;
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

async function* linesOf(
  client: pg.Client,
  header: Header,
  tables: ClubTable[],
  progress?: Progress,
): AsyncGenerator<string> {
  yield `${JSON.stringify(header)}\n`;
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

/** Writes a new file, or none. @throws ClubFileRefused; what the lines threw */
async function writeFile(file: string, lines: AsyncGenerator<string>): Promise<void> {
  const refuse = (error: NodeJS.ErrnoException): never => {
    throw error.syscall === undefined
      ? error
      : new ClubFileRefused(`The file ${file} cannot be written: ${error.message}.`);
  };
  const handle = await open(file, 'wx', 0o600).catch(refuse);
  await pipeline(lines, createGzip(), handle.createWriteStream({ flush: true })).catch(async (error) => {
    await unlink(file);
    refuse(error);
  });
}
