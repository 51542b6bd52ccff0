/** A request, and what the rules say of it. */
import type { Role } from '../../../../src/roles.js';
import type { Caller, Token, World } from '../state.js';

export type Kind =
  | 'listTasks'
  | 'getTask'
  | 'createTask'
  | 'patchTask'
  | 'deleteTask'
  | 'listShifts'
  | 'getShift'
  | 'createShift'
  | 'replaceShift'
  | 'deleteShift'
  | 'signUp'
  | 'cancelSignUp'
  | 'listMembers'
  | 'getMember'
  | 'getMe'
  | 'getClub'
  | 'listMyClubs';

export interface Ask {
  kind: Kind;
  /** X-Tenant-Id. */
  clubId: string | null;
  /** None: the request is anonymous. */
  token: Token | null;
  roles: Record<string, Role>;
  /** The id in the path. */
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  body: any;
  query: Record<string, string>;
  ifMatch: number | null;
  /** The body or the query is not what the operation takes. */
  isMalformed: boolean;
}

/** What the rules say comes. */
export interface Verdict {
  status: number;
  code?: string | undefined;
  /** More of a refusal. */
  details?: Record<string, unknown> | undefined;
  body?: unknown;
  /** Rows in the order of the key, which the rows of a list are compared by. */
  list?: { rows: { id: string }[]; key: (row: Row) => string; isDescending: boolean };
  etag?: number;
  location?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
export type Row = any;

/** Inside a club, with what only the service can say: new ids and times, out of its answer. */
export interface Here extends Caller {
  world: World;
  ask: Ask;
  answer: Row;
}

export const refuse = (status: number, code: string, details?: Record<string, unknown>): Verdict => ({
  status,
  code,
  details,
});

/** Whether the row's version is one that the request rules out. */
export const isRuledOut = ({ ask }: Here, version: number) => ask.ifMatch !== null && ask.ifMatch !== version;

/** The time of a change: the answer's, where that is later than the one before. */
export function changedAt({ answer }: Here, before: string): string {
  const now = String(answer?.updatedAt);
  return now.replace('Z', '') > before.replace('Z', '') ? now : `later than ${before}`;
}

/** A list by the key of its rows, `-` before it for the other direction. */
export function sorted(
  rows: { id: string }[],
  sort: string,
  keys: Record<string, (row: Row) => string>,
): Verdict {
  const isDescending = sort.startsWith('-');
  const key = keys[sort.replace('-', '')] as (row: Row) => string;
  return { status: 200, list: { rows, key, isDescending } };
}
