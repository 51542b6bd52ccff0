import { Refusal } from './refusal.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|\+00)$/;

/** The end of a page. */
export interface Position {
  key: string;
  id: string;
}

export interface PageQuery {
  limit: number;
  after: Position | undefined;
}

export interface Window extends PageQuery {
  from: string;
  to: string;
}

/** A change of a task. */
export interface TaskPatch {
  title?: string;
  description?: string | null;
  dueAt?: string | null;
  assigneeId?: string | null;
  state?: string;
  version?: number;
}

/** Whether the text is a UUID. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** @throws Refusal 400 */
export function readId(id: unknown): string {
  if (typeof id !== 'string' || !isUuid(id)) {
    throw new Refusal(400, 'invalid_parameter');
  }
  return id;
}

/** The query string of a list. @throws Refusal 400 */
export function readPage(query: Record<string, unknown>): PageQuery {
  const limit = query.limit === undefined ? 100 : Number(query.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > 500) {
    throw new Refusal(400, 'invalid_parameter');
  }
  return { limit, after: query.cursor === undefined ? undefined : readCursor(query.cursor) };
}

/** The query string of the shifts. @throws Refusal 400 */
export function readWindow(query: Record<string, unknown>): Window {
  const { from, to } = query;
  if (typeof from !== 'string' || typeof to !== 'string' || !INSTANT.test(from) || !INSTANT.test(to)) {
    throw new Refusal(400, 'invalid_parameter');
  }
  return { ...readPage(query), from, to };
}

/** @throws Refusal 400 */
export function readPatch(body: unknown): TaskPatch {
  const patch = body as TaskPatch;
  const isText = (text: unknown, longest: number) => typeof text === 'string' && text.length <= longest;
  if (
    typeof patch !== 'object' ||
    patch === null ||
    (patch.title !== undefined && (!isText(patch.title, 200) || patch.title.trim() === '')) ||
    (patch.description != null && !isText(patch.description, 10_000)) ||
    (patch.dueAt != null && !(isText(patch.dueAt, 40) && INSTANT.test(patch.dueAt))) ||
    (patch.assigneeId != null && !(isText(patch.assigneeId, 36) && isUuid(patch.assigneeId))) ||
    (patch.state !== undefined && !isText(patch.state, 10)) ||
    (patch.version !== undefined && !Number.isInteger(patch.version))
  ) {
    throw new Refusal(400, 'validation_failed');
  }
  return patch;
}

/** The Link header with the next page; undefined on the last page. `rows` has one row more than the limit. */
export function nextLink(
  url: string,
  { limit }: PageQuery,
  rows: { id: string; key: string }[],
): string | undefined {
  const last = rows[limit - 1];
  if (rows.length <= limit || last === undefined) {
    return undefined;
  }
  const cursor = Buffer.from(JSON.stringify([last.key, last.id])).toString('base64url');
  const bare = url.replace(/([?&])cursor=[^&]*&?/, '$1').replace(/[?&]$/, '');
  return `<${bare}${bare.includes('?') ? '&' : '?'}cursor=${cursor}>; rel="next"`;
}

function readCursor(cursor: unknown): Position {
  try {
    const [key, id] = JSON.parse(Buffer.from(cursor as string, 'base64url').toString());
    if (isUuid(id) && INSTANT.test(key)) {
      return { key, id };
    }
  } catch {
    // The error is thrown below.
  }
  throw new Refusal(400, 'invalid_cursor');
}

/** `2026-05-01 18:00:00.5+00` becomes `2026-05-01T18:00:00.5Z`: as text, which is faster than a Date and keeps microseconds. */
export function toRfc3339(text: string): string {
  return `${text.slice(0, 10)}T${text.slice(11, -3)}Z`;
}
