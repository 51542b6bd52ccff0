import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import plugin from 'fastify-plugin';
import { countHeader } from '../http/header-lines.js';
import { immediate } from '../http/immediate.js';
import { Problem } from '../problems/problem.js';

/**
 * Messages that Node by itself would refuse with an empty answer, although they can be read: here they are requests.
 * And those that Node reads in one way, and whatever stands in front perhaps in another: here they are refused.
 * For the first rule the server is made with `requireHostHeader: false`.
 */
export const messages = plugin(
  async (app) => {
    // Node leaves out the lines behind the thousandth without a word: a second Authorization, an If-Match. There can
    // be no more than 16 KiB of them anyway, so all are looked at.
    app.server.maxHeadersCount = 0;

    // An offer to go on in another protocol is passed over (RFC 9110, section 7.8), but Node then drops whatever came
    // behind it in the same piece and reads on in the middle of it. So the answer is the last of its connection, and
    // what is read from behind it is nobody's request; as behind what is unclear. `request` and not a hook, which some
    // refusals do not reach.
    const last = new WeakMap<Socket, unknown>();
    app.server.prependListener('request', (request, response) => {
      const isLast = request.headers.upgrade !== undefined || unclear(request) !== undefined;
      if (isLast && !last.has(request.socket)) {
        last.set(request.socket, request);
        response.setHeader('connection', 'close');
      }
    });
    app.addHook(
      'onRequest',
      immediate(({ raw }) => {
        const end = last.get(raw.socket);
        if ((end ?? raw) !== raw) {
          const detail = 'The request before this one was the last of its connection. Send this on another.';
          throw new Problem('invalid_parameter', { detail }, { connection: 'close' });
        }
        const fault = end === undefined ? undefined : unclear(raw);
        if (fault !== undefined) {
          throw new Problem(
            'invalid_parameter',
            { detail: fault.detail, errors: [fault] },
            { connection: 'close' },
          );
        }
      }),
    );

    // An expectation that is unknown may be passed over (RFC 9110, section 10.1.1); no code here stands for its refusal.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  },
  { name: 'messages', dependencies: ['problems'] },
);

/** What of a message can be read in two ways, of which a proxy may have gone by the other. */
function unclear(message: IncomingMessage): { header: string; code: string; detail: string } | undefined {
  // RFC 9112, section 3.2.
  const hosts = countHeader(message, 'host');
  if (hosts > 1 || (hosts === 0 && message.httpVersion === '1.1')) {
    const code = hosts === 0 ? 'required' : 'invalid_value';
    return { header: 'Host', code, detail: 'Send the header Host, once.' };
  }
  // RFC 9112, section 6.1: no coding but chunked is known here, and HTTP/1.0 knows none.
  const coding = message.headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || message.httpVersion !== '1.1')) {
    const detail = 'Send the body with its Content-Length, or in HTTP/1.1 as chunked and no more.';
    return { header: 'Transfer-Encoding', code: 'invalid_value', detail };
  }
  return undefined;
}
