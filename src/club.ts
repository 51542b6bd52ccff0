/**
 * The command `node dist/club.js`, for operators: exports and imports a club, and moves it to another database. CLUB is an id or a slug, CELL
 * the name of the other database. It reads MIGRATION_DATABASE_URL, and for a move TARGET_DATABASE_URL, HAPROXY_MAP and HAPROXY_SOCKETS.
 */
import { parseArgs } from 'node:util';
import { ClubFileRefused } from './club-files/errors.js';
import { exportClub } from './club-files/export.js';
import type { Header } from './club-files/format.js';
import { importClub } from './club-files/import.js';
import { Progress } from './club-files/progress.js';
import type { ListedClub, Login } from './club-files/session.js';
import { checkRouting, routeClub } from './club-moves/haproxy.js';
import {
  abortMove,
  findClub,
  moveClub,
  type Plan,
  planMove,
  type Route,
  readState,
  reconcileClubs,
  resumeMove,
} from './club-moves/moves.js';
import { readDeployConfig, readHaproxyConfig, readMoveConfig } from './config.js';
import { explain } from './database/errors.js';

const USAGE = `Usage: node dist/club.js export CLUB FILE
       node dist/club.js import FILE [--replace]
       node dist/club.js move CLUB CELL [--dry-run | --resume | --abort]
       node dist/club.js route CLUB CELL
       node dist/club.js reconcile CELL [--dry-run]
CLUB is an id or a slug, CELL the name of a backend: lower-case letters, digits and hyphens.`;

/** The commands: their name, the number of their values and the option, if one is given. */
const commands: Record<string, (first: string, second: string) => Promise<string>> = {
  'export 2': exportTo,
  'import 1': (file) => importFrom(file, false),
  'import 1 replace': (file) => importFrom(file, true),
  'move 2 dry-run': async (name, cell) => {
    const { club, rows } = await plan(name, cell);
    return `The club ${club.slug} (${club.id}) can move to ${cell}: ${rows} rows. Nothing was changed.`;
  },
  'move 2': move,
  'move 2 resume': async (name, cell) => {
    await requireRouting(await findClub(routeTo(cell).source, name), cell);
    const { id, wasMoved } = await resumeMove(routeTo(cell), name, progress);
    const done = wasMoved ? 'The club had moved already.' : 'The club has moved.';
    return `${done} ${await changeMap(id, cell, done)}`;
  },
  'move 2 abort': async (name, cell) => {
    await abortMove(routeTo(cell), name);
    return 'The move was aborted. The first database has the club as before.';
  },
  'route 2': async (name, cell) => {
    const id = await findClub(login(readDeployConfig().url), name);
    await requireRouting(id, cell);
    return changeMap(id, cell, `The club is ${id}.`);
  },
  'reconcile 1': (cell) => reconcile(cell, false),
  'reconcile 1 dry-run': (cell) => reconcile(cell, true),
};

const progress = new Progress(process.stderr);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
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

async function run(given: string[]): Promise<string> {
  const { name, values, option } = parse(given);
  const [first = '', second = ''] = values;
  const command = commands[[name, values.length, ...option].join(' ')];
  const cell = name === 'move' || name === 'route' ? second : name === 'reconcile' ? first : 'none';
  if (command === undefined || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(cell)) {
    throw new ClubFileRefused(USAGE);
  }
  return command(first, second);
}

function parse(args: string[]): { name: string; values: string[]; option: string[] } {
  const flag = { type: 'boolean' } as const;
  const options = { 'dry-run': flag, resume: flag, abort: flag, replace: flag };
  try {
    const { positionals, values } = parseArgs({ args, options, allowPositionals: true });
    const [name = '', ...rest] = positionals;
    return { name, values: rest, option: Object.keys(values) };
  } catch {
    throw new ClubFileRefused(USAGE);
  }
}

async function exportTo(club: string, file: string): Promise<string> {
  const source = login(readDeployConfig().url);
  const header = await exportClub(source, club, file, progress);
  const state = await readState(source, header.club.id);
  const note =
    state?.state === 'moved' ? ` It has moved to ${state.target}: the rows are as they were then.` : '';
  return `Exported ${describe(header)}.${note}`;
}

async function importFrom(file: string, replaces: boolean): Promise<string> {
  const header = await importClub(login(readDeployConfig().url), file, progress, { replaces });
  return `Imported ${describe(header)}. The club is closed; this opens it: select app.reopen_club('${header.club.id}')`;
}

/** Checks both databases and each HAProxy. */
async function plan(name: string, cell: string): Promise<Plan> {
  const planned = await planMove(routeTo(cell), name);
  await requireRouting(planned.club.id, cell);
  return planned;
}

async function requireRouting(id: string, cell: string): Promise<void> {
  const { map, sockets } = readHaproxyConfig();
  await (map === undefined ? undefined : checkRouting({ map, sockets }, id, cell));
}

async function move(name: string, cell: string): Promise<string> {
  const planned = await plan(name, cell);
  const { club, rows } = planned;
  const seconds = ((await moveClub(routeTo(cell), planned, progress)) / 1_000).toFixed(1);
  const done = `Moved the club ${club.slug} (${club.id}) to ${cell}: ${rows} rows. No request was served for ${seconds} s.`;
  return `${done} ${await changeMap(club.id, cell, done)}`;
}

async function reconcile(cell: string, isDry: boolean): Promise<string> {
  const { marked, closed } = await reconcileClubs(routeTo(cell), isDry);
  const slugs = (clubs: ListedClub[]) => clubs.map(({ slug }) => slug).join(', ') || 'none';
  const { source, target } = routeTo(cell);
  return [
    `In ${placeOf(source)}, compared with ${placeOf(target)}:`,
    `${isDry ? 'To be marked' : 'Marked'} as moved to ${cell}, which serves them: ${slugs(marked)}.`,
    `Not marked, because they are closed there: ${slugs(closed)}.`,
  ].join('\n');
}

/** The database of a URL, without its password. */
function placeOf({ url }: Login): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

function login(url: string): Login {
  return { url, variable: 'MIGRATION_DATABASE_URL' };
}

function routeTo(name: string): Route {
  const { source, target } = readMoveConfig();
  return { source: login(source), target: { url: target, variable: 'TARGET_DATABASE_URL' }, name };
}

/** Routes the requests of a club to another cell, or says how. @param done what was done before, for the error */
async function changeMap(id: string, cell: string, done: string): Promise<string> {
  const { map, sockets } = readHaproxyConfig();
  if (map === undefined) {
    return `Route its requests there: the line of the map is ${id} ${cell}`;
  }
  try {
    await routeClub({ map, sockets }, id, cell);
  } catch (error) {
    throw new ClubFileRefused(
      `${done} Its requests are not routed there yet: ${(error as Error).message} Then: node dist/club.js route ${id} ${cell}`,
    );
  }
  return `${map} and ${sockets.length} running HAProxy route its requests there.`;
}

function describe({ club, tables }: Header): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `the club ${club.slug} (${club.id}): ${rows} rows of ${tables.length} tables`;
}
