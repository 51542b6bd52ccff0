/** A request as plain data, so that it can be printed, kept in a file and sent again. */

export interface WildRequest {
  /** What was meant: a request that the document allows, one with something changed, or anything at all. */
  kind: 'valid' | 'near' | 'wild';
  /** What was changed. */
  change: string;
  method: string;
  /** Path and query, as they are sent. */
  url: string;
  headers: Record<string, string>;
  body?: { text: string } | { base64: string };
}

export type Noun = 'task' | 'shift' | 'member' | 'club';

const NOUNS: Noun[] = ['task', 'shift', 'member', 'club'];

/** How many rows of each noun requests speak of; the last of each is the other club's. */
export const ROWS = { task: 8, shift: 8, member: 4, club: 2 } as const;

/**
 * Stands in a request for the id of a row, which is another one in every run. It has the form of a UUID, so whether
 * the request is valid does not depend on what it stands for.
 */
export function standIn(noun: Noun, index: number): string {
  return `facade00-0000-7000-8000-000000000${NOUNS.indexOf(noun)}0${index}`;
}

/** Stands in a request for a token that gives this role. */
export function tokenOf(role: string): string {
  return `facade-${role}`;
}

export const ROLES = ['Admin', 'Manager', 'Member', 'Viewer'] as const;

const STAND_IN = /facade00-0000-7000-8000-0{9}([0-3])0(\d)/gi;
const TOKEN = /\bfacade-(Admin|Manager|Member|Viewer)\b/g;

/** What the stand-ins stand for in this run. */
export interface Meaning {
  id(noun: Noun, index: number): string;
  token(role: string): string;
}

/** The text with every stand-in replaced, in its letter case. */
export function resolve(text: string, meaning: Meaning): string {
  return text
    .replace(STAND_IN, (found, noun, index) => {
      const id = meaning.id(NOUNS[Number(noun)] as Noun, Number(index));
      return found.startsWith('F') ? id.toUpperCase() : id;
    })
    .replace(TOKEN, (_found, role) => meaning.token(role));
}

/** The bytes of the body; none when there is no body. */
export function bytesOf({ body }: WildRequest): Buffer {
  if (body === undefined) {
    return Buffer.alloc(0);
  }
  return 'text' in body ? Buffer.from(body.text) : Buffer.from(body.base64, 'base64');
}
