/**
 * The command `node dist/club.js`, for operators: exports and imports a club, and moves it to another database. CLUB is an id or a slug, CELL
 * the name of the other database. It reads MIGRATION_DATABASE_URL, and for a move TARGET_DATABASE_URL, HAPROXY_MAP and HAPROXY_SOCKETS.
 */
import { ClubFileRefused } from './club-files/errors.js';
import { exportClub } from './club-files/export.js';
import type { Header } from './club-files/format.js';
import { importClub } from './club-files/import.js';
import { Progress } from './club-files/progress.js';
import type { Login } from './club-files/session.js';
import { routeClub } from './club-moves/haproxy.js';
import { abortMove, moveClub, planMove, type Route, reconcileClubs, resumeMove } from './club-moves/moves.js';
import { readDeployConfig, readMoveConfig } from './config.js';
import { explain } from './database/errors.js';

const USAGE = `Usage: node dist/club.js export CLUB FILE
       node dist/club.js import FILE
       node dist/club.js move CLUB CELL [--dry-run | --resume | --abort]
       node dist/club.js reconcile CELL`;

const progress = new Progress(process.stderr);

try {
  console.log(await run(process.argv.slice(2)));
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}

async function run([command, first = '', second = '', option = '', ...more]: string[]): Promise<string> {
  const given = `${command}${first && ' 1'}${second && ' 2'}${option && ` ${option}`}${more.length > 0 ? ' more' : ''}`;
  switch (given) {
    case 'export 1 2':
      return `Exported ${describe(await exportClub(login(readDeployConfig().url), first, second, progress))}.`;
    case 'import 1': {
      const header = await importClub(login(readDeployConfig().url), first, progress);
      return `Imported ${describe(header)}. The club is closed; this opens it: select app.reopen_club('${header.club.id}')`;
    }
    case 'move 1 2 --dry-run': {
      const { club, rows } = await planMove(routeTo(second), first, progress);
      return `The club ${club.slug} (${club.id}) can move to ${second}: ${rows} rows. Nothing was changed.`;
    }
    case 'move 1 2': {
      const plan = await planMove(routeTo(second), first, progress);
      const ms = await moveClub(routeTo(second), plan, progress);
      const moved = `Moved the club ${plan.club.slug} (${plan.club.id}) to ${second}: ${plan.rows} rows. No request was served for ${(ms / 1_000).toFixed(1)} s.`;
      return `${moved} ${await changeMap(plan.club.id, second)}`;
    }
    case 'move 1 2 --resume': {
      const { id, wasMoved } = await resumeMove(routeTo(second), first, progress);
      return `${wasMoved ? 'The club had moved already.' : 'Moved the club.'} ${await changeMap(id, second)}`;
    }
    case 'move 1 2 --abort':
      await abortMove(routeTo(second), first);
      return `The move was aborted. This database serves the club.`;
    case 'reconcile 1': {
      const marked = await reconcileClubs(routeTo(first));
      return `${first} has ${marked.length} clubs that this database had not marked as moved: ${marked.map(({ slug }) => slug).join(', ') || 'none'}.`;
    }
    default:
      throw new ClubFileRefused(USAGE);
  }
}

function login(url: string): Login {
  return { url, variable: 'MIGRATION_DATABASE_URL' };
}

function routeTo(name: string): Route {
  const { source, target } = readMoveConfig();
  return { source: login(source), target: { url: target, variable: 'TARGET_DATABASE_URL' }, name };
}

/** Routes the requests of a club to another cell, or says how. */
async function changeMap(id: string, cell: string): Promise<string> {
  const { map, sockets } = readMoveConfig();
  if (map === undefined) {
    return `Route its requests there: the line of the map is ${id} ${cell}`;
  }
  await routeClub({ map, sockets }, id, cell);
  return `${map} and ${sockets.length} running HAProxy route its requests there.`;
}

function describe({ club, tables }: Header): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `the club ${club.slug} (${club.id}): ${rows} rows of ${tables.length} tables`;
}
