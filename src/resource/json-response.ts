import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';
import type { Json } from '../database/json.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Matches each time of a response up to its offset; from its schema. Absent if the response has no time. */
    times?: RegExp | undefined;
  }
}

interface Schema {
  $ref?: string;
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}

/**
 * Sends rows as PostgreSQL wrote them: they are neither parsed nor serialized again. Only their times change, from
 * `…+00:00` to `…Z`. The response schema says which fields are times: a title may end in `+00:00` too.
 */
export const jsonResponse = plugin(
  async (app) => {
    app.addHook('onRoute', function (route) {
      const times = timesOf(route.schema?.response, (id) => this.getSchema(id));
      route.config = { ...route.config, times };
    });
  },
  { name: 'json-response' },
);

/** The body of a response with this row or these rows. */
export function bodyOf<Row>(reply: FastifyReply, rows: Json<Row> | Json<Row>[]): string {
  const { times } = reply.routeOptions.config;
  const text = Array.isArray(rows) ? `[${rows.join(',')}]` : String(rows);
  return times === undefined ? text : text.replace(times, '$1Z"');
}

/** Sends a row. Typed as the row, so that the compiler compares it with the response schema of the route. */
export function sendRow<Row>(reply: FastifyReply, row: Json<Row>): Row {
  return send(reply, bodyOf(reply, row));
}

/** Sends rows as an array. */
export function sendRows<Row>(reply: FastifyReply, rows: Json<Row>[]): Row[] {
  return send(reply, bodyOf(reply, rows));
}

/** Sends a body that is JSON already. */
export function send(reply: FastifyReply, body: string): never {
  return reply.type('application/json; charset=utf-8').send(body) as never;
}

/**
 * The times in the JSON of a response. A name in quotation marks before a colon is the name of a field: inside a text they would
 * be escaped.
 *
 * @param response the response schemas of a route by status; the first success is used
 * @param find returns the schema registered under an id
 */
function timesOf(response: unknown, find: (id: string) => unknown): RegExp | undefined {
  const [, success = {}] =
    Object.entries((response ?? {}) as Record<string, Schema>).find(([status]) => status < '300') ?? [];
  const names = new Set<string>();
  const collect = (schema: Schema) => {
    const { properties = {}, items } = schema.$ref === undefined ? schema : (find(schema.$ref) as Schema);
    for (const [name, property] of Object.entries(properties)) {
      if (property.format === 'date-time') {
        names.add(name);
      }
      collect(property);
    }
    if (items !== undefined) {
      collect(items);
    }
  };
  collect(success);
  return names.size === 0
    ? undefined
    : new RegExp(`("(?:${[...names].join('|')})":"[\\dT:.-]+)\\+00:00"`, 'g');
}
