/**
 * Moves a club to another database of the same release, while its clients get 503 for a moment.
 *
 * Three commits decide, in this order: the club leaves the source, it has moved from the source, it is open at the target. So one database
 * at most serves it, and a move that was interrupted anywhere is resumed, or aborted before the second commit. The chapter
 * 85_club_moves.sql describes the states.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { readClub } from '../club-files/export.js';
import { singly, writeClub } from '../club-files/import.js';
import type { Progress } from '../club-files/progress.js';
import {
  inTransaction,
  type ListedClub,
  type Login,
  listClubs,
  readFingerprint,
  SNAPSHOT,
  WRITE,
} from '../club-files/session.js';
import { SQLSTATE } from '../database/sql-states.js';
import { ClubMoveRefused } from './errors.js';

/** The two databases of a move. */
export interface Route {
  /** The database that the club leaves. */
  source: Login;
  target: Login;
  /** The name of the target, which the source remembers. */
  name: string;
}

/** The state of a club in a database; null in a club that is in no move, undefined if there is no such club. */
type State = { moveId: string; state: 'leaving' | 'moved' | 'arriving'; target: string | null } | null;

/** What a check of a move has found. */
export interface Plan {
  club: ListedClub;
  /** The rows of all tables. */
  rows: number;
}

type Call =
  | 'select app.begin_move($1, $2, $3)'
  | 'select app.end_move($1, $2)'
  | 'select app.open_club($1, $2)'
  | 'select app.abort_move($1, $2)';

/** Longer than a transaction of the service: sql/roles.sql limits its statements to 5 s and the pauses between them to 10 s. */
const LONGEST_TRANSACTION_MS = 20_000;

/**
 * Checks whether a club can move; changes nothing.
 *
 * @param club the id or the slug
 * @throws ClubMoveRefused; ClubFileRefused when a table would be left out; ConnectionFailed
 */
export async function planMove(route: Route, club: string, progress: Progress): Promise<Plan> {
  const { header } = await inTransaction(route.source, SNAPSHOT, (client) =>
    readClub(client, club, progress),
  );
  const state = await readState(route.source, header.club.id);
  if (state) {
    throw new ClubMoveRefused(`The club ${header.club.slug} ${print(state)}. Resume or abort this move.`);
  }
  await inTransaction(route.target, SNAPSHOT, async (client) => {
    if ((await readFingerprint(client)) !== header.release) {
      throw new ClubMoveRefused(
        `${route.name} has another release. Deploy the same release to both databases.`,
      );
    }
    const there = (await listClubs(client)).find(
      ({ id, slug }) => id === header.club.id || slug === header.club.slug,
    );
    if (there !== undefined) {
      throw new ClubMoveRefused(
        there.id === header.club.id
          ? `${route.name} has the club already. If it is from a move that was aborted, abort that again.`
          : `${route.name} has another club with the slug ${there.slug}. Change one with app.rename_club.`,
      );
    }
  });
  return { club: header.club, rows: header.tables.reduce((sum, { rows }) => sum + rows, 0) };
}

/**
 * Moves a club. Whatever fails before it has moved ends the move, and the source serves the club again.
 *
 * @returns the milliseconds for which no database served the club
 * @throws as planMove
 */
export async function moveClub(route: Route, { club }: Plan, progress: Progress): Promise<number> {
  const moveId = randomUUID();
  const began = performance.now();
  await call(route.source, 'select app.begin_move($1, $2, $3)', [club.id, moveId, route.name]);
  try {
    await arrive(route, club.id, moveId, progress);
  } catch (error) {
    await abortMove(route, club.id).catch((cause) => {
      throw new ClubMoveRefused(
        `The move failed, and was not aborted: ${cause.message} Resume or abort it.`,
        {
          cause: error,
        },
      );
    });
    throw error;
  }
  await finish(route, club.id, moveId).catch((cause) => {
    throw new ClubMoveRefused(`The move was interrupted: ${cause.message} Resume it.`, { cause });
  });
  return performance.now() - began;
}

/**
 * Continues a move that was interrupted, from any point.
 *
 * @returns the id of the club, and whether it had moved already
 * @throws ClubMoveRefused when the club does not move, or to another target; ConnectionFailed
 */
export async function resumeMove(
  route: Route,
  club: string,
  progress: Progress,
): Promise<{ id: string; wasMoved: boolean }> {
  const id = await findClub(route.source, club);
  const here = await readState(route.source, id);
  const there = await readState(route.target, id);
  if (!here || here.state === 'arriving') {
    throw new ClubMoveRefused(`The club ${club} does not move from this database.`);
  }
  if (here.target !== route.name) {
    throw new ClubMoveRefused(`The club ${club} moves to ${here.target}, not to ${route.name}.`);
  }
  const hasArrived = there?.moveId === here.moveId;
  if (here.state === 'leaving' && there === undefined) {
    await arrive(route, id, here.moveId, progress);
  } else if (here.state === 'moved' && there === null) {
    return { id, wasMoved: true };
  } else if (!hasArrived) {
    throw new ClubMoveRefused(
      `The club ${club} ${print(here)}, but in ${route.name} it ${print(there)}. ` +
        'Do not serve it before you know which of the databases was restored from a backup.',
    );
  }
  await finish(route, id, here.moveId, here.state);
  return { id, wasMoved: false };
}

/**
 * Ends a move before the club has moved: the source serves the club again, and the target removes it.
 *
 * @throws ClubMoveRefused when it has moved; ConnectionFailed
 */
export async function abortMove(route: Route, club: string): Promise<void> {
  const id = await findClub(route.source, club);
  const here = await readState(route.source, id);
  // The source first: then no other command can say that the club has moved, so none opens it at the target.
  if (here?.state === 'leaving') {
    await call(route.source, 'select app.abort_move($1, $2)', [id, here.moveId]);
  } else if (here) {
    throw new ClubMoveRefused(`The club ${club} ${print(here)}. Resume the move; nothing undoes it.`);
  }
  const there = await readState(route.target, id);
  if (there?.state === 'arriving') {
    await call(route.target, 'select app.abort_move($1, $2)', [id, there.moveId]);
  }
}

/**
 * After a database was restored from a backup: marks each club as moved that the other database has. Run it before the restored database is
 * served, once for each other database.
 *
 * @param route from the restored database to another one
 * @returns the clubs that were marked
 * @throws ConnectionFailed
 */
export async function reconcileClubs(route: Route): Promise<ListedClub[]> {
  const elsewhere = await inTransaction(route.target, SNAPSHOT, async (client) => {
    const states = await readStates(client);
    return (await listClubs(client)).filter(({ id }) => !/arriving|moved/.test(states.get(id)?.state ?? ''));
  });
  return inTransaction(route.source, WRITE, async (client) => {
    const states = await readStates(client);
    const known = await listClubs(client);
    const marked = known.filter(
      ({ id }) => states.get(id)?.state !== 'moved' && elsewhere.some((other) => other.id === id),
    );
    for (const { id } of marked) {
      const before = states.get(id);
      if (before !== undefined) {
        throw new ClubMoveRefused(
          `The club ${id} ${print(before)}, and ${route.name} has it. Abort that move first.`,
        );
      }
      const moveId = randomUUID();
      await client.query('select app.begin_move($1, $2, $3)', [id, moveId, route.name]);
      await client.query('select app.end_move($1, $2)', [id, moveId]);
    }
    return marked;
  });
}

/** Copies a club that leaves the source to the target, where it arrives. */
async function arrive(route: Route, id: string, moveId: string, progress: Progress): Promise<void> {
  await untilRequestsEnd(route.source);
  return inTransaction(route.source, SNAPSHOT, async (source) => {
    const { header, lines } = await readClub(source, id, progress);
    const single = singly(lines);
    await single.next();
    await inTransaction(route.target, WRITE, (target) =>
      writeClub(target, header, single, { progress, closedAt: header.club.closedAt, moveId }),
    );
  });
}

/** Opens a club at the target that has arrived there. */
async function finish(
  { source, target }: Route,
  id: string,
  moveId: string,
  state: 'leaving' | 'moved' = 'leaving',
): Promise<void> {
  if (state === 'leaving') {
    await call(source, 'select app.end_move($1, $2)', [id, moveId]);
  }
  await call(target, 'select app.open_club($1, $2)', [id, moveId]);
}

/**
 * Waits for the transactions of the service that began before the club left. Each holds a lock of app.members, which it takes before it reads
 * the state of the club; those that begin later are refused. Other clubs are not blocked.
 */
async function untilRequestsEnd(login: Login): Promise<void> {
  const running = async (client: pg.Client) => {
    const { rows } = await client.query<{ transaction: string; pid: number }>(`
      select distinct lock.virtualtransaction as transaction, lock.pid
      from pg_locks as lock
      join pg_stat_activity as session using (pid)
      join pg_roles as login on login.oid = session.usesysid
      where lock.granted and lock.relation = 'app.members'::regclass
        and lock.database = (select oid from pg_database where datname = current_database())
        and pg_has_role(login.oid, 'club_api', 'member') and not login.rolsuper`);
    return rows;
  };
  await inTransaction(login, WRITE, async (client) => {
    const before = await running(client);
    for (const giveUpAt = performance.now() + LONGEST_TRANSACTION_MS; ; await sleep(10)) {
      const now = await running(client);
      const left = before.filter(({ transaction }) => now.some((other) => other.transaction === transaction));
      if (left.length === 0) {
        return;
      }
      if (performance.now() > giveUpAt) {
        throw new ClubMoveRefused(
          `A transaction of the service does not end (pid ${left.map(({ pid }) => pid).join(', ')}). End it with pg_terminate_backend.`,
        );
      }
    }
  });
}

/** Calls a function for operators in a transaction that is on disk when this returns. @throws ClubMoveRefused */
async function call(login: Login, statement: Call, values: string[]): Promise<void> {
  await inTransaction(login, WRITE, async (client) => {
    await client.query('set local synchronous_commit = on');
    await client.query(statement, values).catch((error) => {
      throw ['CL005', SQLSTATE.OBJECT_IN_USE].includes(error.code)
        ? new ClubMoveRefused(`Another command has changed the move: ${error.message}.`)
        : error;
    });
  });
}

async function readStates(client: pg.Client): Promise<Map<string, NonNullable<State>>> {
  const { rows } = await client.query<NonNullable<State> & { id: string }>(
    'select id, move_id as "moveId", state, target from app.list_moves()',
  );
  return new Map(rows.map(({ id, ...state }) => [id, state]));
}

async function readState(login: Login, id: string): Promise<State | undefined> {
  return inTransaction(login, SNAPSHOT, async (client) => {
    const isThere = (await listClubs(client)).some((club) => club.id === id);
    return isThere ? ((await readStates(client)).get(id) ?? null) : undefined;
  });
}

/** The id of a club. @param club the id or the slug */
async function findClub(login: Login, club: string): Promise<string> {
  const clubs = await inTransaction(login, SNAPSHOT, listClubs);
  const found = clubs.find(({ id, slug }) => id === club.toLowerCase() || slug === club);
  if (found === undefined) {
    throw new ClubMoveRefused(
      `There is no club with the id or slug ${club} in the database that it would leave.`,
    );
  }
  return found.id;
}

function print(state: State | undefined): string {
  if (!state) {
    return state === null ? 'is in no move' : 'does not exist';
  }
  return { leaving: `moves to ${state.target}`, moved: `has moved to ${state.target}`, arriving: 'arrives' }[
    state.state
  ];
}
