import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';
import { Unread } from '../http/unread.js';
import { tellSometimes } from '../log.js';

/** Of shorter answers, as many as there are connections fit into the memory: 80 MiB for the 5,000 that are usual. */
const LONG_BYTES = 16 * 1024;

/**
 * An answer stays in memory until its reader has taken it, and that of one large shift is megabytes: some hundred readers
 * who do not read would fill the memory. Where there are too many bytes, whoever keeps the most loses the oldest.
 *
 * Text only: what is sent as bytes was made once, for everybody.
 */
export const slowReaders = plugin<{ mostBytes: number }>(
  async (app, { mostBytes }) => {
    const unread = new Unread<FastifyReply>(mostBytes);
    const tell = tellSometimes<FastifyReply>((cut, { request }) =>
      app.log.warn({ cut, ip: request.ip }, 'readers cut off: too much is not read yet'),
    );
    const cutOff = (reply: FastifyReply) => {
      tell(reply);
      reply.raw.destroy();
    };

    app.addHook('onSend', (request, reply, payload, done) => {
      // Of who has left already nothing more is heard.
      if (typeof payload === 'string' && payload.length >= LONG_BYTES && !reply.raw.destroyed) {
        reply.raw.once('close', () => unread.remove(reply));
        const reader = request.identity?.subject ?? request.ip;
        unread.add(reply, reader, Buffer.byteLength(payload)).forEach(cutOff);
      }
      done();
    });
  },
  { name: 'slow-readers' },
);
