import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { idempotencyKeyInvalid } from '../errors/conflict.js';
import { Problem } from '../errors/problem.js';
import { countHeader } from './header-lines.js';

const HEADER = 'idempotency-key';
/** Visible ASCII, blanks inside included; the length that the contract gives. */
const FORM = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * The Idempotency-Key of a request (draft-ietf-httpapi-idempotency-key-header), as it was sent; undefined without.
 *
 * @throws Problem idempotency_key_invalid
 */
export function readKey(request: FastifyRequest): string | undefined {
  const count = countHeader(request.raw, HEADER);
  if (count === 0) {
    return undefined;
  }
  const value = request.headers[HEADER];
  if (count > 1 || typeof value !== 'string' || !FORM.test(value)) {
    throw new Problem(idempotencyKeyInvalid);
  }
  return value;
}

/** What makes two requests the same one: the SHA-256 of method, path and body, in hexadecimal digits. */
export function fingerprintOf({ method, url, body }: FastifyRequest): string {
  // No body and an empty one are the same to the routes that take either.
  const content = body === undefined || body === null ? {} : body;
  return createHash('sha256')
    .update(`${method} ${url}\n${JSON.stringify(content)}`)
    .digest('hex');
}
