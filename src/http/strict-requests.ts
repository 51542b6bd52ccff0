import type { IncomingMessage, ServerResponse } from 'node:http';
import plugin from 'fastify-plugin';
import { type FieldError, Problem } from '../errors/problem.js';
import { invalidParameter } from '../errors/request.js';
import { countHeader } from './header-lines.js';
import { syncHook } from './sync-hook.js';

/** Why messages are ambiguous. */
const ambiguities = new WeakMap<IncomingMessage, Ambiguity>();

interface Ambiguity {
  detail: string;
  errors?: FieldError[];
}

/**
 * Closes the connection after the response when the end of the request is ambiguous: a message that can be parsed in two
 * ways, and a request with Upgrade, after which Node.js drops bytes (RFC 9110, 7.8).
 */
export function closeAfterAmbiguous(request: IncomingMessage, response: ServerResponse): void {
  const ambiguity = ambiguityOf(request);
  if (ambiguity !== undefined) {
    ambiguities.set(request, ambiguity);
  }
  if (ambiguity !== undefined || request.headers.upgrade !== undefined) {
    response.setHeader('connection', 'close');
  }
}

/** Rejects messages that Node.js and a proxy could parse differently (request smuggling). */
export const strictRequests = plugin(
  async (app) => {
    app.addHook(
      'onRequest',
      syncHook(({ raw }) => {
        const ambiguity = ambiguities.get(raw);
        if (ambiguity !== undefined) {
          throw new Problem(invalidParameter, ambiguity);
        }
      }),
    );
  },
  { name: 'strict-requests', dependencies: ['error-handler'] },
);

/** A path or an absolute URI, without a fragment (RFC 9112, section 3.2). */
const TARGET = /^(\/|https?:\/\/)[^#]*$/i;

/** The reason why a message can be parsed in two ways; undefined when it cannot. */
function ambiguityOf(message: IncomingMessage): Ambiguity | undefined {
  // Messages of HTTP/2 and later have another format (RFC 9110, section 2.5).
  if (!['1.0', '1.1'].includes(message.httpVersion)) {
    return { detail: 'Send the request in HTTP/1.1.' };
  }
  const { method, url = '' } = message;
  if (!TARGET.test(url) && !(method === 'OPTIONS' && url === '*')) {
    return { detail: 'Send a path that starts with a slash, without a fragment.' };
  }
  // RFC 9112, section 3.2.
  const hosts = countHeader(message, 'host');
  if (hosts > 1 || (hosts === 0 && message.httpVersion === '1.1')) {
    const code = hosts === 0 ? 'required' : 'invalid_value';
    return {
      detail: 'Send the header Host exactly once.',
      errors: [{ header: 'Host', code, detail: 'Send the header Host exactly once.' }],
    };
  }
  // RFC 9112, section 6.1: only the coding chunked is supported, and HTTP/1.0 has no transfer codings.
  const coding = message.headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || message.httpVersion !== '1.1')) {
    const detail =
      'Send the body with Content-Length, or in HTTP/1.1 with Transfer-Encoding: chunked and no other coding.';
    return { detail, errors: [{ header: 'Transfer-Encoding', code: 'invalid_value', detail }] };
  }
  return undefined;
}
