/** A statement of the runtime role, and its expected result. */
import type { Role } from '../../../../src/roles.js';
import type { Club, Member, Token, World } from '../state.js';

/** The tenant context. No club: none was entered, or the club does not exist or is closed. */
export interface Here {
  world: World;
  club: Club | undefined;
  /** No role: no club was entered. */
  role: Role | undefined;
  token: Token;
  /** The caller's row when the transaction entered. */
  member: Member | undefined;
}

/** Inside a club. */
export type Inside = Here & { club: Club; role: Role };

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
export type Row = any;

/** The allowed SQLSTATEs, or the number of rows, and the rows if the statement returns any. */
export type Expected = { codes: string[] } | { rows: number; returned?: Row[] };

export interface Step {
  text: string;
  values?: unknown[];
  /** Below this role the statement finds no row in any club. */
  least?: Role;
  /** No grant: refused for every caller in every club. */
  isNeverGranted?: boolean;
  /** It needs the caller's member: without one it is refused. */
  needsMember?: boolean;
  /** The expected result inside a club. Changes the model. Generated values, such as ids, come from the rows. */
  rule(here: Inside, rows: Row[]): Expected;
}

/** The expected result of the step, in any context; `rows` are the returned ones. */
export function expectedOf(step: Step, here: Here, rows: Row[]): Expected[] {
  if (step.isNeverGranted) {
    return [{ codes: ['42501'] }];
  }
  const { club, role, member } = here;
  if (club === undefined || role === undefined || (step.needsMember && member === undefined)) {
    // A role that is too low finds no row, or the missing club is an error: both show no row of any club.
    return [{ codes: ['TN001'] }, ...(role === undefined || step.least === undefined ? [] : [{ rows: 0 }])];
  }
  return [step.rule({ ...here, club, role }, rows)];
}
