/** A statement of the runtime role, and what the rules say of it. */
import type { Role } from '../../../../src/roles.js';
import type { Club, Member, Token, World } from '../state.js';

/** Who is asking. No club: nothing was entered, or what was entered does not exist or is closed. */
export interface Here {
  world: World;
  club: Club | undefined;
  /** No role: nothing was entered at all. */
  role: Role | undefined;
  token: Token;
  /** The caller's row when the transaction entered. */
  member: Member | undefined;
}

/** Inside a club. */
export type Inside = Here & { club: Club; role: Role };

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
export type Row = any;

/** The SQLSTATEs of which one is to come, or how many rows, and which where the statement returns any. */
export type Expected = { codes: string[] } | { rows: number; returned?: Row[] };

export interface Step {
  text: string;
  values?: unknown[];
  /** Below this role the statement finds no row, wherever it is. */
  least?: Role;
  /** No grant: refused whoever asks, and wherever. */
  isNeverGranted?: boolean;
  /** It reads who the caller is: without a member it is refused. */
  needsMember?: boolean;
  /** What the rules say inside a club. Changes the model. What the server made up, such as ids, is in the rows. */
  rule(here: Inside, rows: Row[]): Expected;
}

/** What the rules say of the step, wherever the caller is; `rows` are those that came back. */
export function expectedOf(step: Step, here: Here, rows: Row[]): Expected[] {
  if (step.isNeverGranted) {
    return [{ codes: ['42501'] }];
  }
  const { club, role, member } = here;
  if (club === undefined || role === undefined || (step.needsMember && member === undefined)) {
    // Who may not do it anyway finds nothing before the missing club is noticed: no row of any club either way.
    return [{ codes: ['TN001'] }, ...(role === undefined || step.least === undefined ? [] : [{ rows: 0 }])];
  }
  return [step.rule({ ...here, club, role }, rows)];
}
