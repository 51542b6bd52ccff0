import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import plugin from 'fastify-plugin';
import { type Fault, Problem } from '../errors/problem.js';
import { invalidParameter } from '../errors/request.js';
import { countHeader } from './header-lines.js';
import { immediate } from './immediate.js';

/** The request whose answer is the last of its connection. */
const lastRequests = new WeakMap<Socket, IncomingMessage>();

/**
 * Makes the answer to a request the last of its connection where it is unclear which bytes belong to it: a message that
 * can be read in two ways, and an offer to switch protocols, behind which Node.js drops bytes (RFC 9110, 7.8).
 */
export function endConnectionBehindUnclear(request: IncomingMessage, response: ServerResponse): void {
  const isLast = request.headers.upgrade !== undefined || unclear(request) !== undefined;
  if (isLast && !lastRequests.has(request.socket)) {
    lastRequests.set(request.socket, request);
    response.setHeader('connection', 'close');
  }
}

/** Refuses messages that Node.js reads in one way and a proxy in front perhaps in another, and what comes behind them. */
export const strictRequests = plugin(
  async (app) => {
    app.addHook(
      'onRequest',
      immediate(({ raw }) => {
        const last = lastRequests.get(raw.socket);
        if (last === undefined) {
          return;
        }
        if (last !== raw) {
          const detail = 'The request before this one was the last of its connection. Send this on another.';
          throw new Problem(invalidParameter, { detail }, { headers: { connection: 'close' } });
        }
        const fault = unclear(raw);
        if (fault !== undefined) {
          throw new Problem(invalidParameter, fault, { headers: { connection: 'close' } });
        }
      }),
    );
  },
  { name: 'strict-requests', dependencies: ['problems'] },
);

/** What of a message can be read in two ways, of which a proxy may have gone by the other. */
function unclear(message: IncomingMessage): { detail: string; errors?: Fault[] } | undefined {
  // HTTP/2 and later have another form (RFC 9110, section 2.5).
  if (!['1.0', '1.1'].includes(message.httpVersion)) {
    return { detail: 'Send the request in HTTP/1.1.' };
  }
  // RFC 9112, section 3.2.
  const hosts = countHeader(message, 'host');
  if (hosts > 1 || (hosts === 0 && message.httpVersion === '1.1')) {
    const code = hosts === 0 ? 'required' : 'invalid_value';
    return {
      detail: 'Send the header Host, once.',
      errors: [{ header: 'Host', code, detail: 'Send the header Host, once.' }],
    };
  }
  // RFC 9112, section 6.1: no coding but chunked is known here, and HTTP/1.0 knows none.
  const coding = message.headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || message.httpVersion !== '1.1')) {
    const detail = 'Send the body with its Content-Length, or in HTTP/1.1 as chunked and no more.';
    return { detail, errors: [{ header: 'Transfer-Encoding', code: 'invalid_value', detail }] };
  }
  return undefined;
}
