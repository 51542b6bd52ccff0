import plugin from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether the process is about to stop: it is not ready, but still serves requests. */
    isDraining: boolean;
    /** Starts draining: from now on every response closes its connection. */
    drain(): void;
  }
}

/**
 * Connection draining: before the server closes, responses have `Connection: close`, so clients with keep-alive connections
 * reconnect to another process. Closing these connections without it would reset requests in transit.
 */
export const gracefulShutdown = plugin(
  async (app) => {
    app.decorate('isDraining', false);
    app.decorate('drain', () => {
      app.isDraining = true;
    });
    app.addHook('onSend', (_request, reply, _payload, done) => {
      if (app.isDraining) {
        reply.header('connection', 'close');
      }
      done();
    });
  },
  { name: 'graceful-shutdown' },
);
