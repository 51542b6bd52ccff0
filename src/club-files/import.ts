import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type Client, isDatabaseError } from '../deploy/client.js';
import { listClubs, listMoves } from './clubs.js';
import { ClubFileRefused } from './errors.js';
import { type Header, parseHeader } from './format.js';
import type { Progress } from './progress.js';
import { enterClub, inTransaction, type Login, readFingerprint, WRITE } from './session.js';
import { type ClubTable, readTables, summarize } from './tables.js';

/** What is written at once, unless rows refer to each other. PostgreSQL reads an array of 256 MB at most. */
const ROWS_OF_A_WRITE = 1_000;
const CHARACTERS_OF_A_WRITE = 4_000_000;

/** Invalid values, violated constraints, and violated policies: the SQLSTATEs of a row that cannot be written. */
const REFUSED_ROW = /^(22|23|42501)/;

/**
 * Imports a club from a file. The club is closed then: no request sees it before an operator reopens it.
 *
 * It is one transaction as club_import, whose policies refuse rows of another club. At its end the rows are counted and hashed again, and
 * compared with the file.
 *
 * @param options.replaces whether a closed club with this id is removed first, in the same transaction
 * @returns the header of the file
 * @throws ClubFileRefused, ConnectionFailed: nothing was kept
 */
export async function importClub(
  login: Login,
  file: string,
  { progress, replaces = false }: { progress?: Progress; replaces?: boolean } = {},
): Promise<Header> {
  const lines = splitLines(textOf(file));
  try {
    const header = parseHeader((await lines.next()).value);
    if (header === undefined) {
      throw new ClubFileRefused(`${file} is not a file of a club, or has another version of the format.`);
    }
    await inTransaction(login, WRITE, async (client) => {
      await requireNoMove(client, header);
      if (replaces) {
        // Before the club is removed, which can take minutes.
        await requireRelease(client, header);
        await forgetClub(client, header);
      }
      await writeClub(client, header, { lines, progress, closedAt: new Date().toISOString(), moveId: null });
    });
    return header;
  } finally {
    await lines.return(undefined);
  }
}

export interface Arrival {
  /** The lines of the rows. */
  lines: AsyncIterator<string>;
  progress?: Progress | undefined;
  /** When the club was closed, a time; null where it is open. */
  closedAt: string | null;
  /** The move with which it arrives, if it does. */
  moveId: string | null;
}

/**
 * Writes a club as club_import, and compares what it has written with the header.
 *
 * @param client in a transaction, as club_owner
 * @throws ClubFileRefused
 */
export async function writeClub(client: Client, header: Header, arrival: Arrival): Promise<void> {
  await requireRelease(client, header);
  await requireAbsence(client, header);
  const tables = await readTables(client);
  requireTables(header, tables);
  await enterClub(client, 'club_import', header.club.id);
  await writeRows(client, header, tables, arrival);
  if (!(await arrival.lines.next()).done) {
    throw broken('there are more rows than in the header');
  }
  await requireSummaries(client, header, tables);
}

/** @throws ClubFileRefused when the club moves or has moved: another database may serve it */
async function requireNoMove(client: Client, { club }: Header): Promise<void> {
  const move = (await listMoves(client)).get(club.id);
  if (move !== undefined) {
    throw new ClubFileRefused(
      move.state === 'moved'
        ? `The club has moved to ${move.targetName}. Restore it there, or remove it here with app.forget_club first.`
        : 'The club moves. Resume or abort the move first.',
    );
  }
}

/** Removes the club that the file replaces. @throws ClubFileRefused when it is open or moves */
async function forgetClub(client: Client, { club }: Header): Promise<void> {
  if ((await listClubs(client)).some(({ id }) => id === club.id)) {
    await client.query('select app.forget_club($1)', [club.id]).catch((error) => {
      throw isDatabaseError(error)
        ? new ClubFileRefused(`The club is not replaced: ${error.message}.`)
        : error;
    });
  }
}

async function requireRelease(client: Client, { release }: Header): Promise<void> {
  const deployed = await readFingerprint(client);
  if (deployed !== release) {
    throw new ClubFileRefused(
      `The club was exported from another release (${release.slice(0, 12)}) than the database has (${deployed.slice(0, 12)}). ` +
        'Import the file into a database of its release, deploy there, and export it again.',
    );
  }
}

async function requireAbsence(client: Client, { club }: Header): Promise<void> {
  const clubs = await listClubs(client);
  if (clubs.some(({ id }) => id === club.id)) {
    throw new ClubFileRefused(
      `The database has the club ${club.slug} (${club.id}) already. To replace it, close it, and import the file with --replace.`,
    );
  }
  const other = clubs.find(({ slug }) => slug === club.slug);
  if (other !== undefined) {
    throw new ClubFileRefused(
      `Another club (${other.id}) has the slug ${club.slug}. Change it with app.rename_club.`,
    );
  }
}

function requireTables(header: Header, tables: ClubTable[]): void {
  const describe = (table: string, columns: string[]) => `${table} (${[...columns].sort().join(', ')})`;
  const inFile = header.tables.map(({ table, columns }) => describe(table, columns));
  const inDatabase = tables.map(({ name, columns }) => describe(name, columns));
  const others = [
    ...inFile.filter((table) => !inDatabase.includes(table)).map((table) => `the file has ${table}`),
    ...inDatabase.filter((table) => !inFile.includes(table)).map((table) => `the database has ${table}`),
  ];
  if (others.length > 0) {
    throw new ClubFileRefused(`The tables of the file are not those of the database: ${others.join('; ')}.`);
  }
}

async function writeRows(
  client: Client,
  header: Header,
  tables: ClubTable[],
  { lines, progress, closedAt, moveId }: Arrival,
): Promise<void> {
  for (const table of tables) {
    const { rows: expected = 0 } = header.tables.find(({ table: name }) => name === table.name) ?? {};
    const serving =
      table.name === 'app.clubs'
        ? { closed_at: closedAt, move_id: moveId, move_state: moveId && 'arriving' }
        : {};
    const takeOf = (left: number) =>
      table.refersToItself
        ? take(lines, left, Number.POSITIVE_INFINITY)
        : take(lines, Math.min(ROWS_OF_A_WRITE, left), CHARACTERS_OF_A_WRITE);
    let left = expected;
    for (let batch = await takeOf(left); batch.length > 0; ) {
      left -= batch.length;
      // In a move two databases work at once.
      const [next] = await Promise.all([takeOf(left), insert(client, table, batch, serving)]);
      progress?.advance(table.name, batch.length, header);
      batch = next;
    }
  }
}

/** Takes so many lines, or fewer that have so many characters. @throws ClubFileRefused when the file has fewer */
async function take(lines: AsyncIterator<string>, most: number, characters: number): Promise<string[]> {
  const taken: string[] = [];
  for (let length = 0; taken.length < most && length < characters; ) {
    const { value, done } = await lines.next();
    if (done) {
      throw broken('the end is missing');
    }
    taken.push(value);
    length += value.length;
  }
  return taken;
}

/** Inserts rows of a table of the club; the club in the column is that of the context. @param added values of columns that no file has */
async function insert(
  client: Client,
  { name, tenant, columns }: ClubTable,
  lines: string[],
  added: Record<string, string | null>,
): Promise<void> {
  const read = columns.filter((column) => column !== 'tenant_id').map(client.escapeIdentifier);
  const values = Object.keys(added).map((_, index) => `$${index + 3}`);
  const insertion = `
    insert into ${name} (${[...read, ...Object.keys(added)].join(', ')})
    select ${[...read.map((column) => `imported.${column}`), ...values].join(', ')}
    from jsonb_array_elements($1::jsonb) as line
    cross join lateral jsonb_populate_record(null::${name}, line -> 'row') as imported
    where line ->> 'table' = $2 and imported.${tenant} = app.tenant_id()`;
  const parameters = [`[${lines.join(',')}]`, name, ...Object.values(added)];
  const { rowCount } = await client.query(insertion, parameters).catch((error) => {
    throw isDatabaseError(error) && REFUSED_ROW.test(error.code ?? '')
      ? broken(`a row of ${name} is refused: ${error.message}`)
      : error;
  });
  if (rowCount !== lines.length) {
    throw broken(`a row of another club or table is among those of ${name}`);
  }
}

async function requireSummaries(client: Client, header: Header, tables: ClubTable[]): Promise<void> {
  for (const table of tables) {
    const { rows, hash } = await summarize(client, table);
    const expected = header.tables.find(({ table: name }) => name === table.name);
    if (rows !== expected?.rows || hash !== expected.hash) {
      throw broken(`the rows of ${table.name} are not those that were exported`);
    }
  }
}

function broken(reason: string): ClubFileRefused {
  return new ClubFileRefused(`The rows of the club cannot be imported: ${reason}. Nothing was imported.`);
}

/** The text of a compressed file, in pieces. @throws ClubFileRefused */
async function* textOf(file: string): AsyncGenerator<string> {
  const text = createGunzip().setEncoding('utf8');
  // An error of the file ends the loop below.
  pipeline(createReadStream(file), text, () => {});
  try {
    yield* text;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw code.startsWith('Z_')
      ? broken('the file is cut, or not compressed with gzip')
      : new ClubFileRefused(`The file ${file} cannot be read: ${message}.`);
  }
}

/** The lines of a text in pieces. A line ends with a line feed: other characters may be in a row. @throws ClubFileRefused */
export async function* splitLines(pieces: AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let line: string[] = [];
  for await (const piece of pieces) {
    let from = 0;
    for (let to = piece.indexOf('\n'); to !== -1; to = piece.indexOf('\n', from)) {
      line.push(piece.slice(from, to));
      yield line.join('');
      line = [];
      from = to + 1;
    }
    if (from < piece.length) {
      line.push(piece.slice(from));
    }
  }
  if (line.length > 0) {
    throw broken('the end is missing');
  }
}
