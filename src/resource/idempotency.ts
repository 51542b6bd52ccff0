import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import type { Json } from '../database/json.js';
import { type Query, sql } from '../database/sql.js';
import type { TenantTransaction } from '../database/tenant-context.js';
import type { Transaction } from '../database/transaction.js';
import { idempotencyKeyInvalid } from '../errors/conflict.js';
import { Problem } from '../errors/problem.js';
import { countHeader } from '../http/header-lines.js';
import { pathOf } from '../http/target.js';
import { bodyOf, send } from './json-response.js';
import { onlyRow } from './rows.js';

/** A created resource and its location, or the result of other work that is done once. */
export interface Created<Body> {
  /** By default 201. */
  status?: number;
  location?: string;
  etag?: string;
  /** The resource; rows are sent as an array. */
  body: Body extends readonly (infer Row)[] ? Json<Row>[] : Json<Body>;
}

/** The key of a request. */
export interface IdempotencyKey {
  key: string;
  /** The SHA-256 of the request, in hexadecimal digits. */
  fingerprint: string;
}

/** The response to a request that created something. */
export interface StoredResponse {
  status: number;
  location: string | null;
  etag: string | null;
  /** The serialized JSON. */
  body: string;
}

/** The response to a request with a key: a new one, or the stored one of an earlier request. */
export interface KeyedResponse extends StoredResponse {
  isReplay: boolean;
}

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Creates a resource in the transaction of the request and responds with 201, unless the work returns another status. With an
     * Idempotency-Key it is created once: the same request gets the first response again. An error is not stored.
     *
     * @throws Problem idempotency_key_invalid, and what the work or a statement throws
     */
    create<Body>(work: (tx: TenantTransaction) => Promise<Created<Body>>): Promise<Body>;
    /**
     * The same by a function that creates the resource.
     *
     * @param options.query calls it and returns the resource
     * @param options.keyed calls it at most once for the key, and stores the response
     */
    createByCall<Body>(options: {
      location: string;
      query: Query<Body>;
      keyed: (key: IdempotencyKey) => Query<KeyedResponse>;
    }): Promise<Body>;
  }
}

const CREATED = 201;

/** Retry-safe creation: `reply.create` and `reply.createByCall`, for the routes that create a resource. */
export const idempotency = plugin(
  async (app) => {
    app.decorateReply('create', async function (work) {
      const { request } = this;
      const key = readKey(request);
      if (key === undefined) {
        return respond(this, responseOf(this, await request.transaction(work)));
      }
      const response = await request.transaction(async (tx): Promise<KeyedResponse> => {
        const stored = await acquireKey(tx, key);
        if (stored !== undefined) {
          return { ...stored, isReplay: true };
        }
        const created = responseOf(this, await work(tx));
        await storeResponse(tx, key, created);
        return { ...created, isReplay: false };
      });
      return respond(this, response);
    });

    app.decorateReply('createByCall', async function ({ location, query, keyed }) {
      const { request } = this;
      const key = readKey(request);
      if (key === undefined) {
        const created = onlyRow(await request.call(query));
        return respond(this, { status: CREATED, location, etag: null, body: bodyOf(this, created) });
      }
      return respond(this, onlyRow(await request.call(keyed(key))).parse());
    });
  },
  { name: 'idempotency', dependencies: ['request-transaction', 'json-response'] },
);

function responseOf<Body>(reply: FastifyReply, created: Created<Body>): StoredResponse {
  const { status = CREATED, location = null, etag = null, body } = created;
  return { status, location, etag, body: bodyOf(reply, body) };
}

/** Sends a response; stored bytes unchanged, even if another release stored them. */
function respond(
  reply: FastifyReply,
  { status, location, etag, body, isReplay }: StoredResponse & Partial<KeyedResponse>,
): never {
  if (isReplay) {
    reply.header('idempotent-replayed', 'true');
  }
  if (etag !== null) {
    reply.header('etag', etag);
  }
  if (location !== null) {
    reply.header('location', location);
  }
  return send(reply.code(status), body);
}

const HEADER = 'idempotency-key';
/** 1 to 255 characters of visible ASCII, with spaces inside. */
const FORM = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * The Idempotency-Key of a request (draft-ietf-httpapi-idempotency-key-header), as it was sent; undefined without.
 *
 * @throws Problem idempotency_key_invalid
 */
function readKey(request: FastifyRequest): IdempotencyKey | undefined {
  const count = countHeader(request.raw, HEADER);
  if (count === 0) {
    return undefined;
  }
  const value = request.headers[HEADER];
  if (count > 1 || typeof value !== 'string' || !FORM.test(value)) {
    throw new Problem(idempotencyKeyInvalid);
  }
  return { key: value, fingerprint: fingerprintOf(request) };
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

/**
 * Acquires the key for the caller; returns the stored response of an earlier request. Waits while another request holds
 * the key.
 *
 * @throws postgres.PostgresError ID001 when the key belongs to another request, 55P03 when the wait ran out
 */
async function acquireKey(
  tx: Transaction,
  { key, fingerprint }: IdempotencyKey,
): Promise<StoredResponse | undefined> {
  const [stored] = await tx.query<StoredResponse>(sql`
    select status, location, etag, body from app.claim_key(${key}, decode(${fingerprint}, 'hex'))`);
  return stored;
}

/** Stores the response for the next request with the key. */
async function storeResponse(
  tx: Transaction,
  { key }: IdempotencyKey,
  response: StoredResponse,
): Promise<void> {
  const { status, location, etag, body } = response;
  await tx.query(sql`select app.keep_answer(${key}, ${status}::smallint, ${location}, ${etag}, ${body})`);
}
