import type { FastifyReply } from 'fastify';
import type { Json } from '../database/json.js';
import { etagOf } from './conditional.js';
import { sendRow } from './json-response.js';

/** The row of a PUT that may create it; whether it did is the last member. */
export type Put<Row> = Row & { isNew: boolean };

/**
 * Sends the row of a PUT: with 201 and its location, the path of the request, if it is new, otherwise with 200. A row with a version
 * has its tag.
 */
export function sendPut<Row>(reply: FastifyReply, row: Json<Put<Row>>): Row {
  const { isNew, version } = row.parse() as Put<{ version?: number }>;
  if (isNew) {
    reply.code(201).header('location', locationOf(reply));
  }
  if (version !== undefined) {
    reply.header('etag', etagOf(version));
  }
  return sendRow<Row>(reply, row.without('isNew'));
}

/** The path of the route with the ids of the request, as the service writes ids. */
function locationOf({ request }: FastifyReply): string {
  const ids = request.params as Record<string, string>;
  return String(request.routeOptions.url).replace(/:(\w+)/g, (_, name) => String(ids[name]).toLowerCase());
}
