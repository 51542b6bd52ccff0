import plugin from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether the process is about to stop: not ready any more, but still answering. */
    isDraining: boolean;
    /** Begins to stop: every answer from now on is the last one of its connection. */
    drain(): void;
  }
}

/**
 * Leaving kindly: before the server closes, clients that keep their connections are told to open new ones,
 * elsewhere. A connection that is closed without a word resets the request that is on its way.
 */
export const drain = plugin(
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
  { name: 'drain' },
);
