import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Json } from '../database/json.js';
import { join, joinValues, type Statement, sql } from '../database/sql.js';
import { CURSOR } from '../examples.js';
import { pathOf } from '../http/target.js';
import { OneOf, Strict } from '../validation/schemas.js';
import { isKnown, NotModified, textTagOf } from './conditional.js';
import { decodeCursor, encodeCursor, type KeyKind, type Position } from './cursor.js';
import { bodyOf, send } from './json-response.js';

/** A sort order of a list: the column, or an indexed expression. */
export interface Order {
  column: Statement;
  kind: KeyKind;
  /** The field of a row that has the value; without it `sortKey` selects the value. */
  field?: string;
  /** Whether no two rows have the same value. Otherwise the id decides between them. */
  isUnique?: boolean;
  /** Whether the id is only for cursors: the last member of a row, which the client does not get. */
  hidesId?: boolean;
}

/** A page to read: its order, its number of rows and its start. */
export interface Page {
  order: Order;
  descending: boolean;
  limit: number;
  after: Position | undefined;
  /** The scope that cursors of this list are bound to. */
  scope: string;
}

/** A row of a list, with its sort key as the last member where no field has it. */
export type Listed<Row> = Row & { id: string; sortKey?: string };

interface PageQuery {
  sort?: string;
  limit?: number;
  cursor?: string;
}

const DEFAULT_LIMIT = 100;

/**
 * The query string of a list: its filters, `sort`, `limit` and `cursor`.
 *
 * @param sorts the names of its sort orders
 * @param standard the order of a request without `sort`
 * @param rules keywords of the whole query string
 */
export function ListQuery<Filters extends TProperties, Key extends string>(
  filters: Filters,
  sorts: readonly Key[],
  standard: Key | `-${Key}`,
  rules: Record<string, unknown> = {},
) {
  const words = sorts.flatMap((sort) => [sort, `-${sort}`] as const);
  return Strict(
    {
      ...filters,
      sort: Type.Optional(
        OneOf(words, {
          default: standard,
          description: 'The sort order; a leading hyphen means descending.',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 500,
          default: DEFAULT_LIMIT,
          description: 'The maximum number of rows of a page.',
        }),
      ),
      cursor: Type.Optional(
        Type.String({
          description: 'The start of the page, from the Link header of the previous page.',
          examples: [CURSOR],
        }),
      ),
    },
    rules,
  );
}

/** The part of the schema of a route that every list has. @param row the schema of a row */
export function pageOf<Row extends TSchema>(row: Row) {
  return {
    requestHeaders: ['If-None-Match'],
    responseHeaders: ['ETag', 'Link'],
    response: { 200: Type.Array(row), 304: NotModified },
  } as const;
}

/**
 * Reads the page that a request asks for.
 *
 * @param orders the sort orders, by name
 * @param standard the value of `sort` when the request has none
 * @throws Problem `invalid_cursor`
 */
export function readPage<Key extends string>(
  request: FastifyRequest,
  orders: Record<Key, Order>,
  standard: Key | `-${Key}`,
): Page {
  const { sort = standard, limit = DEFAULT_LIMIT, cursor, ...filters } = request.query as PageQuery;
  const sorted = sortBy(orders, sort as Key);
  const scope = scopeOf(request, sort, filters);
  const after = cursor === undefined ? undefined : decodeCursor(cursor, scope, sorted.order.kind);
  return { ...sorted, limit, after, scope };
}

/** The order that a value of `sort` names. */
export function sortBy<Key extends string>(
  orders: Record<Key, Order>,
  sort: Key | `-${Key}`,
): Pick<Page, 'order' | 'descending'> {
  return { order: orders[sort.replace('-', '') as Key], descending: sort.startsWith('-') };
}

/** The scope of a cursor: club, path, filters and order; the caller too if a filter is `me`. */
function scopeOf(request: FastifyRequest, sort: string, filters: Record<string, unknown>): string {
  const entries = Object.entries(filters).sort(([one], [other]) => (one < other ? -1 : 1));
  const isOwn = entries.some(([name, value]) => name !== 'q' && value === 'me');
  const caller = isOwn ? (request.testMemberId ?? request.identity.subject) : null;
  return JSON.stringify([request.tenant?.id, pathOf(request.url), sort, entries, caller]);
}

/** The sort key as an additional column of a list's statement, if no field has it. */
export function sortKey({ order }: Page): Statement {
  return order.field === undefined ? sql`, ${order.column} as "sortKey"` : sql``;
}

/**
 * The end of a list's statement: conditions, position, order and limit. It reads one row more than the limit, to find out
 * whether there is a next page.
 *
 * The position is a row comparison, so an index over the same columns starts at that row (keyset pagination).
 */
export function pageClause(
  { order, descending, limit, after }: Page,
  id: Statement,
  conditions: Statement[],
): Statement {
  const columns = keyOf(order, id);
  const all = [...conditions];
  if (after !== undefined) {
    const keys = joinValues(order.isUnique ? [after.key] : [after.key, after.id]);
    all.push(sql`(${join(columns, sql`, `)}) ${descending ? sql`<` : sql`>`} (${keys})`);
  }
  const where = all.length === 0 ? sql`` : sql`where ${join(all, sql` and `)}`;
  return sql`${where} ${orderClause({ order, descending }, id)} limit ${limit + 1}`;
}

/** The order of a list in its statement. */
export function orderClause(
  { order, descending }: Pick<Page, 'order' | 'descending'>,
  id: Statement,
): Statement {
  const columns = keyOf(order, id);
  const by = descending ? columns.map((column) => sql`${column} desc`) : columns;
  return sql`order by ${join(by, sql`, `)}`;
}

/** The columns that decide the place of a row in a list. */
function keyOf(order: Order, id: Statement): Statement[] {
  return order.isUnique ? [order.column] : [order.column, id];
}

/**
 * Sends the rows of the page, with the Link header (RFC 8288) if there is a next page; a 304 if the client has them. The entity
 * tag is of the Link too: a new row after a full page changes only the Link.
 */
export function sendPage<Row>(
  request: FastifyRequest,
  reply: FastifyReply,
  { order, limit, scope }: Page,
  rows: Json<Listed<Row>>[],
): Row[] {
  const last = rows[limit - 1]?.parse();
  let link = '';
  if (rows.length > limit && last !== undefined) {
    // A query string may contain further question marks (RFC 3986, 3.4).
    const [, ...query] = request.url.split('?');
    const parameters = new URLSearchParams(query.join('?'));
    const key = String(last[(order.field ?? 'sortKey') as 'sortKey']);
    parameters.set('cursor', encodeCursor({ key, id: last.id }, scope));
    link = `<${pathOf(request.url)}?${parameters}>; rel="next"`;
    reply.header('link', link);
  }
  // From the last one on.
  const hidden = [...(order.hidesId ? ['id'] : []), ...(order.field === undefined ? ['sortKey'] : [])];
  const page: Json<Row>[] = rows.slice(0, limit);
  const body = bodyOf(
    reply,
    page.map((row) => hidden.reduce((rest, name) => rest.without(name), row)),
  );
  const etag = textTagOf(`${link}\n${body}`);
  reply.header('etag', `W/${etag}`);
  return isKnown(request.headers, etag) ? (reply.code(304).send() as never) : send(reply, body);
}
