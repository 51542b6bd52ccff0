/**
 * The command `node dist/club.js`, for operators: exports and imports a club, and moves it to another database. CLUB is an id or a slug, CELL
 * the name of the other database. It reads MIGRATION_DATABASE_URL, and for a move TARGET_DATABASE_URL, HAPROXY_MAP and HAPROXY_SOCKETS.
 */
import { parseArgs } from 'node:util';
import type { ListedClub } from './club-files/clubs.js';
import { exportClub } from './club-files/export.js';
import { countRows, type Header } from './club-files/format.js';
import { importClub } from './club-files/import.js';
import { Progress } from './club-files/progress.js';
import type { Login } from './club-files/session.js';
import { ClubMoveRefused } from './club-moves/errors.js';
import { checkRouting, routeClub } from './club-moves/haproxy.js';
import {
  abortMove,
  findClubId,
  type MoveDatabases,
  moveClub,
  type Plan,
  planMove,
  readState,
  resumeMove,
} from './club-moves/moves.js';
import { reconcileClubs } from './club-moves/reconcile.js';
import { CELL_NAME, readDeployConfig, readHaproxyConfig, readMoveConfig } from './config.js';
import { explain, OperatorError } from './database/errors.js';

/** What each command line does. Words in capitals are its values. */
const commands: Record<string, (...values: string[]) => Promise<string>> = {
  'export CLUB FILE': exportTo,
  'import FILE': (file) => importFrom(file, false),
  'import FILE --replace': (file) => importFrom(file, true),
  'move CLUB CELL --dry-run': async (name, cell) => {
    const { club, rows, replaces } = await plan(name, cell);
    const old = replaces ? ` ${cell} has its rows of an earlier move, which a move removes first.` : '';
    return `The club ${club.slug} (${club.id}) can move ${wayTo(cell)}: ${rows} rows.${old} Nothing was changed.`;
  },
  'move CLUB CELL': move,
  'move CLUB CELL --resume': async (name, cell) => {
    // Its errors after the move would hide that the club has moved.
    readHaproxyConfig();
    const { clubId, wasMoved } = await resumeMove(databasesTo(cell), name, progress);
    const done = wasMoved ? 'The club had moved already.' : 'The club has moved.';
    return `${done} ${await changeMap(clubId, cell, done)}`;
  },
  'move CLUB CELL --abort': async (name, cell) => {
    await abortMove(databasesTo(cell), name);
    return 'The move was aborted. The first database has the club as before.';
  },
  'route CLUB CELL': async (name, cell) => {
    const id = await findClubId(login(readDeployConfig().url), name);
    await requireRouting(id, cell);
    return changeMap(id, cell, `The club is ${id}.`);
  },
  'reconcile CELL --dry-run': (cell) => reconcile(cell, true),
  'reconcile CELL': (cell) => reconcile(cell, false),
};

const USAGE = `Usage:
${Object.keys(commands)
  .map((line) => `  node dist/club.js ${line}`)
  .join('\n')}
CLUB is an id or a slug, CELL the name of a cell and of its backend in HAProxy: lower-case letters, digits and hyphens.`;

const progress = new Progress(process.stderr);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    console.error(
      'Interrupted. Continue a move with --resume, or end it with --abort. Delete a file of an export.',
    );
    process.exit(1);
  });
}
try {
  console.log(await run(process.argv.slice(2)));
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}

/** Runs the command of these arguments. @throws OperatorError with the usage when there is none */
async function run(args: string[]): Promise<string> {
  const { name, values, options } = parse(args);
  for (const [line, command] of Object.entries(commands)) {
    const [first, ...rest] = line.split(' ');
    const names = rest.filter((word) => !word.startsWith('--'));
    const others = rest.slice(names.length);
    const isMeant = first === name && names.length === values.length && String(others) === String(options);
    if (isMeant && values.every((value, index) => names[index] !== 'CELL' || CELL_NAME.test(value))) {
      return command(...values);
    }
  }
  throw new OperatorError(USAGE);
}

function parse(args: string[]): { name: string | undefined; values: string[]; options: string[] } {
  const flag = { type: 'boolean' } as const;
  const options = { 'dry-run': flag, resume: flag, abort: flag, replace: flag };
  try {
    const { positionals, values: given } = parseArgs({ args, options, allowPositionals: true });
    const [name, ...values] = positionals;
    return { name, values, options: Object.keys(given).map((option) => `--${option}`) };
  } catch {
    throw new OperatorError(USAGE);
  }
}

async function exportTo(club: string, file: string): Promise<string> {
  const source = login(readDeployConfig().url);
  const header = await exportClub(source, club, { file, progress });
  const move = await readState(source, header.club.id);
  const note =
    move?.state === 'moved' ? ` It has moved to ${move.targetName}: the rows are as they were then.` : '';
  return `Exported ${describe(header)}.${note}`;
}

async function importFrom(file: string, replaces: boolean): Promise<string> {
  const target = login(readDeployConfig().url);
  const header = await importClub(target, file, { progress, replaces });
  return `Imported ${describe(header)} into ${placeOf(target)}. The club is closed; this opens it: select app.reopen_club('${header.club.id}')`;
}

/** Checks both databases and each HAProxy. */
async function plan(name: string, cell: string): Promise<Plan> {
  const planned = await planMove(databasesTo(cell), name);
  await requireRouting(planned.club.id, cell);
  return planned;
}

async function requireRouting(id: string, cell: string): Promise<void> {
  const haproxy = readHaproxyConfig();
  if (haproxy !== undefined) {
    await checkRouting(haproxy, id, cell);
  }
}

async function move(name: string, cell: string): Promise<string> {
  const planned = await plan(name, cell);
  const { club, rows } = planned;
  const seconds = ((await moveClub(databasesTo(cell), planned, progress)) / 1_000).toFixed(1);
  const done = `Moved the club ${club.slug} (${club.id}) ${wayTo(cell)}: ${rows} rows. No request was served for ${seconds} s.`;
  return `${done} ${await changeMap(club.id, cell, done)}`;
}

async function reconcile(cell: string, isDry: boolean): Promise<string> {
  const { marked, removed, closed } = await reconcileClubs(databasesTo(cell), isDry);
  const slugs = (clubs: ListedClub[]) => clubs.map(({ slug }) => slug).join(', ') || 'none';
  const { source, target } = databasesTo(cell);
  return [
    `In ${placeOf(source)}, compared with ${placeOf(target)}:`,
    `${isDry ? 'To be marked' : 'Marked'} as moved to ${cell}, which serves them: ${slugs(marked)}.`,
    `${isDry ? 'To be removed' : 'Removed'}, because they were not opened here: ${slugs(removed)}.`,
    `Not marked, because they are closed there: ${slugs(closed)}.`,
  ].join('\n');
}

/** The database of a URL, without its password. */
function placeOf({ url }: Login): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** The databases of a move, for people. */
function wayTo(cell: string): string {
  const { source, target } = databasesTo(cell);
  return `from ${placeOf(source)} to ${cell}, ${placeOf(target)}`;
}

function login(url: string): Login {
  return { url, variable: 'MIGRATION_DATABASE_URL' };
}

function databasesTo(cell: string): MoveDatabases {
  const { source, target } = readMoveConfig();
  return {
    source: login(source),
    target: { url: target, variable: 'TARGET_DATABASE_URL' },
    targetName: cell,
  };
}

/** Routes the requests of a club to another cell, or says how. @param done what was done before, for the error */
async function changeMap(id: string, cell: string, done: string): Promise<string> {
  const haproxy = readHaproxyConfig();
  if (haproxy === undefined) {
    return `Route its requests there: the line of the map is ${id} ${cell}`;
  }
  try {
    await routeClub(haproxy, id, cell);
  } catch (error) {
    throw new ClubMoveRefused(
      `${done} Its route is not changed everywhere yet: ${(error as Error).message} Then: node dist/club.js route ${id} ${cell}`,
      { cause: error },
    );
  }
  return `${haproxy.map} and ${haproxy.sockets.length} running HAProxy route its requests there.`;
}

function describe(header: Header): string {
  const { id, slug } = header.club;
  return `the club ${slug} (${id}): ${countRows(header)} rows of ${header.tables.length} tables`;
}
