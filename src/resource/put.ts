import type { FastifyReply } from 'fastify';
import type { Json } from '../database/json.js';
import { sendRow } from './json-response.js';

/** The row of a PUT that may create it; whether it did is the last member. */
export type Put<Row> = Row & { isNew: boolean };

/**
 * Sends the row of a PUT: with 201 and its location if it is new, otherwise with 200.
 *
 * @param location the path of the request
 */
export function sendPut<Row>(reply: FastifyReply, location: string, row: Json<Put<Row>>): Row {
  if (row.parse().isNew) {
    reply.code(201).header('location', location);
  }
  return sendRow<Row>(reply, row.without('isNew'));
}
