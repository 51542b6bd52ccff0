/**
 * The service on one page: every plugin and resource, in the order in which a request meets them. The order is
 * the security model, so nothing is loaded by itself.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyPluginAsync } from 'fastify';
import { authenticate } from './auth/authenticate.js';
import { authorize } from './auth/authorize.js';
import { resourceMetadata } from './auth/resource-metadata.js';
import { tenant } from './auth/tenant.js';
import { testUser } from './auth/test-user.js';
import { calendarFeed, linkPaths } from './calendar/feed.js';
import type { ServerConfig } from './config.js';
import type { Database } from './database/database.js';
import { readForCalendar } from './database/tenant-context.js';
import { Catalogue } from './errors/catalogue.js';
import { testUserInvalid } from './errors/test-user.js';
import { accessLog } from './http/access-log.js';
import { body } from './http/body.js';
import { handleClientErrors } from './http/client-errors.js';
import { cors } from './http/cors.js';
import { earlyResponse } from './http/early-response.js';
import { errorHandler, handleBrokenRequests } from './http/error-handler.js';
import { gracefulShutdown } from './http/graceful-shutdown.js';
import { notFound } from './http/not-found.js';
import { problemPages } from './http/problem-pages.js';
import { queryString } from './http/query-string.js';
import { RequestOrder } from './http/request-order.js';
import { responseHeaders } from './http/response-headers.js';
import { fastifyOptions, serverFactory } from './http/server.js';
import { strictRequests } from './http/strict-requests.js';
import { responseHeaders as documentedHeaders } from './openapi/components.js';
import { docsPage } from './openapi/docs-page.js';
import { openapi } from './openapi/openapi.js';
import { addAdminServer } from './ops/admin-server.js';
import { deleteExpiredResponses } from './ops/expired-responses.js';
import { health } from './ops/health.js';
import { type AuditTimes, auditIsolation } from './ops/isolation-audit.js';
import { Metrics } from './ops/metrics.js';
import { idempotency } from './resource/idempotency.js';
import { jsonResponse } from './resource/json-response.js';
import { callerRateLimit, linkRateLimit } from './resource/rate-limit.js';
import { loggedCaller, requestTransaction } from './resource/request-transaction.js';
import { registerResource } from './resource/resource.js';
import * as resources from './resources.js';

const BODY_LIMIT_BYTES = 128 * 1024;

/** An audit uses the database for some tenths of a second, so it runs once a minute. */
const AUDIT_TIMES: AuditTimes = { everyMs: 60_000, retryMs: 1_000, staleAfterMs: 600_000 };

const EXPIRY_EVERY_MS = 60_000;

export interface AppOptions {
  config: ServerConfig;
  database: Database;
  logger: FastifyBaseLogger;
  /** Null in tests: the service then audits, and deletes expired responses, only when asked. */
  auditTimes?: AuditTimes | null;
  /** What `make run` adds to /docs; null in production. */
  extraPlugin?: FastifyPluginAsync | null;
}

export type App = Awaited<ReturnType<typeof buildApp>>['app'];

/**
 * Builds the service; the caller lets it listen.
 *
 * @returns the app, and the jobs that run beside its requests
 */
export async function buildApp({
  config,
  database,
  logger,
  auditTimes = AUDIT_TIMES,
  extraPlugin = null,
}: AppOptions) {
  const catalogue = new Catalogue(Object.values(resources), config.testUserHeader ? [testUserInvalid] : []);
  const secretPaths = [linkPaths];
  const order = new RequestOrder();
  const app = Fastify({
    ...fastifyOptions,
    loggerInstance: logger,
    serverFactory: serverFactory({
      maxConnections: config.maxConnections,
      onMaximum: 'connections dropped: MAX_CONNECTIONS is reached',
      logger,
      order,
    }),
    clientErrorHandler: handleClientErrors(logger, order),
    trustProxy: config.trustProxy ?? false,
    requestIdHeader: false,
    bodyLimit: BODY_LIMIT_BYTES,
    // Requests on connections that open during a stop are served; Fastify's default is a 503 in another format.
    return503OnClosing: false,
    // A path parameter of any length reaches the validation, which says that it is not a UUID.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: handleBrokenRequests(secretPaths),
  }).withTypeProvider<TypeBoxTypeProvider>();

  const audit = auditIsolation(app, { database, times: auditTimes });
  const expiredResponses = deleteExpiredResponses(app, { database, everyMs: auditTimes && EXPIRY_EVERY_MS });
  const healthOptions = { database, isDraining: () => app.isDraining, audit };

  await app.register(gracefulShutdown);
  await app.register(earlyResponse);
  await app.register(errorHandler, { catalogue, secretPaths });
  // Metrics and the access log see every routed request, so they are registered before what can respond.
  if (config.metrics !== undefined) {
    const metrics = new Metrics({ database, expiredResponses, audit });
    metrics.observe(app);
    await addAdminServer(app, { ...config.metrics, metrics, health: healthOptions });
  }
  await app.register(accessLog, { callerOf: loggedCaller });
  await app.register(responseHeaders);
  // Errors need CORS headers too, so this comes before everything that can fail. A preflight has no token and ends here.
  await app.register(cors, { origins: config.corsOrigins, exposedHeaders: Object.keys(documentedHeaders) });
  await app.register(notFound, { secretPaths });
  await app.register(strictRequests);
  await app.register(queryString);
  await app.register(body);
  await app.register(openapi, {
    catalogue,
    tags: Object.values(resources).map(({ tag }) => tag),
    secretPaths,
    testUserHeader: config.testUserHeader,
    isRateLimited: config.rateLimitPerMinute > 0,
  });
  await app.register(docsPage, { isDevelopment: config.isDevelopment, extraPlugin });
  await app.register(problemPages, { catalogue });
  await app.register(health, healthOptions);
  await app.register(resourceMetadata, { publicUrl: config.publicUrl, issuer: config.auth.issuer });

  const { rateLimitPerMinute: perMinute, publicUrl, cells } = config;

  await app.register(async (calendars) => {
    await calendars.register(linkRateLimit, { perMinute });
    await calendars.register(calendarFeed, {
      read: (query, clubId) => readForCalendar(database, 'readCalendar', clubId, query),
    });
  });

  await app.register(
    async (api) => {
      await api.register(authenticate, { ...config.auth, publicUrl: config.publicUrl });
      await api.register(tenant);
      await api.register(authorize);
      await api.register(testUser, { enabled: config.testUserHeader });
      // Counts authorized requests, before the body is parsed and a connection is acquired.
      await api.register(callerRateLimit, { perMinute });
      await api.register(jsonResponse);
      await api.register(requestTransaction, { database });
      await api.register(idempotency);

      const eventTypes = Object.values(resources).flatMap((resource) => resource.eventTypes);
      for (const resource of Object.values(resources)) {
        await registerResource(api, resource, { eventTypes, publicUrl, cells });
      }
    },
    { prefix: '/api' },
  );
  return { app, audit, expiredResponses };
}
