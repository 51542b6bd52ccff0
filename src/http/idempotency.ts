import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';
import { isStatementError } from '../database/errors.js';
import type { TenantTransaction } from '../database/tenant-context.js';
import { idempotencyInProgress } from '../errors/conflict.js';
import { Problem } from '../errors/problem.js';
import { type Answer, claimKey, keepAnswer } from './idempotency-answers.js';
import { fingerprintOf, readKey } from './idempotency-key.js';

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
