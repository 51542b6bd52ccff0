import Fastify, { type FastifyInstance } from 'fastify';
import { Catalogue } from '../errors/catalogue.js';
import { handleClientErrors } from '../http/client-errors.js';
import { earlyResponse } from '../http/early-response.js';
import { errorHandler } from '../http/error-handler.js';
import { notFound } from '../http/not-found.js';
import { RequestOrder } from '../http/request-order.js';
import { fastifyOptions, serverFactory } from '../http/server.js';
import { type HealthOptions, health } from './health.js';
import type { Metrics } from './metrics.js';

export interface AdminServerOptions {
  host: string;
  port: number;
  metrics: Metrics;
  health: HealthOptions;
}

/** Prometheus and probes use a few; each takes a file descriptor from the callers of the API. */
const MAX_CONNECTIONS = 50;

/**
 * Serves `/metrics` for Prometheus, and `/livez` and `/readyz`, on another port: callers of the API need not reach the
 * metrics, and probes succeed while the public port is full. It has the time-outs of the public port.
 *
 * @param app the service, from whose start to whose end it listens
 */
export async function addAdminServer(
  app: FastifyInstance,
  { host, port, metrics, health: healthOptions }: AdminServerOptions,
): Promise<void> {
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
    clientErrorHandler: handleClientErrors(app.log, order),
  });
  await admin.register(earlyResponse);
  await admin.register(errorHandler, { catalogue: new Catalogue() });
  await admin.register(notFound);
  await admin.register(health, healthOptions);
  logChangesOfReadiness(admin);
  admin.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.render()),
  );
  app.addHook('onReady', async () => {
    await admin.listen({ host, port });
  });
  app.addHook('onClose', () => admin.close());
}

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
