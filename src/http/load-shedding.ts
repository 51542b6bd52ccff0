import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { Database } from '../database/database.js';
import { QUEUE_FULL } from '../database/errors.js';
import { throttle } from '../logger.js';
import { RETRY_AFTER_S } from '../plugins/problems.js';
import { problemFromDatabase } from '../problems/from-database.js';
import type { Problem } from '../problems/problem.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { pathOf } from './target.js';

/** Rejections remembered at once; beyond that all are forgotten, and each caller is rejected the long way once more. */
const MAX_REJECTIONS = 10_000;

/**
 * Sheds load before routing: while the queue of a tenant is full, a caller that was already rejected gets a prebuilt
 * 503. What it costs to reject is missing to every other tenant.
 *
 * A rejection is remembered under a hash of the token and the tenant, both of which were verified when the caller was
 * rejected. It never admits anybody, and a request without a valid token is never remembered.
 */
export class LoadShedder {
  readonly #database: Database;
  readonly #rejections = new Set<string>();
  readonly #log: (tenant: string) => void;
  /** Requests rejected before routing since the start. */
  shed = 0;
  #isStopped = false;

  constructor(database: Database, logger: FastifyBaseLogger) {
    this.#database = database;
    this.#log = throttle<string>((shed, tenant) =>
      logger.warn({ shed, tenant }, 'load shedding: requests rejected'),
    );
  }

  /** Remembers that the queue was full for a caller whose token and tenant were verified. */
  remember({ tenant, headers }: FastifyRequest): void {
    if (tenant === null) {
      return;
    }
    if (this.#rejections.size >= MAX_REJECTIONS) {
      this.#rejections.clear();
    }
    this.#rejections.add(keyOf(tenant.id, headers.authorization));
  }

  /** Rejects nothing from now on: while the service stops, each answer of Fastify closes its connection. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Whether a request is rejected before routing. A page of another origin needs the headers of CORS, so it is not. */
  shouldReject({ url = '', headers }: IncomingMessage): boolean {
    const tenant = headers['x-tenant-id'];
    if (
      this.#isStopped ||
      this.#rejections.size === 0 ||
      typeof tenant !== 'string' ||
      headers.origin !== undefined
    ) {
      return false;
    }
    const id = tenant.toLowerCase();
    return (
      this.#database.isFull(id) &&
      pathOf(url).startsWith('/api/') &&
      this.#rejections.has(keyOf(id, headers.authorization))
    );
  }

  /** Answers with the prebuilt 503. */
  reject({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
    this.shed += 1;
    this.#log(String(headers['x-tenant-id']));
    const requestId = randomUUID();
    const body = Buffer.from(JSON.stringify(OVERLOADED.toBody(pathOf(url), requestId)));
    response
      .writeHead(503, { ...HEADERS, 'x-request-id': requestId, 'content-length': body.length })
      .end(body);
  }
}

const OVERLOADED = problemFromDatabase(QUEUE_FULL) as Problem;
const HEADERS = {
  ...SECURITY_HEADERS,
  'content-type': 'application/problem+json',
  'retry-after': RETRY_AFTER_S,
  'cache-control': 'private, no-cache',
  vary: 'Authorization, X-Tenant-Id',
};

function keyOf(tenant: string, authorization: string | undefined): string {
  return createHash('sha256').update(`${tenant} ${authorization}`).digest('base64');
}
