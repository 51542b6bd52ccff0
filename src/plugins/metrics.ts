import { once } from 'node:events';
import { createServer } from 'node:http';
import plugin from 'fastify-plugin';
import type { Database } from '../database/database.js';
import { immediate } from '../http/immediate.js';
import { Measures } from '../metrics/measures.js';

export interface MetricsOptions {
  database: Database;
  /** Where Prometheus asks; undefined for nowhere, and then nothing is counted. */
  listen: { host: string; port: number } | undefined;
}

/**
 * What Prometheus asks for, on a port of its own: whoever may use the service need not see how it fares, and the
 * numbers are there when the service has no connection to spare. It stops with the service.
 */
export const metrics = plugin<MetricsOptions>(
  async (app, { database, listen }) => {
    if (listen === undefined) {
      return;
    }
    const measures = new Measures(database, () => app.turnedAway());
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

    const server = createServer(async (request, response) => {
      if (request.method !== 'GET' || request.url?.split('?', 1)[0] !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      const text = await measures.print();
      response.writeHead(200, { 'content-type': measures.contentType }).end(text);
    });
    app.addHook('onReady', async () => {
      await once(server.listen(listen), 'listening');
    });
    app.addHook('onClose', async () => {
      server.close();
      server.closeAllConnections();
    });
  },
  { name: 'metrics' },
);
