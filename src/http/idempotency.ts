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

/** What a request made, and where it is. */
export interface Made<Body> {
  location: string;
  etag?: string;
  body: Body;
}

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Makes something in the transaction of the request and answers 201. With an Idempotency-Key it is made once:
     * whoever sends the request again gets the first answer. A refusal is not kept.
     *
     * @throws Problem idempotency_key_invalid, idempotency_in_progress, and what the work or a statement throws
     */
    create<Body>(make: (tx: TenantTransaction) => Promise<Made<Body>>): Promise<Body>;
  }
}

const CREATED = 201;
const LOCK_NOT_AVAILABLE = '55P03';

/** Retry-safe creation: `reply.create`, for the routes that make something. */
export const idempotency = plugin(
  async (app) => {
    app.decorateReply('create', async function (make) {
      const { request } = this;
      const key = readKey(request);
      this.code(CREATED);
      if (key === undefined) {
        const { location, etag, body } = await request.transaction(make);
        announce(this, { location, etag: etag ?? null });
        return body;
      }
      const fingerprint = fingerprintOf(request);
      let isReplay = false;
      const answer = await request.transaction(async (tx) => {
        const given = await claimKey(tx, key, fingerprint).catch(refuseToWait);
        isReplay = given !== undefined;
        if (given !== undefined) {
          return given;
        }
        const { location, etag = null, body } = await make(tx);
        const made: Answer = { status: CREATED, location, etag, body: this.serialize(body) as string };
        await keepAnswer(tx, key, made);
        return made;
      });
      if (isReplay) {
        this.header('idempotent-replayed', 'true');
      }
      announce(this, answer);
      // To the byte what is kept, whatever release kept it.
      return this.code(answer.status).type('application/json; charset=utf-8').send(answer.body) as never;
    });
  },
  { name: 'idempotency', dependencies: ['request-transaction'] },
);

function announce(reply: FastifyReply, { location, etag }: Pick<Answer, 'location' | 'etag'>): void {
  reply.header('location', location);
  if (etag !== null) {
    reply.header('etag', etag);
  }
}

/** Whoever bears the key is not done yet: this one need not wait for the outcome, and may come back. */
function refuseToWait(error: unknown): never {
  if (isStatementError(error) && error.code === LOCK_NOT_AVAILABLE) {
    throw new Problem(idempotencyInProgress);
  }
  throw error;
}

const HEADER = 'idempotency-key';
/** Visible ASCII, blanks inside included; the length that the contract gives. */
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
 * What makes two requests the same one: the SHA-256 of method, path and body, in hexadecimal digits. The order of the members
 * of a JSON object means nothing (RFC 8259, section 4).
 */
function fingerprintOf({ method, url, body }: FastifyRequest): string {
  // No body and an empty one are the same to the routes that take either.
  const content = body === undefined || body === null ? {} : body;
  return createHash('sha256')
    .update(`${method} ${url}\n${JSON.stringify(content, sorted)}`)
    .digest('hex');
}

/** For JSON.stringify: the members of an object in the order of their names. */
function sorted(_name: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
}

/** An answer that was given to a request that made something. */
interface Answer {
  status: number;
  location: string;
  etag: string | null;
  /** As it was sent. */
  body: string;
}

/**
 * Claims a key of the caller's: undefined when it is theirs now, and the answer when the request was done before.
 * Waits for a request that bears the same key.
 *
 * @param request the SHA-256 of the request, in hexadecimal digits
 * @throws pg.DatabaseError ID001 when the key belongs to another request, 55P03 when the wait ran out
 */
async function claimKey(tx: Transaction, key: string, request: string): Promise<Answer | undefined> {
  const [given] = await tx.query<Answer>(sql`
    select status, location, etag, body from app.claim_key(${key}, decode(${request}, 'hex'))`);
  return given;
}

/** Keeps the answer for whoever comes with the key again. */
async function keepAnswer(tx: Transaction, key: string, answer: Answer): Promise<void> {
  const { status, location, etag, body } = answer;
  await tx.query(sql`select app.keep_answer(${key}, ${status}::smallint, ${location}, ${etag}, ${body})`);
}
