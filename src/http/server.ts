import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { DropArgument } from 'node:net';
import type { FastifyBaseLogger, FastifyServerFactory } from 'fastify';
import { throttle } from '../logger.js';
import type { RequestOrder } from './request-order.js';
import { endConnectionBehindUnclear } from './strict-requests.js';

/** The request line and the headers. Smaller than the next, or Node.js takes the two the other way round. */
const HEADERS_TIMEOUT_MS = 15_000;
/** A whole request, from its first byte: a slow sender must not hold a connection for long. */
const REQUEST_TIMEOUT_MS = 30_000;
/** How often Node.js looks for requests that took longer; its default, twice a minute, would double the limit. */
const CHECK_INTERVAL_MS = 5_000;
/** A silent connection; longer than the deadlines of the database, so that no answer is cut off. */
const SOCKET_TIMEOUT_MS = 60_000;
/** Longer than the idle time-outs of usual load balancers (60 s), so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

export interface HttpServerOptions {
  /** Connections at once; one beyond that is dropped before it is read. */
  maxConnections: number;
  logger: FastifyBaseLogger;
  order: RequestOrder;
}

/**
 * The HTTP server in front of Fastify: time-outs, a bound on connections, and one request after another on each
 * connection.
 */
export function serverFactory({ maxConnections, logger, order }: HttpServerOptions): FastifyServerFactory {
  return (handler): Server => {
    const receive = (request: IncomingMessage, response: ServerResponse) => {
      endConnectionBehindUnclear(request, response);
      order.take(request, response, () => handler(request, response));
    };
    const server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
        connectionsCheckingInterval: CHECK_INTERVAL_MS,
        // Asked for by strict-requests.ts, in words.
        requireHostHeader: false,
      },
      receive,
    );
    server.setTimeout(SOCKET_TIMEOUT_MS);
    // Node.js leaves out lines behind the thousandth: a second Authorization, an If-Match. 16 KiB hold no more anyway.
    server.maxHeadersCount = 0;
    // An unknown expectation may be ignored (RFC 9110, 10.1.1).
    server.on('checkExpectation', receive);

    server.maxConnections = maxConnections;
    const logDropped = throttle<DropArgument | undefined>((dropped, peer) =>
      logger.warn(
        { dropped, max: maxConnections, ip: peer?.remoteAddress },
        'connections dropped: MAX_CONNECTIONS is reached',
      ),
    );
    server.on('drop', logDropped);
    return server;
  };
}
