import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../setup/wait.js';
import type { Fault } from '../chaos/history.js';
import type { Club } from '../chaos/testbed.js';
import { type Cell, type Cells, type Command, removeMoved, startMove, stateOf } from './testbed.js';

/** A move, from the start of its first command to the end of the last one. Its kind is the fault. */
export interface Move extends Fault {
  club: string;
  target: Cell['name'];
  /** How its commands ended, in words. */
  commands: string[];
  /** The seconds for which no request was served, as the command printed them; undefined if it was interrupted. */
  unservedS?: number;
  hasMoved: boolean;
}

/** What happens while a command runs; repaired when it returns. */
type Injection = (cells: Cells, command: Command, source: Cell, target: Cell) => Promise<void>;

const restart = async ({ server, proxy, database }: Cell) => {
  await server.restart('SIGKILL');
  proxy.setUpstream(server.urls(database).api);
};
const killCommand: Injection = async (_, command) => command.kill();

/** Every kind of fault, by name. */
const INJECTIONS: Record<string, Injection> = {
  'no fault': async () => {},
  'the command killed': killCommand,
  'the command killed, another time': killCommand,
  'PostgreSQL killed that the club leaves': (_, __, source) => restart(source),
  'PostgreSQL killed where the club arrives': (_, __, ___, target) => restart(target),
  'HAProxy killed': async ({ haproxy }) => {
    await haproxy.kill();
    await haproxy.start();
  },
};

/** The longest time from the start of a command to its fault, until a move without a fault shows how long it takes. */
const MOST_MS = 2_000;
/** After a fault that comes too late, the command has ended. */
const LATE = 1.2;
/** The chance that a command which continues or ends a move is killed too. */
const KILLS_OF_RECOVERY = 0.3;
/** Against hangs: half of the commands can end a move. */
const MOST_TRIES = 50;
/** The longest pause between two moves. */
const PAUSE_MS = 1_000;
/** Longer than the patience of a follower: no request that was sent before the move is under way. */
const REMOVED_AFTER_MS = 8_000;

/** Moves the clubs in turns, there and back, each time with a fault, until the end. @returns the moves */
export async function moveClubs(cells: Cells, isOver: () => boolean, random: () => number): Promise<Move[]> {
  const moves: Move[] = [];
  let order: string[] = [];
  while (!isOver()) {
    await sleep(random() * PAUSE_MS);
    if (order.length === 0) {
      order = Object.keys(INJECTIONS)
        .map((name): [number, string] => [random(), name])
        .sort()
        .map(([, name]) => name);
    }
    const club = cells.clubs[moves.length % cells.clubs.length] as Club;
    const { to: ended = 0 } = moves.findLast((move) => move.club === club.canary) ?? {};
    await until(cells.now, (now) => now - ended > REMOVED_AFTER_MS);
    await removeCopies(cells, club);
    const { from, to } = moves.findLast(({ kind }) => kind === 'no fault') ?? { from: 0, to: MOST_MS };
    const delayMs = random() * LATE * (to - from);
    moves.push(await moveClub(cells, club, order.pop() as string, { delayMs, random }));
  }
  return moves;
}

/** Removes what a database keeps of a club that has moved. @throws Error if it has an event that the other one does not have */
export async function removeCopies({ west, east }: Cells, club: Club): Promise<void> {
  for (const [source, target] of [
    [west, east],
    [east, west],
  ] as const) {
    if ((await stateOf(source, club)) === 'moved' && !(await removeMoved(source, target, club))) {
      throw new Error(
        `The ${source.name} has an event of ${club.canary} that the ${target.name} does not have.`,
      );
    }
  }
}

async function moveClub(
  cells: Cells,
  club: Club,
  kind: string,
  { delayMs, random }: { delayMs: number; random: () => number },
): Promise<Move> {
  const { west, east, now } = cells;
  const [source, target] = (await stateOf(west, club)) === 'open' ? [west, east] : [east, west];
  const move: Move = {
    ...{ kind, club: club.canary, target: target.name, commands: [], hasMoved: false },
    ...{ from: now(), to: Number.POSITIVE_INFINITY },
  };
  cells.faults.push(move);
  const command = startMove(cells, club, target);
  await sleep(delayMs);
  await INJECTIONS[kind]?.(cells, command, source, target);
  const { code, printed } = await command.ended;
  move.commands.push(wordsOf(code));
  const unserved = /No request was served for ([\d.]+) s/.exec(printed)?.[1];
  if (unserved !== undefined) {
    move.unservedS = Number(unserved);
  }
  move.hasMoved = code === 0;
  if (code !== 0) {
    await recover(cells, club, { move, source, target, random });
  }
  move.to = now();
  return move;
}

/** Resumes or aborts a move, as chance says, until it has ended. */
async function recover(
  cells: Cells,
  club: Club,
  { move, source, target, random }: { move: Move; source: Cell; target: Cell; random: () => number },
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const option = random() < 0.5 ? '--resume' : '--abort';
    const command = startMove(cells, club, target, option);
    if (random() < KILLS_OF_RECOVERY) {
      await sleep(random() * MOST_MS);
      command.kill();
    }
    const { code, printed } = await command.ended;
    move.commands.push(`${option} ${wordsOf(code)}`);
    // A command that was killed may change the state after this one.
    await untilCommandsEnd(source, target);
    const states = [await stateOf(source, club), await stateOf(target, club)].join();
    move.hasMoved = states === 'moved,open';
    // The command that resumes it changes the map.
    if (states === 'open,absent' || (move.hasMoved && option === '--resume' && code === 0)) {
      return;
    }
    if (tries === MOST_TRIES) {
      throw new Error(`The move of ${club.canary} does not end: ${states}; ${printed}`);
    }
  }
}

/** Waits until no session of a command that was killed is left. */
async function untilCommandsEnd(...cells: Cell[]): Promise<void> {
  const statement = `select pid from pg_stat_activity where datname = current_database() and usename like 'club\\_migrator%'`;
  for (const { queryAsAdmin } of cells) {
    await until(
      () => queryAsAdmin(statement),
      (sessions) => sessions.length === 0,
    );
  }
}

const wordsOf = (code: number | null) => (code === null ? 'killed' : code === 0 ? 'done' : 'failed');
