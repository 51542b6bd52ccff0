import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** The kinds of requests. */
export type Kind =
  | 'create task'
  | 'patch task'
  | 'delete task'
  | 'read task'
  | 'list tasks'
  | 'create shift'
  | 'put shift'
  | 'delete shift'
  | 'read shift'
  | 'list shifts'
  | 'sign up'
  | 'cancel'
  | 'read signup'
  | 'assign'
  | 'unassign'
  | 'wait'
  | 'stop waiting'
  | 'read wait'
  | 'assign wait'
  | 'remove wait'
  | 'read waits'
  | 'list members'
  | 'end membership'
  | 'renew membership'
  | 'enter member'
  | 'merge'
  | 'record'
  | 'remove record'
  | 'read record'
  | 'list attendance'
  | 'list hours';

/** A task or a shift, from a response or from the final database. */
export interface Row {
  id: string;
  version: number;
  /** The fields that change with the version, as one text: title and state, or title and capacity. */
  content: string;
  capacity?: number;
  signupCount?: number;
  waitCount?: number;
  /** Whether the caller is signed up, and whether they wait; undefined in the final database. */
  isSignedUp?: boolean;
  isWaiting?: boolean;
  /** The signed-up members by Member.Id; undefined when the response does not have them. */
  members?: string[];
}

/** One request as its client saw it. Times are milliseconds since the start of the run. */
export interface Operation {
  kind: Kind;
  club: string;
  /** The Member.Id of the caller. */
  member: string;
  /** The URL of the service that it was sent to. */
  entrance?: string;
  /** The task or shift of the request. */
  target?: string;
  /** The Member.Id whose membership, signup, wait, attendance or task it is about, if not the caller's own. */
  holder?: string;
  /** The Member.Id that the holder is merged into. */
  into?: string;
  /** The response to a merge. */
  text?: string;
  key?: string;
  /** A unique text of this creation, which the row keeps. */
  marker?: string;
  /** The version that the writer had read. */
  named?: number;
  /** The new content, when a success must show it. */
  content?: string;
  capacity?: number;
  called: number;
  returned: number;
  /** Null when no response came. */
  status: number | null;
  /** The error when no response came. */
  failure?: 'broken' | 'patience ran out';
  code?: string;
  retryAfter?: boolean;
  /** Who entered the signup or wait of the response. */
  creator?: string;
  /** Who waits by Member.Id, in the order of the response to `read waits`. */
  queue?: string[];
  /** The record of attendance of the response. */
  record?: string;
  /** The version in the refusal of a writer who had read another one; null when there is no record. */
  currentVersion?: number | null;
  rows: Row[];
  /** Other clubs whose data is in the response. */
  foreign: string[];
}

/** A fault of the nemesis, from its start until its repair. */
export interface Fault {
  kind: string;
  from: number;
  to: number;
}

/** A row of the final database, read as superuser. */
export interface FinalRow extends Row {
  club: string;
  marker: string | null;
  /** To whom a task is assigned. */
  assignee?: string | null;
  /** Other clubs whose texts or rows it contains or references. */
  foreign: string[];
}

/** A record of attendance in the final database. */
export interface FinalRecord {
  club: string;
  shift: string;
  member: string;
  version: number;
  record: string;
}

/** The final database. */
export interface FinalState {
  tasks: FinalRow[];
  shifts: FinalRow[];
  signups: { shift: string; member: string; creator: string | null }[];
  /** Those of each shift in the order of its queue. */
  waits: { shift: string; member: string; creator: string | null }[];
  attendance: FinalRecord[];
  members: { id: string; status: 'Active' | 'Left' }[];
  /** Other rows with another club's data, in words. */
  foreign: string[];
}

/** An event as a follower read it. */
export interface FeedEvent {
  id: string;
  sequence: number;
  type: string;
  subjectId: string;
  actorId: string | null;
  memberId: string | null;
  /** The new capacity of a shift. */
  capacity?: number;
  /** Whether a signup was given to who waited. */
  isPromotion?: boolean;
  /** The new status of a member. */
  status?: string;
}

/** The events of a club as one follower read them, from the first to the last. */
export interface Feed {
  club: string;
  events: FeedEvent[];
  /** The response that ended it too early. */
  refused: string[];
  /** Other clubs whose data is in a response. */
  foreign: string[];
}

/** The state of the service after the faults. */
export interface Recovery {
  poolSize: number;
  /** The number of sessions of the service's login. */
  sessions: number;
  /** The number of concurrent transactions under excess load. */
  usable: number;
  /** Failed requests, in words. */
  refused: string[];
  /** The duration of the slowest request. */
  slowestMs: number;
}

/** The input of the checker. */
export interface History {
  seed: number;
  clubs: string[];
  operations: Operation[];
  faults: Fault[];
  /** Unexpected exits and errors of the service's process. */
  crashes: string[];
  /** Failed deploys, in words. */
  failedDeploys: string[];
  finalState: FinalState;
  /** What a follower of each club read during the faults. */
  feeds: Feed[];
  /** Undefined when the run does not test it. */
  recovery?: Recovery;
}

/** Whether the write is acknowledged. */
export function isDone({ status }: Operation): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Whether the outcome is unknown: no response, or a 5xx of a service that had lost its database. */
export function isUnknown({ status }: Operation): boolean {
  return status === null || status >= 500;
}

/** The status and minutes of a record as one text. */
export function contentOf(status: string, minutes: number | null): string {
  return minutes === null ? status : `${status} ${minutes}`;
}

/** A record of attendance as one text. */
export function recordText(version: number, content: string, recordedById: string | null): string {
  return `${version}|${content}|${recordedById}`;
}

/** Whose membership, signup, wait or attendance the request is about. */
export function holderOf({ holder, member }: Operation): string {
  return holder ?? member;
}

/** Saves a history for inspection. */
export async function saveHistory(history: History, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // Line by line: half an hour of history exceeds the maximum length of a string.
  const { operations, ...rest } = history;
  const lines = Readable.from([rest, ...operations]).map((part) => `${JSON.stringify(part)}\n`);
  await pipeline(lines, createWriteStream(path));
}

/** Reads a saved history. */
export async function loadHistory(path: string): Promise<History> {
  const parts: unknown[] = [];
  for await (const line of createInterface(createReadStream(path))) {
    parts.push(JSON.parse(line));
  }
  const [rest, ...operations] = parts as [Omit<History, 'operations'>, ...Operation[]];
  return { ...rest, operations };
}

/** Groups items by a key, in their order. */
export function groupBy<Thing>(
  things: Iterable<Thing>,
  nameOf: (thing: Thing) => string,
): Map<string, Thing[]> {
  const groups = new Map<string, Thing[]>();
  for (const thing of things) {
    const group = groups.get(nameOf(thing));
    if (group === undefined) {
      groups.set(nameOf(thing), [thing]);
    } else {
      group.push(thing);
    }
  }
  return groups;
}
