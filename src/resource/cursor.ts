import { hash } from 'node:crypto';
import { Problem } from '../errors/problem.js';
import { invalidCursor } from '../errors/request.js';
import { isCalendarDate, toInstant } from '../validation/instant.js';
import { isCleanText } from '../validation/text.js';
import { isUuid } from '../validation/uuid.js';

/** The end of a page: the sort key and the id of its last row. */
export interface Position {
  key: string;
  id: string;
}

/** The type of the sort column; a cursor with a key of another type is rejected. */
export type KeyKind = 'instant' | 'text' | 'day' | 'integer' | 'bigint' | 'decimal';

/** PostgreSQL's latest instant or day; the sort key of a row without one. */
const INFINITY = 'infinity';
/** The maximum of PostgreSQL's type integer. */
const MAX_INTEGER = 2_147_483_647;

/**
 * Encodes a position as an opaque cursor, bound to its scope: the club, the list, its filters and its order.
 *
 * The binding detects mistakes of clients. It is not a protection and needs no secret: a cursor is only a position, and
 * policies decide which rows are read.
 */
export function encodeCursor(position: Position, scope: string): string {
  return Buffer.from(JSON.stringify([digest(scope), position.key, position.id])).toString('base64url');
}

/**
 * Decodes a cursor.
 *
 * @throws Problem `invalid_cursor` when the text is not a cursor or belongs to another scope
 */
export function decodeCursor(cursor: string, scope: string, kind: KeyKind): Position {
  const parts = parse(cursor);
  const [binding, key, id] = Array.isArray(parts) && parts.length === 3 ? parts : [];
  const isPosition = binding === digest(scope) && typeof id === 'string' && isUuid(id);
  const position = typeof key === 'string' ? readKey(key, kind) : null;
  if (!isPosition || position === null) {
    throw new Problem(invalidCursor);
  }
  return { key: position, id };
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** The key, in a form that PostgreSQL reads; null when it is not of this kind. */
function readKey(key: string, kind: KeyKind): string | null {
  if (kind === 'instant') {
    // PostgreSQL reads neither every offset nor every number of digits.
    return key === INFINITY ? key : toInstant(key);
  }
  return isKey(key, kind) ? key : null;
}

function isKey(key: string, kind: Exclude<KeyKind, 'instant'>): boolean {
  switch (kind) {
    case 'day':
      return key === INFINITY || isCalendarDate(key);
    case 'integer':
      return /^-?\d{1,10}$/.test(key) && Math.abs(Number(key)) <= MAX_INTEGER;
    case 'bigint':
      // Up to here a JSON number is exact.
      return /^-?\d{1,16}$/.test(key) && Number.isSafeInteger(Number(key));
    case 'decimal':
      return /^-?\d{1,30}(\.\d{1,30})?$/.test(key);
    case 'text':
      return isCleanText(key, 'line');
  }
}

function digest(scope: string): string {
  return hash('sha256', scope, 'base64url').slice(0, 16);
}
