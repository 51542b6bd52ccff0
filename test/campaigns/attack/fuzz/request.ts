/** A request as plain data, so that it can be printed, saved and sent again. */

export interface FuzzRequest {
  /** Its kind: a request that the document allows, one with a change, or random data. */
  kind: 'valid' | 'near' | 'random';
  /** What was changed. */
  change: string;
  method: string;
  /** Path and query, as sent. */
  url: string;
  headers: Record<string, string>;
  body?: { text: string } | { base64: string };
}

export type Noun = 'task' | 'shift' | 'member' | 'club';

const NOUNS: Noun[] = ['task', 'shift', 'member', 'club'];

/** The number of rows of each noun that requests name; the last of each is the other club's. */
export const ROWS = { task: 8, shift: 8, member: 4, club: 2 } as const;

/**
 * A placeholder for the id of a row, which differs in every run. It has the form of a UUID, so whether
 * the request is valid does not depend on the id.
 */
export function standIn(noun: Noun, index: number): string {
  return `facade00-0000-7000-8000-000000000${NOUNS.indexOf(noun)}0${index}`;
}

/** A placeholder for a token with this role. */
export function tokenOf(role: string): string {
  return `facade-${role}`;
}

export const ROLES = ['Admin', 'Manager', 'Member', 'Viewer'] as const;

const STAND_IN = /facade00-0000-7000-8000-0{9}([0-3])0(\d)/gi;
const TOKEN = /\bfacade-(Admin|Manager|Member|Viewer)\b/g;

/** The values of the placeholders in this run. */
export interface Meaning {
  id(noun: Noun, index: number): string;
  token(role: string): string;
}

/** Replaces every placeholder in a text, in its letter case. */
export function resolve(text: string, meaning: Meaning): string {
  return text
    .replace(STAND_IN, (found, noun, index) => {
      const id = meaning.id(NOUNS[Number(noun)] as Noun, Number(index));
      return found.startsWith('F') ? id.toUpperCase() : id;
    })
    .replace(TOKEN, (_found, role) => meaning.token(role));
}

/** The bytes of the body; undefined without a body. */
export function bytesOf({ body }: FuzzRequest): Buffer {
  if (body === undefined) {
    return Buffer.alloc(0);
  }
  return 'text' in body ? Buffer.from(body.text) : Buffer.from(body.base64, 'base64');
}
