import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError, FastifyBaseLogger } from 'fastify';
import { Problem } from '../problems/problem.js';
import { SECURITY_HEADERS } from './security-headers.js';

const MALFORMED = [
  400,
  'This is no HTTP/1.1 request. Check the request line, headers, length and chunks.',
] as const;

/** What Node tells apart; everything else is a message that it could not read. */
const byNodeCode: Record<string, readonly [status: number, detail: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive. Send it again, in one go.'],
  HPE_HEADER_OVERFLOW: [
    431,
    'The request line and the headers are too large together. Send fewer or shorter ones.',
  ],
};

/**
 * Answers what is so broken that Node makes no request of it, with a problem like every other refusal. There is no
 * reply to speak through, so it is written to the socket, which is closed: where the next request would begin
 * nobody knows.
 */
export function refuseBrokenRequests(logger: FastifyBaseLogger) {
  return (error: ConnectionError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) {
      return;
    }
    const [status, detail] = byNodeCode[error.code] ?? MALFORMED;
    const requestId = randomUUID();
    // Its headers are not known, so the address is the peer's, be it a proxy.
    const ip = socket.remoteAddress;
    logger.info({ reqId: requestId, route: null, status, reason: error.code, ip }, 'request');
    if (socket.writable && isUnanswered(socket)) {
      socket.write(answer(status, detail, requestId));
    }
    socket.destroySoon();
  };
}

/**
 * Whether the next answer on the socket is that of the broken request. It is not while an earlier request, which
 * came whole, waits for its own, nor once an answer has begun or was given before the request came to its end.
 */
function isUnanswered(socket: Socket): boolean {
  // Where Node keeps the answer that is under way and the request that comes in; its own handler of such errors looks
  // at the first too.
  const { _httpMessage: underWay, parser } = socket as {
    _httpMessage?: (ServerResponse & { req: IncomingMessage }) | null;
    parser?: { incoming: IncomingMessage | null } | null;
  };
  return underWay ? !underWay.headersSent && !underWay.req.complete : parser?.incoming?.complete !== false;
}

function answer(status: number, detail: string, requestId: string): string {
  // Its path is not known, so the problem is named by the request's id. The code is the nearest of the table.
  const problem = new Problem('invalid_parameter', { detail }).toBody(`urn:uuid:${requestId}`, requestId);
  const body = JSON.stringify({ ...problem, status });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: private, no-cache',
    'Vary: Authorization, X-Tenant-Id',
    ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
