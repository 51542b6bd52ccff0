import Fastify, { type FastifyInstance } from 'fastify';
import plugin from 'fastify-plugin';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../database/database.js';
import { Catalogue } from '../errors/catalogue.js';
import { answerClientErrors } from '../http/client-errors.js';
import { errorHandler } from '../http/error-handler.js';
import { allowedMethods } from '../http/method-not-allowed.js';
import { onRequestEnd } from '../http/request-end.js';
import { RequestOrder } from '../http/request-order.js';
import { fastifyOptions, serverFactory } from '../http/server.js';
import { health } from './health.js';

export interface MetricsOptions {
  database: Database;
  /** The address of the metrics port; undefined for none, and then nothing is counted. */
  listen: { host: string; port: number } | undefined;
}

/** Of the metrics port. Prometheus and probes use a few; each takes a file descriptor from the callers of the API. */
const MAX_CONNECTIONS = 50;

/**
 * `/metrics` for Prometheus, and `/livez` and `/readyz`, on a port of their own: callers of the API need not reach the
 * metrics, and probes are answered while the public port is full.
 */
export const metrics = plugin<MetricsOptions>(
  async (app, { database, listen }) => {
    if (listen === undefined) {
      return;
    }
    const measures = new Measures(database, () => app.expiredAnswers);
    onRequestEnd(app, ({ method, routeOptions, problem }, reply, status) => {
      measures.ended(method, routeOptions.url, status, reply.elapsedTime, problem?.code ?? null);
    });

    // A listener of its own: its accept queue is empty when that of the service is full. It has the time-outs of the public port.
    const order = new RequestOrder();
    const admin = Fastify({
      ...fastifyOptions,
      loggerInstance: app.log,
      forceCloseConnections: true,
      serverFactory: serverFactory({
        maxConnections: MAX_CONNECTIONS,
        onMaximum: 'connections to the metrics port dropped: it has as many as it may',
        logger: app.log,
        order,
      }),
      clientErrorHandler: answerClientErrors(app.log, order),
    });
    await admin.register(allowedMethods);
    await admin.register(errorHandler, { catalogue: new Catalogue() });
    await admin.register(health, {
      database,
      isDraining: () => app.isDraining,
      lastAudit: () => app.audit.latest(),
    });
    logChangesOfReadiness(admin);
    admin.get('/metrics', async (_request, reply) =>
      reply.type(measures.contentType).send(await measures.print()),
    );
    app.addHook('onReady', async () => {
      await admin.listen(listen);
    });
    app.addHook('onClose', () => admin.close());
  },
  { name: 'metrics', dependencies: ['graceful-shutdown'] },
);

/** Logs why the process is not ready when the reason changes: the metrics port has no access log. */
function logChangesOfReadiness(admin: FastifyInstance): void {
  let last: string | undefined;
  admin.addHook('onResponse', async ({ routeOptions, problem }, { statusCode }) => {
    const reason = problem?.reason;
    if (routeOptions.url !== '/readyz' || statusCode === 400 || reason === last) {
      return;
    }
    last = reason;
    if (reason === undefined) {
      admin.log.info('ready');
    } else {
      admin.log.warn({ reason }, 'not ready');
    }
  });
}

/** Buckets of the durations in seconds: from a read with a cached plan to the time-out of most clients. */
const BUCKETS_S = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** One label for all requests without a route, so that requests for random paths add no series. */
const NO_ROUTE = 'none';

/**
 * The metrics, named by the conventions of Prometheus. No label contains a club or a member: there are too many, and
 * metrics must not hold personal data.
 */
class Measures {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'club_http_requests_total',
    help: 'Requests that have ended, by method, route and status; 499 when the connection was closed before the answer.',
    labelNames: ['method', 'route', 'status'],
    registers: [this.#registry],
  });
  readonly #durations = new Histogram({
    name: 'club_http_request_duration_seconds',
    help: 'From the routing of a request to the end of its answer.',
    labelNames: ['method', 'route'],
    buckets: BUCKETS_S,
    registers: [this.#registry],
  });
  readonly #refusals = new Counter({
    name: 'club_http_refusals_total',
    help: 'Errors by code; rate_limited among them.',
    labelNames: ['code'],
    registers: [this.#registry],
  });

  constructor(database: Database, expiredAnswers: () => FastifyInstance['expiredAnswers']) {
    collectDefaultMetrics({ register: this.#registry });
    this.#gauge('club_database_pool_size', 'The maximum number of connections.', () => database.size);
    this.#gauge('club_database_pool_in_use', 'Connections in use.', () => database.load.inUse);
    this.#gauge(
      'club_database_queue_length',
      'Requests that wait for a connection.',
      () => database.load.queued,
    );
    this.#total(
      'club_database_connections_opened_total',
      'Connections opened.',
      () => database.connections.opened,
    );
    this.#total(
      'club_database_connections_lost_total',
      'Opened connections that were destroyed.',
      () => database.connections.lost,
    );
    this.#gauge(
      'club_idempotency_kept_bytes',
      'Size of app.idempotency_keys with its indexes, read once a minute.',
      () => expiredAnswers().keptBytes,
    );
    this.#total(
      'club_idempotency_expired_total',
      'Answers that this process deleted because they were older than 24 hours.',
      () => expiredAnswers().deleted,
    );
    // The series exists before the first 429, so that a rate can be computed.
    this.#refusals.inc({ code: 'rate_limited' }, 0);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Counts a request that has ended: `ms` is its duration in milliseconds, `code` the code of its problem. */
  ended(method: string, route: string | undefined, status: number, ms: number, code: string | null): void {
    const labels = route === undefined ? { method: NO_ROUTE, route: NO_ROUTE } : { method, route };
    this.#requests.inc({ ...labels, status });
    this.#durations.observe(labels, ms / 1000);
    if (code !== null) {
      this.#refusals.inc({ code });
    }
  }

  /** All metrics in the text format of Prometheus. */
  print(): Promise<string> {
    return this.#registry.metrics();
  }

  /** A gauge that is read when Prometheus asks. */
  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  #total(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }
}
