import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** What a client may ask for. */
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
  | 'list members';

/** A task or a shift as an answer, or the database at the end, showed it. */
export interface Row {
  id: string;
  version: number;
  /** What changes with the version, in one text: title and state, or title and capacity. */
  content: string;
  capacity?: number;
  signupCount?: number;
  /** Who is signed up, by Member.Id; undefined where the answer does not say. */
  members?: string[];
}

/** One request as its sender saw it. Times are milliseconds since the run began. */
export interface Operation {
  kind: Kind;
  club: string;
  /** The Member.Id of the caller. */
  member: string;
  /** The task or the shift that it is about. */
  target?: string;
  key?: string;
  /** What no other creation writes: the row bears it for ever. */
  marker?: string;
  /** The version that the writer said it had read. */
  named?: number;
  /** The new content, where a success must show it. */
  content?: string;
  capacity?: number;
  called: number;
  returned: number;
  /** Null when no answer came. */
  status: number | null;
  /** Why no answer came. */
  failure?: 'broken' | 'patience ran out';
  code?: string;
  retryAfter?: boolean;
  rows: Row[];
  /** Clubs, other than the caller's, that the answer shows something of. */
  strangers: string[];
}

/** Something that the nemesis did, from its beginning until all is well again. */
export interface Fault {
  kind: string;
  from: number;
  to: number;
}

/** A row of the database at the end, as the superuser reads it. */
export interface FinalRow extends Row {
  club: string;
  marker: string | null;
  /** Clubs whose texts or rows it holds or refers to, other than its own. */
  strangers: string[];
}

/** The whole of the database at the end. */
export interface FinalState {
  tasks: FinalRow[];
  shifts: FinalRow[];
  signups: { shift: string; member: string }[];
  /** Other rows that hold something of another club, in words. */
  strangers: string[];
}

/** What the service was like after the storm. */
export interface Recovery {
  poolSize: number;
  /** Sessions of the service's login. */
  sessions: number;
  /** Transactions that it had under way at the same time when there was work for more. */
  usable: number;
  /** Requests that did not succeed, in words. */
  refused: string[];
  /** The slowest of them. */
  slowestMs: number;
}

/** All that the checker goes by. */
export interface History {
  seed: number;
  clubs: string[];
  operations: Operation[];
  faults: Fault[];
  /** Ends of the service's process, and errors in it, that nobody asked for. */
  crashes: string[];
  /** Deploys that did not come through, in words. */
  failedDeploys: string[];
  finalState: FinalState;
  recovery: Recovery;
}

/** A write whose success the caller knows of. */
export function isDone({ status }: Operation): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Nobody can know whether it took effect: no answer, or one of a service that had lost its database. */
export function isUnknown({ status }: Operation): boolean {
  return status === null || status >= 500;
}

/** Keeps a history for somebody to look into. */
export async function saveHistory(history: History, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // Line by line, because half an hour of it is more than one text can hold.
  const { operations, ...rest } = history;
  const lines = Readable.from([rest, ...operations]).map((part) => `${JSON.stringify(part)}\n`);
  await pipeline(lines, createWriteStream(path));
}

/** Reads a history that was kept. */
export async function loadHistory(path: string): Promise<History> {
  const parts: unknown[] = [];
  for await (const line of createInterface(createReadStream(path))) {
    parts.push(JSON.parse(line));
  }
  const [rest, ...operations] = parts as [Omit<History, 'operations'>, ...Operation[]];
  return { ...rest, operations };
}

/** Sorts things into groups, in their order. */
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
