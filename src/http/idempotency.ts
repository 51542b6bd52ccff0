import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { isStatementError } from '../database/errors.js';
import { sql } from '../database/sql.js';
import type { TenantTransaction } from '../database/tenant-context.js';
import type { Transaction } from '../database/transaction.js';
import { idempotencyInProgress, idempotencyKeyInvalid } from '../errors/conflict.js';
import { Problem } from '../errors/problem.js';
import { countHeader } from './header-lines.js';
import { pathOf } from './target.js';

/** A created resource and its location. */
export interface Created<Body> {
  location: string;
  etag?: string;
  body: Body;
}

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Creates a resource in the transaction of the request and answers 201. With an Idempotency-Key it is created once: the
     * same request gets the first response again. An error is not stored.
     *
     * @throws Problem idempotency_key_invalid, idempotency_in_progress, and what the work or a statement throws
     */
    create<Body>(work: (tx: TenantTransaction) => Promise<Created<Body>>): Promise<Body>;
  }
}

const CREATED = 201;
const LOCK_NOT_AVAILABLE = '55P03';

/** Retry-safe creation: `reply.create`, for the routes that create a resource. */
export const idempotency = plugin(
  async (app) => {
    app.decorateReply('create', async function (work) {
      const { request } = this;
      const key = readKey(request);
      this.code(CREATED);
      if (key === undefined) {
        const { location, etag, body } = await request.transaction(work);
        setHeaders(this, { location, etag: etag ?? null });
        return body;
      }
      const fingerprint = fingerprintOf(request);
      const { response, isReplay } = await request.transaction(async (tx) => {
        const stored = await acquireKey(tx, key, fingerprint).catch(asInProgress);
        if (stored !== undefined) {
          return { response: stored, isReplay: true };
        }
        const { location, etag = null, body } = await work(tx);
        const created = { status: CREATED, location, etag, body: this.serialize(body) as string };
        await storeResponse(tx, key, created);
        return { response: created, isReplay: false };
      });
      if (isReplay) {
        this.header('idempotent-replayed', 'true');
      }
      setHeaders(this, response);
      // The stored bytes are sent, also when another release stored them.
      return this.code(response.status).type('application/json; charset=utf-8').send(response.body) as never;
    });
  },
  { name: 'idempotency', dependencies: ['request-transaction'] },
);

function setHeaders(
  reply: FastifyReply,
  { location, etag }: Pick<StoredResponse, 'location' | 'etag'>,
): void {
  reply.header('location', location);
  if (etag !== null) {
    reply.header('etag', etag);
  }
}

/** A request with the same key is still running: 409, and the client sends the request again later. */
function asInProgress(error: unknown): never {
  if (isStatementError(error) && error.code === LOCK_NOT_AVAILABLE) {
    throw new Problem(idempotencyInProgress);
  }
  throw error;
}

const HEADER = 'idempotency-key';
/** 1 to 255 characters of visible ASCII, with spaces inside. */
const FORM = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * The Idempotency-Key of a request (draft-ietf-httpapi-idempotency-key-header), as it was sent; undefined without.
 *
 * @throws Problem idempotency_key_invalid
 */
function readKey(request: FastifyRequest): string | undefined {
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

/**
 * The SHA-256 of method, path and body in hexadecimal digits; equal for equal requests. The case of an id in the path does not
 * matter, nor the order of the members of a JSON object (RFC 8259, section 4).
 */
function fingerprintOf({ method, url, body }: FastifyRequest): string {
  // No body and an empty object are equal to routes without a required body.
  const content = body === undefined || body === null ? {} : body;
  return createHash('sha256')
    .update(`${method} ${pathOf(url).toLowerCase()}\n${JSON.stringify(content, sorted)}`)
    .digest('hex');
}

/** For JSON.stringify: the members of an object in the order of their names. */
function sorted(_name: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
}

/** The response to a request that created something. */
interface StoredResponse {
  status: number;
  location: string;
  etag: string | null;
  /** The serialized JSON. */
  body: string;
}

/**
 * Acquires the key for the caller; returns the stored response of an earlier request. Waits while another request holds
 * the key.
 *
 * @param request the SHA-256 of the request, in hexadecimal digits
 * @throws postgres.PostgresError ID001 when the key belongs to another request, 55P03 when the wait ran out
 */
async function acquireKey(
  tx: Transaction,
  key: string,
  request: string,
): Promise<StoredResponse | undefined> {
  const [stored] = await tx.query<StoredResponse>(sql`
    select status, location, etag, body from app.claim_key(${key}, decode(${request}, 'hex'))`);
  return stored;
}

/** Stores the response for the next request with the key. */
async function storeResponse(tx: Transaction, key: string, response: StoredResponse): Promise<void> {
  const { status, location, etag, body } = response;
  await tx.query(sql`select app.keep_answer(${key}, ${status}::smallint, ${location}, ${etag}, ${body})`);
}
