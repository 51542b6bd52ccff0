import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../database/database.js';
import { onRequestEnd } from '../http/request-end.js';
import type { ExpiredResponses } from './expired-responses.js';
import type { IsolationAudit } from './isolation-audit.js';

/** Buckets of the durations in seconds: from a read with a cached plan to the time-out of most clients. */
const BUCKETS_S = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** One label for all requests without a route, so that requests for random paths add no series. */
const NO_ROUTE = 'none';

/**
 * The metrics, named by the conventions of Prometheus. No label contains a club or a member: there are too many, and
 * metrics must not hold personal data.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'club_http_requests_total',
    help: 'Requests that have ended, by method, route and status; 499 when the connection was closed before the response.',
    labelNames: ['method', 'route', 'status'],
    registers: [this.#registry],
  });
  readonly #durations = new Histogram({
    name: 'club_http_request_duration_seconds',
    help: 'From the routing of a request to the end of its response.',
    labelNames: ['method', 'route'],
    buckets: BUCKETS_S,
    registers: [this.#registry],
  });
  readonly #errors = new Counter({
    name: 'club_http_refusals_total',
    help: 'Errors by code; rate_limited among them.',
    labelNames: ['code'],
    registers: [this.#registry],
  });

  constructor({
    database,
    expiredResponses,
    audit,
  }: {
    database: Database;
    expiredResponses: ExpiredResponses;
    audit: IsolationAudit;
  }) {
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
      () => expiredResponses.storedBytes,
    );
    this.#total(
      'club_idempotency_expired_total',
      'Stored responses that this process deleted because they were older than 24 hours.',
      () => expiredResponses.deleted,
    );
    this.#observeAudit(audit);
    // These series exist before the first error, so that a rate can be computed.
    for (const code of ['rate_limited', 'internal_error', 'service_unavailable']) {
      this.#errors.inc({ code }, 0);
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Counts the requests of an app when they have ended. */
  observe(app: FastifyInstance): void {
    onRequestEnd(app, ({ method, routeOptions, problem }, { elapsedTime }, status) => {
      const { url: route } = routeOptions;
      const labels = route === undefined ? { method: NO_ROUTE, route: NO_ROUTE } : { method, route };
      this.#requests.inc({ ...labels, status });
      this.#durations.observe(labels, elapsedTime / 1000);
      if (problem) {
        this.#errors.inc({ code: problem.code });
      }
    });
  }

  /** All metrics in the text format of Prometheus. */
  render(): Promise<string> {
    return this.#registry.metrics();
  }

  #observeAudit(audit: IsolationAudit): void {
    // Without a series before the first audit: nothing is known then.
    new Gauge({
      name: 'club_audit_findings',
      help: 'Findings of the last audit of the isolation of clubs.',
      labelNames: ['severity'],
      registers: [this.#registry],
      collect() {
        const latest = audit.latest();
        if (latest !== undefined) {
          this.set({ severity: 'critical' }, latest.critical);
          this.set({ severity: 'warning' }, latest.warnings);
        }
      },
    });
    this.#gauge(
      'club_audit_last_run_timestamp_seconds',
      'When the last audit ran, as a Unix time; 0 before the first.',
      () => Date.parse(audit.latest()?.at ?? '1970-01-01') / 1_000,
    );
    this.#gauge('club_audit_stale', '1 when no audit has run for ten minutes.', () =>
      Number(audit.isStale()),
    );
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
