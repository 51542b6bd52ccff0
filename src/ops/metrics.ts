import Fastify, { LogController } from 'fastify';
import plugin from 'fastify-plugin';
import type { Database } from '../database/database.js';
import { Catalogue } from '../errors/catalogue.js';
import { problems } from '../http/error-handler.js';
import { immediate } from '../http/immediate.js';
import { methods } from '../http/method-not-allowed.js';
import { health } from './health.js';
import { Measures } from './measures.js';

export interface MetricsOptions {
  database: Database;
  /** Where they are; undefined for nowhere, and then nothing is counted. */
  listen: { host: string; port: number } | undefined;
}

/**
 * `/metrics` for Prometheus, and `/livez` and `/readyz`, on a port of their own: who may use the service need not see
 * its measures, and probes are answered while the service's own port is full.
 */
export const metrics = plugin<MetricsOptions>(
  async (app, { database, listen }) => {
    if (listen === undefined) {
      return;
    }
    const measures = new Measures(database);
    app.addHook(
      'onResponse',
      immediate((request, reply) => {
        const { method, routeOptions, problem } = request;
        measures.answered(
          method,
          routeOptions.url,
          reply.statusCode,
          reply.elapsedTime,
          problem?.code ?? null,
        );
      }),
    );

    // A listener of its own: its accept queue is empty when that of the service is full.
    const admin = Fastify({
      loggerInstance: app.log,
      logController: new LogController({ disableRequestLogging: true }),
    });
    await admin.register(methods);
    await admin.register(problems, { catalogue: new Catalogue() });
    await admin.register(health, {
      database,
      isDraining: () => app.isDraining,
      lastAudit: () => app.audit.latest(),
    });
    admin.get('/metrics', async (_request, reply) =>
      reply.type(measures.contentType).send(await measures.print()),
    );
    app.addHook('onReady', async () => {
      await admin.listen(listen);
    });
    app.addHook('onClose', () => admin.close());
  },
  { name: 'metrics', dependencies: ['drain'] },
);
