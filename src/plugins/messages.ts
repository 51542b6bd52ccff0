import type { Socket } from 'node:net';
import plugin from 'fastify-plugin';
import { countHeader } from '../http/header-lines.js';
import { Problem } from '../problems/problem.js';

/**
 * Messages that Node by itself would refuse with an empty answer, although they can be read: here they are requests.
 * For the first rule the server is made with `requireHostHeader: false`.
 */
export const messages = plugin(
  async (app) => {
    // RFC 9112, section 3.2. Two hosts are two readings of one message, and a proxy may have gone by the other.
    app.addHook('onRequest', async ({ raw }) => {
      const hosts = countHeader(raw, 'host');
      if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1')) {
        const detail = 'Send the header Host, once.';
        const code = hosts === 0 ? 'required' : 'invalid_value';
        throw new Problem(
          'invalid_parameter',
          { detail, errors: [{ header: 'Host', code, detail }] },
          { connection: 'close' },
        );
      }
    });

    // An offer to go on in another protocol is passed over (RFC 9110, section 7.8), but Node then drops whatever came
    // behind it in the same piece and reads on in the middle of it. So the answer is the last of its connection, and
    // what is read from behind it is nobody's request. `request` and not a hook, which some refusals do not reach.
    const last = new WeakMap<Socket, unknown>();
    app.server.prependListener('request', (request, response) => {
      if (request.headers.upgrade !== undefined && !last.has(request.socket)) {
        last.set(request.socket, request);
        response.setHeader('connection', 'close');
      }
    });
    app.addHook('onRequest', async ({ raw }) => {
      if ((last.get(raw.socket) ?? raw) !== raw) {
        const detail = 'Send what follows a request with Upgrade on another connection.';
        throw new Problem('invalid_parameter', { detail }, { connection: 'close' });
      }
    });

    // An expectation that is unknown may be passed over (RFC 9110, section 10.1.1); no code here stands for its refusal.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  },
  { name: 'messages', dependencies: ['problems'] },
);
