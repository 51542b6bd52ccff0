import plugin from 'fastify-plugin';

/** Dropped connections are counted and told this often, so that a flood of them does not flood the log. */
const TELL_EVERY_MS = 10_000;

/**
 * How many clients at once: one beyond the limit is dropped before it is read, because each takes memory and a file
 * descriptor, and a process without descriptors loses its database too.
 */
export const connections = plugin<{ max: number }>(
  async (app, { max }) => {
    let dropped = 0;
    let toldAt = Number.NEGATIVE_INFINITY;
    app.server.maxConnections = max;
    app.server.on('drop', (peer) => {
      dropped += 1;
      if (performance.now() - toldAt >= TELL_EVERY_MS) {
        app.log.warn(
          { dropped, max, ip: peer?.remoteAddress },
          'connections dropped: MAX_CONNECTIONS is reached',
        );
        dropped = 0;
        toldAt = performance.now();
      }
    });
  },
  { name: 'connections' },
);
