/**
 * Moves a club to another database of the same release, while its clients get 503 for a moment.
 *
 * Three commits decide, in this order: the club leaves the source, it has moved from the source, it is open at the target. So one database
 * at most serves it, and a move that was interrupted anywhere is resumed, or aborted before the second commit. The chapter
 * 85_club_moves.sql describes the states.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { findClub, type ListedClub, type ListedMove, listClubs, listMoves } from '../club-files/clubs.js';
import { readClub } from '../club-files/export.js';
import { countRows } from '../club-files/format.js';
import { splitLines, writeClub } from '../club-files/import.js';
import type { Progress } from '../club-files/progress.js';
import {
  inTransaction,
  type Login,
  readFingerprint,
  SNAPSHOT,
  WRITE,
  withoutDeploys,
} from '../club-files/session.js';
import { SQLSTATE } from '../database/sql-states.js';
import { type Client, ConnectionFailed } from '../deploy/client.js';
import { ClubMoveRefused } from './errors.js';

/** The two databases of a move. */
export interface MoveDatabases {
  /** The database that the club leaves. */
  source: Login;
  target: Login;
  /** The name of the target, which the source remembers. */
  targetName: string;
}

/** The state of a club in a database; null in a club that is in no move, undefined if there is no such club. */
type State = ListedMove | null;

/** A move of a club. */
interface Move {
  clubId: string;
  moveId: string;
}

/** What a check of a move has found. */
export interface Plan {
  club: ListedClub;
  /** The rows of all tables. */
  rows: number;
  /** Whether the target has the rows of an earlier move from there, which the move removes. */
  replaces: boolean;
}

type Call =
  | 'select app.begin_move($1, $2, $3)'
  | 'select app.end_move($1, $2)'
  | 'select app.open_club($1, $2)'
  | 'select app.abort_move($1, $2)'
  | "select app.forget_club(id, $2) from app.list_moves() where id = $1 and state = 'moved'";

/** Longer than a transaction of the service: it ends after 8 s, with a statement that takes 5 s at most (sql/roles.sql). */
const LONGEST_TRANSACTION_MS = 20_000;

/**
 * Checks whether a club can move; changes nothing.
 *
 * @param club the id or the slug
 * @throws ClubMoveRefused; ClubFileRefused when a table would be left out; ConnectionFailed
 */
export async function planMove(databases: MoveDatabases, club: string): Promise<Plan> {
  const { source, target, targetName } = databases;
  await requireTwoDatabases(databases);
  const { header } = await inTransaction(source, SNAPSHOT, (client) => readClub(client, club));
  const { id, slug } = header.club;
  const here = await readState(source, id);
  if (here) {
    throw new ClubMoveRefused(
      `The club ${slug} ${describe(here)}.${here.state === 'leaving' ? ' Continue this move with --resume, or end it with --abort.' : ''}`,
    );
  }
  await requireOneRelease(databases);
  const clubs = await inTransaction(target, SNAPSHOT, listClubs);
  if (clubs.some((other) => other.slug === slug && other.id !== id)) {
    throw new ClubMoveRefused(
      `${targetName} has another club with the slug ${slug}. Change one with app.rename_club.`,
    );
  }
  const there = await readState(target, id);
  if (there === null) {
    throw new ClubMoveRefused(
      `${targetName} has the club ${slug} already. If it is a copy, close it there and remove it with app.forget_club.`,
    );
  }
  if (there !== undefined && there.state !== 'moved') {
    throw new ClubMoveRefused(
      `${targetName} has the club ${slug} already: there it ${describe(there)}. Resume or abort this move first.`,
    );
  }
  return { club: header.club, rows: countRows(header), replaces: there !== undefined };
}

/**
 * Moves a club. If it fails before the club has moved, the move is aborted, and the source serves the club again.
 *
 * @returns the milliseconds for which no database served the club
 * @throws ClubMoveRefused; ClubFileRefused; ConnectionFailed
 */
export async function moveClub(
  databases: MoveDatabases,
  { club, replaces }: Pick<Plan, 'club' | 'replaces'>,
  progress?: Progress,
): Promise<number> {
  const { source, target, targetName } = databases;
  const move = { clubId: club.id, moveId: randomUUID() };
  return whileNotDeployed(databases, async () => {
    if (replaces) {
      await call(
        target,
        "select app.forget_club(id, $2) from app.list_moves() where id = $1 and state = 'moved'",
        [move.clubId, '0'],
      );
    }
    const began = performance.now();
    try {
      await call(source, 'select app.begin_move($1, $2, $3)', [move.clubId, move.moveId, targetName]);
      await copyClub(databases, move, progress);
    } catch (error) {
      throw await abortFailedMove(databases, move, error as Error);
    }
    await completeMove(databases, move).catch((error) => {
      throw new ClubMoveRefused(
        `The move was interrupted: ${error.message} Continue it with --resume. If the club does not move any more, --abort removes what was copied.`,
        { cause: error },
      );
    });
    return performance.now() - began;
  });
}

/**
 * Continues a move that was interrupted, from any point.
 *
 * @param club the id or the slug
 * @returns the id of the club, and whether it had moved already
 * @throws ClubMoveRefused when the club does not move, or to another target; ClubFileRefused; ConnectionFailed
 */
export async function resumeMove(
  databases: MoveDatabases,
  club: string,
  progress?: Progress,
): Promise<{ clubId: string; wasMoved: boolean }> {
  await requireTwoDatabases(databases);
  return whileNotDeployed(databases, async () => {
    const clubId = await findClubId(databases.source, club);
    const here = await readState(databases.source, clubId);
    const there = await readState(databases.target, clubId);
    if (!here || here.state === 'arriving') {
      throw new ClubMoveRefused(`The club ${club} does not move from this database.`);
    }
    requireTarget(databases, club, here);
    if (here.state === 'moved' && there === null) {
      return { clubId, wasMoved: true };
    }
    if (here.state === 'moved' && there && there.state !== 'arriving') {
      throw new ClubMoveRefused(
        `The club ${club} had moved to ${here.targetName} already. There it ${describe(there)}.`,
      );
    }
    const move = { clubId, moveId: here.moveId };
    if (here.state === 'leaving' && there === undefined) {
      await requireOneRelease(databases);
      await copyClub(databases, move, progress);
    } else if (there?.moveId !== here.moveId) {
      throw contradiction(databases, club, [here, there]);
    }
    await completeMove(databases, move, here.state);
    return { clubId, wasMoved: false };
  });
}

/**
 * Ends a move before the club has moved: the source serves the club again, and the target removes it.
 *
 * @param club the id or the slug
 * @throws ClubMoveRefused when there is no such move, when the club has moved, or when only the source could be used: it serves the club
 * then; ConnectionFailed
 */
export async function abortMove(databases: MoveDatabases, club: string): Promise<void> {
  const { source, target, targetName } = databases;
  const clubId = await findClubId(source, club);
  // The target first. What arrives there later is of another move, which this does not end.
  const there = await requireTwoDatabases(databases)
    .then(() => readState(target, clubId))
    .catch((error) => {
      if (error instanceof ConnectionFailed) {
        return error;
      }
      throw error;
    });
  const isUsable = !(there instanceof ConnectionFailed);
  const isArriving = isUsable && there?.state === 'arriving';
  const here = await readState(source, clubId);
  if (here?.state === 'leaving') {
    requireTarget(databases, club, here);
    if (isUsable && there !== undefined && !isArriving) {
      throw contradiction(databases, club, [here, there]);
    }
    // The source first: then no other command can mark the club as moved, so none opens it at the target.
    await call(source, 'select app.abort_move($1, $2)', [clubId, here.moveId]);
  } else if (here) {
    const advice =
      here.state === 'moved'
        ? 'Nothing undoes it.'
        : 'To abort its move, exchange the two databases, and name the other cell.';
    throw new ClubMoveRefused(`The club ${club} ${describe(here)}. ${advice}`);
  } else if (isUsable && !isArriving) {
    throw new ClubMoveRefused(`The club ${club} ${describe(here)}.`);
  }
  if (!isUsable) {
    throw new ClubMoveRefused(
      `The first database serves the club. ${targetName} may have a copy: repeat --abort when it can be used. ${there.message}`,
      { cause: there },
    );
  }
  if (isArriving) {
    await call(target, 'select app.abort_move($1, $2)', [clubId, there.moveId]);
  }
}

/** Copies a club that leaves the source to the target, where it arrives. */
async function copyClub(
  { source, target }: MoveDatabases,
  { clubId, moveId }: Move,
  progress?: Progress,
): Promise<void> {
  await untilRequestsEnd(source);
  await inTransaction(source, SNAPSHOT, async (reading) => {
    const { header, rows } = await readClub(reading, clubId);
    const { closedAt } = header.club;
    await inTransaction(target, WRITE, (writing) =>
      writeClub(writing, header, { lines: splitLines(rows), progress, closedAt, moveId }),
    );
  });
}

/** Marks a club as moved that has arrived at the target, unless it is, and opens it there. */
async function completeMove(
  { source, target }: MoveDatabases,
  { clubId, moveId }: Move,
  state: 'leaving' | 'moved' = 'leaving',
): Promise<void> {
  if (state === 'leaving') {
    await call(source, 'select app.end_move($1, $2)', [clubId, moveId]);
  }
  await call(target, 'select app.open_club($1, $2)', [clubId, moveId]);
}

/** Aborts the move of this command, which failed before the club had moved. Returns the error to throw. */
async function abortFailedMove(
  { source, target }: MoveDatabases,
  { clubId, moveId }: Move,
  failure: Error,
): Promise<Error> {
  try {
    // Waits for a commit of begin_move whose outcome is unknown. Refused if begin_move failed.
    await call(source, 'select app.abort_move($1, $2)', [clubId, moveId]).catch(async (error) => {
      if (!(error instanceof ClubMoveRefused) || (await readState(source, clubId))?.moveId === moveId) {
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
    if ((await readState(target, clubId))?.moveId === moveId) {
      await call(target, 'select app.abort_move($1, $2)', [clubId, moveId]);
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
  const running = async (client: Client) => {
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
export async function requireTwoDatabases({ source, target }: MoveDatabases): Promise<void> {
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

/** @throws ClubMoveRefused when one of the databases was deployed and the other was not */
async function requireOneRelease({ source, target, targetName }: MoveDatabases): Promise<void> {
  const [here, there] = [
    await inTransaction(source, SNAPSHOT, readFingerprint),
    await inTransaction(target, SNAPSHOT, readFingerprint),
  ];
  if (here !== there) {
    throw new ClubMoveRefused(
      `${targetName} has another release. Deploy the same release to both databases.`,
    );
  }
}

/** Keeps deploys from both databases: one that began in between would leave the club closed for as long as it takes. */
async function whileNotDeployed<Result>(
  { source, target }: MoveDatabases,
  work: () => Promise<Result>,
): Promise<Result> {
  // Settled, because the error of a session that is lost meanwhile would replace that of the work.
  const [outcome] = await withoutDeploys(source, () =>
    withoutDeploys(target, () => Promise.allSettled([work()])),
  );
  if (outcome.status === 'rejected') {
    throw outcome.reason;
  }
  return outcome.value;
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

/** Whether and how a club moves; undefined if there is no such club. */
export async function readState(login: Login, clubId: string): Promise<State | undefined> {
  return inTransaction(login, SNAPSHOT, async (client) => {
    const isThere = (await listClubs(client)).some(({ id }) => id === clubId);
    return isThere ? ((await listMoves(client)).get(clubId) ?? null) : undefined;
  });
}

/** The id of a club. @param club the id or the slug @throws ClubFileRefused */
export async function findClubId(login: Login, club: string): Promise<string> {
  return inTransaction(login, SNAPSHOT, async (client) => (await findClub(client, club)).id);
}

function requireTarget(databases: MoveDatabases, club: string, { targetName }: ListedMove): void {
  if (targetName !== databases.targetName) {
    throw new ClubMoveRefused(`The club ${club} moves to ${targetName}, not to ${databases.targetName}.`);
  }
}

/** Both databases cannot be in these states by the commands alone: one of them has lost a commit. */
function contradiction(
  { targetName }: MoveDatabases,
  club: string,
  [here, there]: [State, State | undefined],
): ClubMoveRefused {
  return new ClubMoveRefused(
    `The club ${club} ${describe(here)}, but in ${targetName} it ${describe(there)}. ` +
      'One of the databases was restored from a backup, or lost a commit in a failover: docs/growing.md says what to do.',
  );
}

function describe(state: State | undefined): string {
  if (!state) {
    return state === null ? 'is in no move' : 'does not exist';
  }
  const { targetName } = state;
  return { leaving: `moves to ${targetName}`, moved: `has moved to ${targetName}`, arriving: 'arrives' }[
    state.state
  ];
}
