import { type TProperties, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { join, type Statement, sql } from '../database/sql.js';
import { CURSOR } from '../examples.js';
import { OneOf, Strict } from '../validation/schemas.js';
import { decodeCursor, encodeCursor, type KeyKind, type Position } from './cursor.js';
import { pathOf } from './target.js';
import { toUtc } from './utc-times.js';

/** One way to sort a list: the column, or the expression that an index holds. */
export interface Order {
  column: Statement;
  kind: KeyKind;
  /** Where a row has the value anyway; without it `sortKey` selects the value. */
  field?: string;
}

/** A page to read: from where, in which order, how many rows. */
export interface Page {
  order: Order;
  descending: boolean;
  limit: number;
  after: Position | undefined;
  /** What a cursor of this list is bound to. */
  scope: string;
}

/** A row of a list, with the value it was sorted by where the row has no field for it. That is not answered. */
export type Listed<Row> = Row & { id: string; sortKey?: string };

interface PageQuery {
  sort?: string;
  limit?: number;
  cursor?: string;
}

const DEFAULT_LIMIT = 100;

/** The query string of a list: its filters, and how to page through it. */
export function ListQuery<Filters extends TProperties, Key extends string>(
  filters: Filters,
  sorts: readonly Key[],
) {
  const words = sorts.flatMap((sort) => [sort, `-${sort}`] as const);
  return Strict({
    ...filters,
    sort: Type.Optional(OneOf(words, { description: 'The order; a leading hyphen turns it around.' })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 500,
        default: DEFAULT_LIMIT,
        description: 'How many rows a page has at most.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        description: 'Where to go on: from the Link header of the page before.',
        examples: [CURSOR],
      }),
    ),
  });
}

/**
 * Reads which page a request asks for.
 *
 * @param orders the ways to sort, by their names
 * @param standard the order without `sort`, as it would be written there
 * @throws Problem `invalid_cursor`
 */
export function readPage<Key extends string>(
  request: FastifyRequest,
  orders: Record<Key, Order>,
  standard: Key | `-${Key}`,
): Page {
  const { sort = standard, limit = DEFAULT_LIMIT, cursor, ...filters } = request.query as PageQuery;
  const order = orders[sort.replace('-', '') as Key];
  const scope = scopeOf(request, sort, filters);
  const after = cursor === undefined ? undefined : decodeCursor(cursor, scope, order.kind);
  return { order, descending: sort.startsWith('-'), limit, after, scope };
}

/** A cursor stays within its club, list, filters and order; within its caller too where a filter says `me`. */
function scopeOf(request: FastifyRequest, sort: string, filters: Record<string, unknown>): string {
  const entries = Object.entries(filters).sort(([one], [other]) => (one < other ? -1 : 1));
  const isOwn = entries.some(([name, value]) => name !== 'q' && value === 'me');
  const caller = isOwn ? (request.testMemberId ?? request.identity.subject) : null;
  return JSON.stringify([request.tenant?.id, request.routeOptions.url, sort, entries, caller]);
}

/** The sort key as one more column of a list's statement, where the row does not have it. */
export function sortKey({ order }: Page): Statement {
  return order.field === undefined ? sql`, ${order.column} as "sortKey"` : sql``;
}

/**
 * The end of a list's statement: the conditions, the position, the order and the limit. One row more than asked
 * for is read, to know whether there is a next page.
 *
 * The position is a row comparison, which an index over the same columns answers from its middle.
 */
export function pageClause(
  { order, descending, limit, after }: Page,
  id: Statement,
  conditions: Statement[],
): Statement {
  const position =
    after &&
    (descending
      ? sql`(${order.column}, ${id}) < (${after.key}, ${after.id})`
      : sql`(${order.column}, ${id}) > (${after.key}, ${after.id})`);
  const all = position ? [...conditions, position] : conditions;
  const where = all.length === 0 ? sql`` : sql`where ${join(all, sql` and `)}`;
  const by = descending ? sql`${order.column} desc, ${id} desc` : sql`${order.column}, ${id}`;
  return sql`${where} order by ${by} limit ${limit + 1}`;
}

/** The rows to answer with; a Link header (RFC 8288) leads to the next page when there is one. */
export function answerPage<Row>(
  request: FastifyRequest,
  reply: FastifyReply,
  { order, limit, scope }: Page,
  rows: Listed<Row>[],
): Row[] {
  const answered = rows.slice(0, limit);
  const last = answered.at(-1);
  if (rows.length > limit && last !== undefined) {
    // Behind the first question mark another is a letter like any (RFC 3986, 3.4).
    const [, ...query] = request.url.split('?');
    const parameters = new URLSearchParams(query.join('?'));
    const value = String(last[(order.field ?? 'sortKey') as 'sortKey']);
    const key = order.kind === 'instant' ? toUtc(value) : value;
    parameters.set('cursor', encodeCursor({ key, id: last.id }, scope));
    reply.header('link', `<${pathOf(request.url)}?${parameters}>; rel="next"`);
  }
  return answered;
}
