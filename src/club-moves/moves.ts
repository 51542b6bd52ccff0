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
import { splitLines, writeClub } from '../club-files/import.js';
import type { Progress } from '../club-files/progress.js';
import {
  inTransaction,
  type ListedClub,
  type Login,
  listClubs,
  readFingerprint,
  SNAPSHOT,
  WRITE,
  withoutDeploys,
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

/** What a comparison with another database has found. */
export interface Reconciled {
  /** The clubs that the other database serves. They are marked as moved. */
  marked: ListedClub[];
  /** Those that it has, but closed: an operator decides where they are. */
  closed: ListedClub[];
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
export async function planMove(route: Route, club: string): Promise<Plan> {
  await requireTwoDatabases(route);
  const { header } = await inTransaction(route.source, SNAPSHOT, (client) => readClub(client, club));
  const { id, slug } = header.club;
  const here = await readState(route.source, id);
  if (here) {
    throw new ClubMoveRefused(
      `The club ${slug} ${describe(here)}.${here.state === 'leaving' ? ' Continue this move with --resume, or end it with --abort.' : ''}`,
    );
  }
  await inTransaction(route.target, SNAPSHOT, async (client) => {
    if ((await readFingerprint(client)) !== header.release) {
      throw new ClubMoveRefused(
        `${route.name} has another release. Deploy the same release to both databases.`,
      );
    }
    const there = (await listClubs(client)).find((other) => other.id === id || other.slug === slug);
    if (there !== undefined && there.id !== id) {
      throw new ClubMoveRefused(
        `${route.name} has another club with the slug ${slug}. Change one with app.rename_club.`,
      );
    }
    if (there !== undefined) {
      const state = (await readStates(client)).get(id) ?? null;
      const advice = {
        arriving: 'Abort the move that it is from.',
        moved: 'Remove it there with app.forget_club, a day after it has moved.',
        other: 'Remove it there with app.forget_club, if it is a copy.',
      }[state === null || state.state === 'leaving' ? 'other' : state.state];
      throw new ClubMoveRefused(`${route.name} has the club already: there it ${describe(state)}. ${advice}`);
    }
  });
  return { club: header.club, rows: header.tables.reduce((sum, { rows }) => sum + rows, 0) };
}

/**
 * Moves a club. If it fails before the club has moved, the move is aborted, and the source serves the club again.
 *
 * @returns the milliseconds for which no database served the club
 * @throws ClubMoveRefused; ClubFileRefused; ConnectionFailed
 */
export async function moveClub(route: Route, { club }: Plan, progress: Progress): Promise<number> {
  const moveId = randomUUID();
  return whileNotDeployed(route, async () => {
    const began = performance.now();
    try {
      await call(route.source, 'select app.begin_move($1, $2, $3)', [club.id, moveId, route.name]);
      await arrive(route, club.id, moveId, progress);
    } catch (error) {
      throw await abortOwn(route, club.id, moveId, error as Error);
    }
    await finish(route, club.id, moveId).catch((error) => {
      throw new ClubMoveRefused(`The move was interrupted: ${error.message} Continue it with --resume.`, {
        cause: error,
      });
    });
    return performance.now() - began;
  });
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
  await requireTwoDatabases(route);
  return whileNotDeployed(route, async () => {
    const id = await findClub(route.source, club);
    const here = await readState(route.source, id);
    const there = await readState(route.target, id);
    if (!here || here.state === 'arriving') {
      throw new ClubMoveRefused(`The club ${club} does not move from this database.`);
    }
    requireTarget(route, club, here);
    if (here.state === 'moved' && there === null) {
      return { id, wasMoved: true };
    }
    if (here.state === 'leaving' && there === undefined) {
      await arrive(route, id, here.moveId, progress);
    } else if (there?.moveId !== here.moveId) {
      throw contradiction(route, club, here, there);
    }
    await finish(route, id, here.moveId, here.state);
    return { id, wasMoved: false };
  });
}

/**
 * Ends a move before the club has moved: the source serves the club again, and the target removes it.
 *
 * @throws ClubMoveRefused when there is no such move, or the club has moved; ConnectionFailed
 */
export async function abortMove(route: Route, club: string): Promise<void> {
  await requireTwoDatabases(route);
  await whileNotDeployed(route, async () => {
    const id = await findClub(route.source, club);
    // The target first. What arrives there later is of another move, which this does not end.
    const there = await readState(route.target, id);
    const here = await readState(route.source, id);
    if (here?.state === 'leaving') {
      requireTarget(route, club, here);
      if (there !== undefined && there?.state !== 'arriving') {
        throw contradiction(route, club, here, there);
      }
      // The source first: then no other command can say that the club has moved, so none opens it at the target.
      await call(route.source, 'select app.abort_move($1, $2)', [id, here.moveId]);
    } else if (here) {
      throw new ClubMoveRefused(`The club ${club} ${describe(here)}. Nothing undoes it.`);
    } else if (there?.state !== 'arriving') {
      throw new ClubMoveRefused(`The club ${club} ${describe(here)}.`);
    }
    if (there?.state === 'arriving') {
      await call(route.target, 'select app.abort_move($1, $2)', [id, there.moveId]);
    }
  });
}

/**
 * After a database was restored from a backup: marks each club as moved that the other database serves. Run it before the restored database is
 * served, once for each other database.
 *
 * @param route from the restored database to another one
 * @param isDry whether to mark none
 * @throws ConnectionFailed
 */
export async function reconcileClubs(route: Route, isDry: boolean): Promise<Reconciled> {
  await requireTwoDatabases(route);
  const elsewhere = await inTransaction(route.target, SNAPSHOT, async (client) => {
    const states = await readStates(client);
    return (await listClubs(client)).filter(({ id }) => !/arriving|moved/.test(states.get(id)?.state ?? ''));
  });
  return inTransaction(route.source, WRITE, async (client) => {
    const states = await readStates(client);
    const known = (await listClubs(client)).filter(({ id }) => states.get(id)?.state !== 'moved');
    const both = elsewhere.filter(({ id }) => known.some((club) => club.id === id));
    const marked = both.filter(({ closedAt }) => closedAt === null);
    for (const { id } of isDry ? [] : marked) {
      const before = states.get(id);
      const moveId = before?.moveId ?? randomUUID();
      if (before?.state === 'arriving') {
        await client.query('select app.abort_move($1, $2)', [id, moveId]);
        continue;
      }
      if (before === undefined) {
        await client.query('select app.begin_move($1, $2, $3)', [id, moveId, route.name]);
      }
      await client.query('select app.end_move($1, $2)', [id, moveId]);
    }
    return { marked, closed: both.filter(({ closedAt }) => closedAt !== null) };
  });
}

/** Copies a club that leaves the source to the target, where it arrives. */
async function arrive(route: Route, id: string, moveId: string, progress: Progress): Promise<void> {
  await untilRequestsEnd(route.source);
  await inTransaction(route.source, SNAPSHOT, async (source) => {
    const { header, lines } = await readClub(source, id);
    const rows = splitLines(lines);
    await rows.next();
    await inTransaction(route.target, WRITE, (target) =>
      writeClub(target, header, rows, { progress, closedAt: header.club.closedAt, moveId }),
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

/** Ends the move of this command, which failed before the club had moved. Returns the error to throw. */
async function abortOwn(
  { source, target }: Route,
  id: string,
  moveId: string,
  failure: Error,
): Promise<Error> {
  try {
    // Waits for a commit of begin_move whose outcome is unknown. Refused if begin_move failed.
    await call(source, 'select app.abort_move($1, $2)', [id, moveId]).catch(async (error) => {
      if (!(error instanceof ClubMoveRefused) || (await readState(source, id))?.moveId === moveId) {
        throw error;
      }
    });
  } catch (error) {
    return new ClubMoveRefused(
      `The move failed: ${failure.message} It was not aborted: ${(error as Error).message} Continue the move with --resume, or end it with --abort.`,
      { cause: failure },
    );
  }
  try {
    if ((await readState(target, id))?.moveId === moveId) {
      await call(target, 'select app.abort_move($1, $2)', [id, moveId]);
    }
    return failure;
  } catch {
    return new ClubMoveRefused(
      `The move failed, and the first database serves the club again: ${failure.message} The other one may have a copy: end the move with --abort when it can be used.`,
      { cause: failure },
    );
  }
}

/**
 * Waits for the transactions of the service that were running when this is called, as CREATE INDEX CONCURRENTLY does: those that begin later see
 * that the club leaves. Other clubs are not blocked.
 */
async function untilRequestsEnd(login: Login): Promise<void> {
  const running = async (client: pg.Client) => {
    const { rows } = await client.query<{ transaction: string; pid: number }>(`
      select lock.virtualxid as transaction, lock.pid
      from pg_locks as lock
      join pg_stat_activity as session using (pid)
      join pg_roles as login on login.oid = session.usesysid
      where lock.locktype = 'virtualxid' and lock.granted and session.datname = current_database()
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

/** @throws ClubMoveRefused when both URLs lead to one database: each club would be in both */
async function requireTwoDatabases({ source, target }: Route): Promise<void> {
  const identify = (login: Login) =>
    inTransaction(login, SNAPSHOT, async (client) => {
      const { rows } = await client.query(
        `select concat_ws(' ', oid, pg_postmaster_start_time()) as identity from pg_database where datname = current_database()`,
      );
      return rows[0].identity;
    });
  if ((await identify(source)) === (await identify(target))) {
    throw new ClubMoveRefused(`${source.variable} and ${target.variable} lead to the same database.`);
  }
}

/** Keeps deploys from both databases: one that began in between would leave the club closed for as long as it takes. */
async function whileNotDeployed<Result>(
  { source, target }: Route,
  work: () => Promise<Result>,
): Promise<Result> {
  return withoutDeploys(source, () => withoutDeploys(target, work));
}

/** Calls a function for operators in a transaction. @throws ClubMoveRefused */
async function call(login: Login, statement: Call, values: string[]): Promise<void> {
  await inTransaction(login, WRITE, async (client) => {
    await client.query(statement, values).catch((error) => {
      throw ['CL002', 'CL005', SQLSTATE.OBJECT_IN_USE].includes(error.code)
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

/** Whether and how a club moves; undefined if there is no such club. */
export async function readState(login: Login, id: string): Promise<State | undefined> {
  return inTransaction(login, SNAPSHOT, async (client) => {
    const isThere = (await listClubs(client)).some((club) => club.id === id);
    return isThere ? ((await readStates(client)).get(id) ?? null) : undefined;
  });
}

/** The id of a club. @param club the id or the slug @throws ClubMoveRefused */
export async function findClub(login: Login, club: string): Promise<string> {
  const clubs = await inTransaction(login, SNAPSHOT, listClubs);
  const found = clubs.find(({ id, slug }) => id === club.toLowerCase() || slug === club);
  if (found === undefined) {
    throw new ClubMoveRefused(
      `There is no club with the id or slug ${club} in the database of ${login.variable}.`,
    );
  }
  return found.id;
}

function requireTarget(route: Route, club: string, { target }: NonNullable<State>): void {
  if (target !== route.name) {
    throw new ClubMoveRefused(`The club ${club} moves to ${target}, not to ${route.name}.`);
  }
}

/** Both databases cannot be in these states by the commands alone: one of them has lost a commit. */
function contradiction(route: Route, club: string, here: State, there: State | undefined): ClubMoveRefused {
  return new ClubMoveRefused(
    `The club ${club} ${describe(here)}, but in ${route.name} it ${describe(there)}. ` +
      'One of the databases was restored from a backup, or lost a commit in a failover: docs/growing.md says what to do.',
  );
}

function describe(state: State | undefined): string {
  if (!state) {
    return state === null ? 'is in no move' : 'does not exist';
  }
  return { leaving: `moves to ${state.target}`, moved: `has moved to ${state.target}`, arriving: 'arrives' }[
    state.state
  ];
}
