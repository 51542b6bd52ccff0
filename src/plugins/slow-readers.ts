import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';

/** Of shorter answers, all that `MAX_CONNECTIONS` allows for fit into the memory. */
const LONG_BYTES = 16 * 1024;

/**
 * An answer stays in memory until its reader has taken it, and that of one large shift is megabytes: some hundred readers
 * who do not read would fill the memory. Beyond so many bytes whoever has been at it for the longest is cut off.
 */
export const slowReaders = plugin<{ mostBytes: number }>(
  async (app, { mostBytes }) => {
    /** What is not taken yet, in the order in which it was given. */
    const unread = new Map<FastifyReply, number>();
    let bytes = 0;
    const forget = (reply: FastifyReply) => {
      bytes -= unread.get(reply) ?? 0;
      unread.delete(reply);
    };
    const keep = (reply: FastifyReply, length: number) => {
      unread.set(reply, length);
      bytes += length;
      reply.raw.once('close', () => forget(reply));
      for (const [slowest] of unread) {
        if (bytes <= mostBytes) {
          break;
        }
        slowest.log.warn({ ip: slowest.request.ip, unread: bytes }, 'a slow reader was cut off');
        forget(slowest);
        slowest.raw.destroy();
      }
    };

    app.addHook('onSend', (_request, reply, payload, done) => {
      const length = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
      // Of who has left already nothing more is heard.
      if (length >= LONG_BYTES && !reply.raw.destroyed) {
        keep(reply, length);
      }
      done();
    });
  },
  { name: 'slow-readers' },
);
