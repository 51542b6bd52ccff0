import { hash } from 'node:crypto';
import { Problem } from '../errors/problem.js';
import { invalidCursor } from '../errors/request.js';
import { isCalendarDate, toInstant } from '../validation/instant.js';
import { isCleanText } from '../validation/text.js';
import { isUuid } from '../validation/uuid.js';

/** Where a page ended: the last row's sort key and its id. */
export interface Position {
  key: string;
  id: string;
}

/** The type of the column that a list is sorted by; a cursor with anything else in its place is refused. */
export type KeyKind = 'instant' | 'text' | 'day' | 'integer' | 'decimal';

/** PostgreSQL's latest instant or day, which stands for none. */
const INFINITY = 'infinity';
/** What PostgreSQL's `integer` holds. */
const MAX_INTEGER = 2_147_483_647;

/**
 * Writes a position as an opaque cursor, bound to its scope: the club, the list, its filters and its order.
 *
 * The binding keeps an honest client from mistakes. It is no secret and needs none: a cursor only says where to
 * go on reading, and what may be read is decided without it.
 */
export function encodeCursor(position: Position, scope: string): string {
  return Buffer.from(JSON.stringify([digest(scope), position.key, position.id])).toString('base64url');
}

/**
 * Reads a cursor back.
 *
 * @throws Problem `invalid_cursor` when it is none of ours, or belongs to another scope
 */
export function decodeCursor(cursor: string, scope: string, kind: KeyKind): Position {
  const parts = parse(cursor);
  const [binding, key, id] = Array.isArray(parts) && parts.length === 3 ? parts : [];
  const isPosition = binding === digest(scope) && typeof id === 'string' && isUuid(id);
  if (!isPosition || typeof key !== 'string' || !isKey(key, kind)) {
    throw new Problem(invalidCursor);
  }
  return { key, id };
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function isKey(key: string, kind: KeyKind): boolean {
  switch (kind) {
    case 'instant':
      return key === INFINITY || toInstant(key) !== null;
    case 'day':
      return key === INFINITY || isCalendarDate(key);
    case 'integer':
      return /^-?\d{1,10}$/.test(key) && Math.abs(Number(key)) <= MAX_INTEGER;
    case 'decimal':
      return /^-?\d{1,30}(\.\d{1,30})?$/.test(key);
    case 'text':
      return isCleanText(key, 'line');
  }
}

function digest(scope: string): string {
  return hash('sha256', scope, 'base64url').slice(0, 16);
}
