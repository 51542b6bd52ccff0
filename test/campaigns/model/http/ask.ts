/** A request, and its expected answer. */
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
  | 'getMySignup'
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
  /** Undefined: the request is anonymous. */
  token: Token | null;
  roles: Record<string, Role>;
  /** The id in the path. */
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  body: any;
  query: Record<string, string>;
  ifMatch: number | null;
  /** Whether the body or the query is invalid. */
  isMalformed: boolean;
}

/** The expected answer. */
export interface Verdict {
  status: number;
  code?: string | undefined;
  /** Further members of an error. */
  details?: Record<string, unknown> | undefined;
  body?: unknown;
  /** Expected rows, sorted by the key by which lists are compared. */
  list?: { rows: { id: string }[]; key: (row: Row) => string; isDescending: boolean };
  etag?: number;
  location?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
export type Row = any;

/** The state inside a club, with the new ids and times from the service's answer. */
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

/** Whether the row's version conflicts with the request. */
export const isRuledOut = ({ ask }: Here, version: number) => ask.ifMatch !== null && ask.ifMatch !== version;

/** The time of a change: that of the answer, if it is later than the previous one. */
export function changedAt({ answer }: Here, before: string): string {
  const now = String(answer?.updatedAt);
  return now.replace('Z', '') > before.replace('Z', '') ? now : `later than ${before}`;
}

/** A list sorted by a key of its rows, descending with a `-` before it. */
export function sorted(
  rows: { id: string }[],
  sort: string,
  keys: Record<string, (row: Row) => string>,
): Verdict {
  const isDescending = sort.startsWith('-');
  const key = keys[sort.replace('-', '')] as (row: Row) => string;
  return { status: 200, list: { rows, key, isDescending } };
}
