import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError, FastifyBaseLogger } from 'fastify';
import { Problem } from '../errors/problem.js';
import { headersTooLarge, invalidParameter, requestTimeout } from '../errors/request.js';
import { logRequest } from './log-line.js';
import type { RequestOrder } from './request-order.js';
import { headersWithoutHooks } from './response-headers.js';

const MALFORMED = new Problem(invalidParameter, {
  detail: 'This is not a valid HTTP/1.1 request. Check the request line, headers, length and chunks.',
});

/** Problems by the error code of Node.js; any other code means a message that cannot be parsed. */
const byNodeCode: Record<string, Problem> = {
  ERR_HTTP_REQUEST_TIMEOUT: new Problem(requestTimeout),
  HPE_HEADER_OVERFLOW: new Problem(headersTooLarge),
  HPE_INVALID_METHOD: new Problem(invalidParameter, {
    detail: 'This is not a method of HTTP. Methods are written in capitals: PATCH, not patch.',
  }),
  HPE_INVALID_URL: new Problem(invalidParameter, {
    detail: 'The URL has an invalid character. Percent-encode what is not ASCII as UTF-8: %C3%B6 for ö.',
  }),
};

/**
 * Responds to a message that Node.js cannot parse with a problem, and closes the connection, because the start of the next
 * request is unknown. It writes nothing that the client could read as the response to an earlier request.
 */
export function handleClientErrors(logger: FastifyBaseLogger, order: RequestOrder) {
  return (error: ConnectionError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) {
      return;
    }
    if (order.isRestOfRequest(socket)) {
      socket.destroySoon();
      return;
    }
    const problem = byNodeCode[error.code] ?? MALFORMED;
    const requestId = randomUUID();
    // The headers are unknown, so this is the address of the peer, which can be a proxy.
    const ip = socket.remoteAddress;
    const { status, code } = problem;
    logRequest(
      logger.child({ reqId: requestId }),
      { route: null, status, ip },
      { code, reason: error.code, committed: undefined },
    );
    if (socket.writable && order.mayWriteError(socket)) {
      socket.write(messageOf(problem, requestId));
    }
    socket.destroySoon();
  };
}

function messageOf(problem: Problem, requestId: string): string {
  // The path is unknown, so `instance` is a URN with the id of the request.
  const body = JSON.stringify(problem.toBody(`urn:uuid:${requestId}`, requestId));
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headersWithoutHooks(requestId)).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
