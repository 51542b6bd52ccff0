import type { DropArgument } from 'node:net';
import plugin from 'fastify-plugin';
import { tellSometimes } from '../log.js';

/**
 * How many clients at once: one beyond the limit is dropped before it is read, because each takes memory and a file
 * descriptor, and a process without descriptors loses its database too.
 */
export const connections = plugin<{ max: number }>(
  async (app, { max }) => {
    app.server.maxConnections = max;
    const tell = tellSometimes<DropArgument | undefined>((dropped, peer) =>
      app.log.warn(
        { dropped, max, ip: peer?.remoteAddress },
        'connections dropped: MAX_CONNECTIONS is reached',
      ),
    );
    app.server.on('drop', tell);
  },
  { name: 'connections' },
);
